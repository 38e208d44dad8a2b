package cluster

import (
	"slices"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Replica is one engine of a cluster, with what a router may look at.
type Replica struct {
	Name      string
	Index     int // its place in the cluster, from 0
	Engine    *engine.Engine
	Scheduler scheduler.Scheduler
	Cache     kvcache.Cache

	// Tokens is the sum of what the router has charged this replica with for the requests that are under way there, if it
	// charges anything: see Choice.
	Tokens int64

	// From and To are when it was started and stopped; To is sim.Never as long as it is there.
	From, To sim.Time

	state  state
	coming int // requests that have been sent and are not there yet
}

// Open returns how many requests have been sent to the replica and have not ended.
func (r *Replica) Open() int { return r.coming + int(r.Engine.Alive()) }

// Cluster is several engines behind a router. It implements workload.Server.
type Cluster struct {
	replicas []*Replica // all that there have ever been
	up       []*Replica // those that take requests
	router   Router
	scaler   *scaler // nil: their number is fixed
	idle     []*trip // trips that are over
	sent     int64

	kernel *sim.Kernel // of hop
	hop    time.Duration
}

// New returns a cluster of replicas, at least one, which are given their Index.
func New(replicas []*Replica, router Router) *Cluster {
	for i, r := range replicas {
		r.Index, r.To = i, sim.Never
	}
	return &Cluster{replicas: replicas, up: slices.Clone(replicas), router: router}
}

// Replicas returns all replicas that there have ever been, in the order of their start.
func (c *Cluster) Replicas() []*Replica { return c.replicas }

// Delay makes every request take so long from the router to its replica: the router's own time and the network's, in which
// nobody waits for anybody. Call it before the first request.
func (c *Cluster) Delay(k *sim.Kernel, hop time.Duration) { c.kernel, c.hop = k, hop }

// Submit sends a request to the replica that the router picks.
func (c *Cluster) Submit(r *workload.Request, done func(workload.Outcome)) {
	choice := c.router.Route(r, c.up)
	to := c.up[choice.Replica]
	c.sent++
	if choice.Tokens == 0 && c.scaler == nil && c.hop == 0 {
		to.Engine.Submit(r, done)
		return
	}
	t := c.trip()
	t.to, t.tokens, t.request, t.done = to, choice.Tokens, r, done
	to.Tokens += choice.Tokens
	to.coming++
	if c.hop > 0 {
		c.kernel.After(c.hop, sim.Arrive, t.arrived)
		return
	}
	t.arrived()
}

// A trip is a request on its way to a replica, and what the replica is charged with until it ends. Trips go round: their
// number is the largest number of requests that were ever under way together.
type trip struct {
	to      *Replica
	tokens  int64
	request *workload.Request
	done    func(workload.Outcome) // the client's
	arrived func()
	ended   func(workload.Outcome)
}

// trip returns one that is not under way.
func (c *Cluster) trip() *trip {
	if n := len(c.idle) - 1; n >= 0 {
		t := c.idle[n]
		c.idle = c.idle[:n]
		return t
	}
	t := new(trip)
	t.arrived = func() {
		t.to.coming--
		t.to.Engine.Submit(t.request, t.ended)
	}
	t.ended = func(o workload.Outcome) { c.end(t, o) }
	return t
}

func (c *Cluster) end(t *trip, o workload.Outcome) {
	t.to.Tokens -= t.tokens
	if t.to.state == draining {
		t.to.leave(c.scaler.kernel.Now())
	}
	done := t.done
	t.to, t.request, t.done = nil, nil, nil
	c.idle = append(c.idle, t)
	if done != nil {
		done(o)
	}
}

// Err reports why an engine stopped, or nil: the first violated invariant.
func (c *Cluster) Err() error {
	if err := failed(c.replicas); err != nil {
		return err
	}
	return c.check()
}
