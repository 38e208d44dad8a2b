package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
	"github.com/servesim/servesim/sim/workload"
)

// A fleet is the engines of one run, all on one kernel and watched by one recorder.
type fleet struct {
	kernel   *sim.Kernel
	options  *Options
	recorder *metrics.Recorder
	predict  func(*workload.Request) int32 // guesses the lengths of answers, for all engines; nil: nobody does
	hooks    engine.Hooks                  // of all engines alike: those that the options ask for

	replicas []*cluster.Replica
	shared   map[*Experiment]farTier // the remote stores, by the engines that share them
	cluster  *cluster.Cluster        // nil: one engine needs no router
	halves   *halves                 // nil: prefill and decode have no engines of their own
}

// build makes the replicas of every group of the experiment.
func (f *fleet) build(x *Experiment) error {
	if f.options.Memory != nil && x.Scenario.several() {
		return errors.New("a pool that earlier runs have warmed is for one engine")
	}
	if f.options.Scheduler != nil && x.Scenario.disaggregated() {
		return errors.New("engines that only prefill or decode share requests as vLLM's scheduler does: they know none of the caller's own")
	}
	if err := f.disaggregate(x); err != nil {
		return err
	}
	for g := range x.all() {
		for i := range g.replicas {
			r, err := f.replica(g, i)
			if err != nil {
				return err
			}
			f.replicas = append(f.replicas, r)
		}
	}
	return nil
}

// server returns what the clients talk to: the only engine, or a router with all of them behind it.
func (f *fleet) server(x *Experiment) workload.Server {
	if !x.Scenario.several() {
		return f.replicas[0].Engine
	}
	if f.halves != nil {
		f.halves.attach(x, f.replicas, func(p *Pool) func(*sim.Kernel) cluster.Router { return f.router(x, p.Router) }, f.kernel)
		return f.halves
	}
	f.cluster = cluster.New(f.replicas, f.router(x, "")(f.kernel))
	f.cluster.Delay(f.kernel, x.Scenario.Cluster.Hop)
	if x.Scenario.scales() {
		f.scale(x)
	}
	return f.cluster
}

// router returns the caller's router, or that of a name, or the scenario's own.
func (f *fleet) router(x *Experiment, name string) func(*sim.Kernel) cluster.Router {
	if f.options.Router != nil {
		return f.options.Router
	}
	policy, _ := cluster.Find(cmp.Or(name, x.Scenario.Cluster.Router))
	return policy.New
}

// replica makes the i-th engine of a group: its pool, its scheduler, and whoever watches them.
func (f *fleet) replica(g *group, i int) (*cluster.Replica, error) {
	x, name, o := g.engine, g.member(i), f.options
	far := f.far(x)
	cache, err := x.memory(o, far)
	if err != nil {
		return nil, err
	}
	r := &cluster.Replica{Name: name, Cache: cache}
	mine := f.hooks
	for _, hooks := range o.Each {
		mine = watchBoth(mine, hooks(r))
	}
	watched := x.watched(r)
	if x.Scenario.scales() {
		watched.Up = there(r)
		if x.Scenario.Cluster.Autoscale.Metric == "ttft" {
			mine = watchBoth(mine, engine.Hooks{FirstOut: func(now sim.Time, l *engine.Life) { f.cluster.FirstOut(now, l) }})
		}
	}
	hooks := watchBoth(f.recorder.Watch(watched), mine)
	named := hooks.TokenOut != nil || mine.Planned != nil || mine.Ran != nil // somebody wants to see every sequence in every plan
	r.Scheduler = x.policy(o, cache, named)
	c := engine.Config{
		Scheduler: r.Scheduler, Cost: x.cost,
		Predict: f.predict, InFlight: x.inFlight(), Async: x.Limits.AsyncScheduling, Stages: x.Deployment.PP,
		MaxModelLen: x.Deployment.MaxModelLen, Blocks: x.Memory.Blocks - 1, BlockSize: x.Deployment.BlockSize,
		Need:     func(tokens int) int { return cache.Need(kvcache.Hit{}, x.room(tokens)) },
		Shared:   shared(cache, x.Deployment.BlockSize),
		Frontend: x.frontend(), Host: x.host(far), Hooks: hooks, Check: o.Check, Acceptance: x.accepts,
	}
	if f.halves != nil {
		f.halves.connect(&c, g, i, f.recorder)
	}
	r.Engine = engine.New(f.kernel, c)
	return r, nil
}

