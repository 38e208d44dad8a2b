package cluster

import (
	"math/rand/v2"
	"slices"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Router decides where a request goes. It is asked once for each, in the order of their arrival.
type Router interface {
	// Route picks one of the replicas that take requests, of which there is at least one. It may change itself, but
	// neither the request nor a replica, and must keep neither slice nor request.
	Route(r *workload.Request, replicas []*Replica) Choice
}

// A Choice is the replica to send a request to, by its place in the list, and with how many tokens to charge it for as
// long as the request is under way there; 0 for a router that does not count tokens.
type Choice struct {
	Replica int
	Tokens  int64
}

// A Policy makes routers of one kind.
type Policy struct {
	Name string
	Doc  string // one line
	// New returns a fresh router for a run on kernel k. Whatever it draws, it draws from a stream of its own.
	New func(k *sim.Kernel) Router
}

// Policies returns the routers that there are, in the order in which to try them.
func Policies() []Policy {
	return []Policy{
		{"round-robin", "one after the other, whatever they have to do", func(*sim.Kernel) Router { return new(roundRobin) }},
		{"random", "any, all alike", func(k *sim.Kernel) Router { return &random{chance(k)} }},
		{"least-requests", "the one with the fewest requests under way", func(*sim.Kernel) Router { return new(leastRequests) }},
		{"least-tokens", "the one with the fewest prompt and max_tokens tokens under way", func(*sim.Kernel) Router { return new(leastTokens) }},
		{"power-of-two", "of two drawn at random, the one with fewer requests under way", func(k *sim.Kernel) Router { return &twoChoices{chance(k)} }},
		{"vllm-dp", "vLLM's data-parallel balancer: queue and KV usage, known every 100 ms", func(k *sim.Kernel) Router { return newBalancer(k) }},
		{"vllm-dp-2025", "the same as it was until 2026: 4 × waiting + running, known every 100 ms", func(k *sim.Kernel) Router { return newCountingBalancer(k) }},
		{"prefix-affinity", "the one with the fewest tokens under way, tokens found in its prefix cache not counted", func(*sim.Kernel) Router { return newPrefixAffinity() }},
		{"session-affinity", "always the same one for a session, or for a client without sessions", func(*sim.Kernel) Router { return new(sessionAffinity) }},
	}
}

// Find returns the policy of a name.
func Find(name string) (Policy, bool) {
	all := Policies()
	i := slices.IndexFunc(all, func(p Policy) bool { return p.Name == name })
	if i < 0 {
		return Policy{}, false
	}
	return all[i], true
}

// Names lists the names of all policies.
func Names() []string {
	var names []string
	for _, p := range Policies() {
		names = append(names, p.Name)
	}
	return names
}

// chance is the stream from which routers draw.
func chance(k *sim.Kernel) *rand.Rand { return rand.New(k.Rand("router")) }

// A turn is where a search for the least begins: behind whoever was picked last, so that equals take turns.
type turn int

// least returns the replica with the lowest score.
func least[T int | int64 | float64](t *turn, n int, score func(i int) T) int {
	best, at, i := 0, T(0), int(*t)
	for k := range n {
		if i >= n {
			i = 0
		}
		if s := score(i); k == 0 || s < at {
			best, at = i, s
		}
		i++
	}
	*t = turn(best + 1)
	return best
}
