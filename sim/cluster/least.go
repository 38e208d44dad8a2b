package cluster

import "github.com/servesim/servesim/sim/workload"

// leastRequests takes the replica with the fewest requests under way, as a proxy that counts connections does.
type leastRequests struct{ turn turn }

// Route implements Router.
func (l *leastRequests) Route(_ *workload.Request, replicas []*Replica) Choice {
	return Choice{Replica: least(&l.turn, len(replicas), func(i int) int { return replicas[i].Open() })}
}

// leastTokens takes the replica with the fewest tokens under way: those of the prompts, and those that their answers may
// have. How long an answer will be a router does not know; max_tokens it does.
type leastTokens struct{ turn turn }

// Route implements Router.
func (l *leastTokens) Route(r *workload.Request, replicas []*Replica) Choice {
	return Choice{
		Replica: least(&l.turn, len(replicas), func(i int) int64 { return replicas[i].Tokens }),
		Tokens:  int64(r.Tokens) + int64(r.MaxTokens),
	}
}
