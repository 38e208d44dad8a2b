package cluster

import (
	"math/rand/v2"

	"github.com/servesim/servesim/sim/workload"
)

// roundRobin sends one request to each replica in turn.
type roundRobin struct{ next int }

// Route implements Router.
func (r *roundRobin) Route(_ *workload.Request, replicas []*Replica) Choice {
	i := r.next % len(replicas)
	r.next = i + 1
	return Choice{Replica: i}
}

// random throws a die.
type random struct{ die *rand.Rand }

// Route implements Router.
func (r *random) Route(_ *workload.Request, replicas []*Replica) Choice {
	return Choice{Replica: r.die.IntN(len(replicas))}
}

// twoChoices throws two dice and takes the replica with fewer requests under way: that alone shortens the longest queue
// from ln n / ln ln n to ln ln n / ln 2 (M. Mitzenmacher, The power of two choices in randomized load balancing, 2001).
type twoChoices struct{ die *rand.Rand }

// Route implements Router. Of equals the first that was drawn is taken, which is either with equal chance.
func (t *twoChoices) Route(_ *workload.Request, replicas []*Replica) Choice {
	n := len(replicas)
	if n == 1 {
		return Choice{}
	}
	a, b := t.die.IntN(n), t.die.IntN(n-1)
	if b >= a {
		b++ // two different ones
	}
	if replicas[b].Open() < replicas[a].Open() {
		a = b
	}
	return Choice{Replica: a}
}
