package cluster

import (
	"math/bits"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/workload"
)

// prefixAffinity weighs what a replica's prefix cache saves against what the replica has to do. It takes the one with
// the least
//
//	cost = tokens under way + (prompt − cached prefix)
//
// where every request under way counts as many tokens as it lacked when it was sent, and those that its answer may have.
// So a replica that holds 8,000 tokens of a prompt is taken as long as it is no more than 8,000 tokens behind the least
// loaded one; after that another one computes the prefix, and has it too from then on. It is the rule of leastTokens,
// but for the tokens that a cache saves; KV-aware routers in use weigh the same two numbers (NVIDIA Dynamo's counts KV
// blocks).
type prefixAffinity struct {
	turn turn
	seen map[uint64]*sightings // by the label of a prompt's first run
	hits []int64               // scratch
}

// sightings are the replicas that have been sent a prompt which begins with a label, a bit each. No other one can have
// its prefix, so that none of them need be asked.
type sightings []uint64

func newPrefixAffinity() *prefixAffinity {
	return &prefixAffinity{seen: make(map[uint64]*sightings)}
}

// Route implements Router.
func (a *prefixAffinity) Route(r *workload.Request, replicas []*Replica) Choice {
	for len(a.hits) < len(replicas) {
		a.hits = append(a.hits, 0)
	}
	hits := a.hits[:len(replicas)]
	clear(hits)
	seen := a.known(r.Prompt)
	if seen != nil {
		seen.ask(r, replicas, hits)
	}
	i := least(&a.turn, len(replicas), func(i int) int64 { return replicas[i].Tokens - hits[i] })
	if seen != nil {
		seen.add(replicas[i].Index)
	}
	return Choice{Replica: i, Tokens: int64(r.Tokens) - hits[i] + int64(r.MaxTokens)}
}

// known returns the sightings of a prompt's first run, or nil if it is nobody else's.
func (a *prefixAffinity) known(p kvcache.Prompt) *sightings {
	if len(p) == 0 || p[0].Label&kvcache.Private != 0 {
		return nil
	}
	s := a.seen[p[0].Label]
	if s == nil {
		s = new(sightings)
		a.seen[p[0].Label] = s
	}
	return s
}

// ask has the replicas that may know the prompt say how much of it they have.
func (s *sightings) ask(r *workload.Request, replicas []*Replica, hits []int64) {
	for i, rep := range replicas {
		if s.has(rep.Index) {
			hits[i] = int64(rep.Cache.Match(r.Prompt, int(r.Tokens)).Tokens)
		}
	}
}

func (s *sightings) has(i int) bool {
	return i/64 < len(*s) && (*s)[i/64]&(1<<(i%64)) != 0
}

func (s *sightings) add(i int) {
	for len(*s) <= i/64 {
		*s = append(*s, 0)
	}
	(*s)[i/64] |= 1 << (i % 64)
}

// sessionAffinity sends all requests of a session to one replica, without keeping a list: every pair of session and
// replica has a fixed random weight, and the highest wins (rendezvous hashing: D. G. Thaler, C. V. Ravishankar, 1998). So
// a replica that comes or goes moves its own sessions only. Requests without a session stay together by client, and those
// without either are spread by their number.
type sessionAffinity struct{}

// Route implements Router.
func (sessionAffinity) Route(r *workload.Request, replicas []*Replica) Choice {
	key := uint64(uint32(r.Session))
	switch {
	case r.Session != 0:
	case r.Client != 0:
		key = 1<<32 | uint64(uint32(r.Client))
	default:
		key = 1<<63 | uint64(r.ID)
	}
	best, weight := 0, uint64(0)
	for i, rep := range replicas {
		if w := scatter(key, uint64(rep.Index)); w > weight {
			best, weight = i, w
		}
	}
	return Choice{Replica: best}
}

// scatter hashes a pair: two rounds of a 128-bit product, its halves folded.
func scatter(a, b uint64) uint64 {
	const golden, pi = 0x9e3779b97f4a7c15, 0x243f6a8885a308d3
	hi, lo := bits.Mul64(a^pi, golden)
	hi, lo = bits.Mul64(hi^lo^b*golden, pi|1)
	hi, lo = bits.Mul64(hi^lo^b, golden)
	return hi ^ lo
}
