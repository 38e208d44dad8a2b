package cluster

import (
	"slices"

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

	state state
}

// Open returns how many requests have been sent to the replica and have not ended.
func (r *Replica) Open() int { return int(r.Engine.Alive()) }

// Cluster is several engines behind a router. It implements workload.Server.
type Cluster struct {
	replicas []*Replica // all that there have ever been
	up       []*Replica // those that take requests
	router   Router
	scaler   *scaler // nil: their number is fixed
	idle     []*trip // trips that are over
	sent     int64
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

// Submit sends a request to the replica that the router picks.
func (c *Cluster) Submit(r *workload.Request, done func(workload.Outcome)) {
	choice := c.router.Route(r, c.up)
	to := c.up[choice.Replica]
	c.sent++
	if choice.Tokens != 0 || c.scaler != nil {
		done = c.trip(to, choice.Tokens, done)
	}
	to.Engine.Submit(r, done)
}

// A trip remembers what a request was charged with until it ends. Trips go round: their number is the largest number of
// requests that were ever under way together.
type trip struct {
	to     *Replica
	tokens int64
	done   func(workload.Outcome) // the client's
	ended  func(workload.Outcome) // given to the engine
}

// trip charges a replica until the returned function is called, which then calls done.
func (c *Cluster) trip(to *Replica, tokens int64, done func(workload.Outcome)) func(workload.Outcome) {
	var t *trip
	if n := len(c.idle) - 1; n >= 0 {
		t, c.idle = c.idle[n], c.idle[:n]
	} else {
		t = new(trip)
		t.ended = func(o workload.Outcome) { c.end(t, o) }
	}
	t.to, t.tokens, t.done = to, tokens, done
	to.Tokens += tokens
	return t.ended
}

func (c *Cluster) end(t *trip, o workload.Outcome) {
	t.to.Tokens -= t.tokens
	if t.to.state == draining {
		t.to.leave(c.scaler.kernel.Now())
	}
	done := t.done
	t.to, t.done = nil, nil
	c.idle = append(c.idle, t)
	if done != nil {
		done(o)
	}
}

// Err reports why an engine stopped, or nil: the first violated invariant.
func (c *Cluster) Err() error {
	for _, r := range c.replicas {
		if err := r.Engine.Err(); err != nil {
			return &Error{r.Name, err}
		}
	}
	return c.check()
}