// watched is what the recorder must know of a replica.
func (x *Experiment) watched(r *cluster.Replica) metrics.Engine {
	d := &x.Deployment
	ranks := max(d.DP, 1)
	return metrics.Engine{
		Name: r.Name, GPU: d.Device.Name, Cost: x.alone(), Window: x.Limits.Window,
		GPUs: x.Scenario.gpus(), PeakFLOPs: x.peak(), PeakBandwidth: d.Device.Bandwidth,
		IdleWatts:   d.Device.Kernels.IdleWatts,
		WeightBytes: x.Memory.Weights + x.Memory.Drafter + x.Memory.Activations + x.Memory.Graphs + x.Memory.NonTorch,
		Blocks:      (x.Memory.Blocks - 1) * ranks, BlockSize: d.BlockSize, Ingress: x.Scenario.Frontend.Latency,
		BytesPerToken: float64(d.Model.KVBytesPerToken(d.KV)), BlockBytes: x.Memory.BlockBytes / int64(ranks),
		Drafted: x.drafted(func() engine.Drafted { return r.Engine.Drafted() }),
		Usage:   usage(r.Cache), Counters: func() scheduler.Counters { return r.Scheduler.Counters() },
	}
}

// shared returns a function that says how many tokens sequences share in a cache. It is asked at every step: of a plain pool,
// as most are, directly.
func shared(cache Memory, blockSize int) func() int64 {
	if pool, plain := cache.(*kvcache.Pool); plain {
		return func() int64 { return int64(pool.Again() * blockSize) }
	}
	return func() int64 { return int64(cache.Again() * blockSize) }
}

// usage returns the function that says what a cache holds, likewise.
func usage(cache kvcache.Cache) func() kvcache.Usage {
	if pool, plain := cache.(*kvcache.Pool); plain {
		return pool.Usage
	}
	return cache.Usage
}

// err reports why an engine stopped, or what the router lost.
func (f *fleet) err() error {
	if f.halves != nil {
		return f.halves.Err()
	}
	if f.cluster != nil {
		return f.cluster.Err()
	}
	return f.replicas[0].Engine.Err()
}

// behind returns the longest that tokens have had to wait for API processes, anywhere.
func (f *fleet) behind() time.Duration {
	var most time.Duration
	for _, r := range f.replicas {
		most = max(most, r.Engine.Behind())
	}
	return most
}

// A group is so many equal engines.
type group struct {
	name     string
	replicas int
	engine   *Experiment // what one of them is like; of its workload nothing is used
}

// all yields the groups: first the replicas as the scenario describes its engine, then those that differ from it.
func (x *Experiment) all() func(func(*group) bool) {
	return func(yield func(*group) bool) {
		plain := group{name: "replica", replicas: x.Scenario.plain(), engine: x}
		if plain.replicas > 0 && !yield(&plain) {
			return
		}
		for i := range x.groups {
			if !yield(&x.groups[i]) {
				return
			}
		}
	}
}

// member returns the name of a replica.
func (g *group) member(i int) string { return fmt.Sprintf("%s-%d", g.name, i) }

// Replicas returns the number of engines: the largest, where it follows the load.
func (x *Experiment) Replicas() int {
	n := 0
	for g := range x.all() {
		n += g.replicas
	}
	if x.Scenario.scales() {
		n = x.Scenario.Cluster.Autoscale.Max
	}
	return n
}

// GPUs returns the number of GPUs of all engines together.
func (x *Experiment) GPUs() int {
	n := 0
	if x.Scenario.scales() {
		return x.Replicas() * x.Scenario.gpus()
	}
	for g := range x.all() {
		n += g.replicas * g.engine.Scenario.gpus()
	}
	return n
}
