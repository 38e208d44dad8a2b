package cluster

import (
	"slices"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Mode is how the KV of a prompt gets from the engine that computes it to the one that decodes.
type Mode uint8

const (
	// Pull is vLLM's NixlConnector: the decoding engine fetches the KV when the whole prompt has been computed and it has
	// the memory for it. The token that the prefill has sampled is thrown away; the last position is computed again.
	Pull Mode = iota
	// PushChunks is SGLang's: the prefill begins only when the decoding engine has set memory aside, and sends the KV of
	// each chunk while it computes the next. Its token goes along.
	PushChunks
	// PushLayers sends the KV of each layer while the next is computed, as Splitwise and Mooncake do; else as PushChunks.
	PushLayers
)

// Transfer is how two pools of engines work together.
type Transfer struct {
	Mode     Mode
	Sharing  Sharing
	Latency  time.Duration // of the links
	Handover time.Duration // what a request takes from one engine to the other beside the transfer of its KV
	// Lease is how long the KV of a computed prompt is kept for an engine that does not ask for it (Pull). With Heartbeats
	// the engine keeps asking from the moment that it has the request in its queue — vLLM's does every sixth of a lease, which
	// extends it by two thirds — so that nothing expires any more.
	Lease time.Duration
	// Early says that the engine that computes a prompt streams the first token itself, as in Splitwise and DistServe, before
	// its KV has travelled; with Pull there is no such token.
	Early      bool
	Heartbeats bool

	Layers     int   // of the model
	BlockBytes int64 // of one KV block, on all GPUs of a decoding engine together
}

// Disaggregated is a cluster with two kinds of engines: some compute prompts, the others decode. It implements
// workload.Server. A request is one life, at the engine that decodes; the engine that computes its prompt has a leg of it.
//
// A full engine of the second kind holds up those of the first, and loses nothing: with Pull their KV is not fetched, stays,
// and leaves them no memory for other prompts; with the others they may not begin.
//
// A request for a single token has nothing to decode: the first kind serves it alone.
type Disaggregated struct {
	kernel  *sim.Kernel
	c       Transfer
	rule    Rule
	prefill pool
	decode  pool
	fabric  *Fabric
	roles   roles
	hop     time.Duration

	idle   []*journey
	counts Counts
}

// A pool is engines of one kind.
type pool struct {
	replicas []*Replica
	ports    []int
	journeys [][]*journey // by replica and Life.Slot
	router   Router
}

// Counts says what became of the requests of a disaggregated cluster.
type Counts struct {
	Remote    int64 // whose prompt was computed by another engine
	Local     int64 // that one decoding engine served alone, by rule or because the others had too much to do
	Whole     int64 // that one prefilling engine served alone: they asked for one token, or the others had no memory
	Expired   int64 // leases
	Fallbacks int64 // prompts that were computed again where they were to be decoded, since their KV was gone
}

// Pool describes engines of one kind.
type Pool struct {
	Replicas  []*Replica
	Bandwidth float64 // bytes/s of each engine's links, each way
	Router    Router
}

// Disaggregate returns a cluster without engines; the rule may be nil. Its methods Fetch and Began belong into their configurations.
func Disaggregate(k *sim.Kernel, c Transfer, r Rule) *Disaggregated {
	return &Disaggregated{kernel: k, c: c, rule: r, fabric: NewFabric(k, c.Sharing, c.Latency)}
}

// Attach gives the cluster its engines. The replicas are given their Index, their place in their pool.
func (d *Disaggregated) Attach(prefill, decode Pool) {
	for _, one := range []struct {
		to   *pool
		from Pool
	}{{&d.prefill, prefill}, {&d.decode, decode}} {
		one.to.replicas, one.to.router = one.from.Replicas, one.from.Router
		one.to.journeys = make([][]*journey, len(one.from.Replicas))
		for i, r := range one.from.Replicas {
			r.Index = i
			one.to.ports = append(one.to.ports, d.fabric.Attach(one.from.Bandwidth))
		}
	}
	d.roles.attach(len(prefill.Replicas), len(decode.Replicas))
}

// Replicas returns all replicas: those that prefill, then those that decode.
func (d *Disaggregated) Replicas() []*Replica {
	return slices.Concat(d.prefill.replicas, d.decode.replicas)
}

// Counts reports what became of the requests so far.
func (d *Disaggregated) Counts() Counts { return d.counts }

// Carried reports what the links have been given so far.
func (d *Disaggregated) Carried() Carried { return d.fabric.Carried() }

// Fetch returns what the i-th decoding engine is to call when it has the memory for a prompt.
func (d *Disaggregated) Fetch(i int) func(sim.Time, engine.Ticket, *scheduler.Load) {
	return func(now sim.Time, t engine.Ticket, l *scheduler.Load) {
		j := d.decode.journeys[i][t.Life().Slot]
		if j.bytes = int64(l.Blocks) * d.c.BlockBytes; d.c.Mode == Pull {
			d.pull(j, now, l)
			return
		}
		d.begin(j, now, l)
	}
}

// Began returns what the i-th prefilling engine is to call when it begins a step with chunks.
func (d *Disaggregated) Began(i int) func(start, end sim.Time, p *scheduler.Plan) {
	if d.c.Mode == Pull {
		return nil
	}
	return func(start, end sim.Time, p *scheduler.Plan) { d.push(i, chunkTime{start, end}, p) }
}

// Delay has every request take so long to the router, and from it to the engines. Call it before the first request.
func (d *Disaggregated) Delay(hop time.Duration) { d.hop = hop }

// Submit sends a request to a pair of engines, or to one that does it all.
func (d *Disaggregated) Submit(r *workload.Request, done func(workload.Outcome)) {
	if d.hop == 0 {
		d.route(r, done)
		return
	}
	d.kernel.After(d.hop, sim.Arrive, func() { d.route(r, done) })
}

func (d *Disaggregated) route(r *workload.Request, done func(workload.Outcome)) {
	p := d.prefill.router.Route(r, d.prefill.replicas)
	if r.MaxTokens == 1 || r.MaxTokens == 0 && r.Output == 1 {
		d.counts.Whole++
		d.alone(&d.prefill, p, r, done)
		return
	}
	c := d.decode.router.Route(r, d.decode.replicas)
	if d.borrow(r, &p, &c, done) {
		return
	}
	if d.rule != nil && !d.rule.Remote(d.ask(r, c.Replica)) {
		d.counts.Local++
		d.alone(&d.decode, c, r, done)
		return
	}
	d.counts.Remote++
	d.set(r, p, c, done)
}

// alone has one engine serve a request.
func (d *Disaggregated) alone(in *pool, c Choice, r *workload.Request, done func(workload.Outcome)) {
	to := in.replicas[c.Replica]
	if c.Tokens == 0 {
		to.Engine.Submit(r, done)
		return
	}
	to.Tokens += c.Tokens
	to.Engine.Submit(r, func(o workload.Outcome) {
		to.Tokens -= c.Tokens
		if done != nil {
			done(o)
		}
	})
}

// Err reports why an engine stopped, or nil: the first violated invariant.
func (d *Disaggregated) Err() error {
	if err := failed(d.Replicas()); err != nil {
		return err
	}
	return d.check()
}
