package cluster

import (
	"math"
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
	hits []int64               // scratch: what each replica has of the prompt; unasked
}

// unasked marks a replica that has not been asked about a prompt.
const unasked = -1

// sightings are the replicas that have been sent a prompt which begins with a label, a bit each. No other one can have
// its prefix, so that none of them need be asked.
type sightings []uint64

func newPrefixAffinity() *prefixAffinity {
	return &prefixAffinity{seen: make(map[uint64]*sightings)}
}

// Route implements Router.
func (a *prefixAffinity) Route(r *workload.Request, replicas []*Replica) Choice {
	seen, i, hit := a.known(r.Prompt), 0, int64(0)
	if seen == nil {
		i = least(&a.turn, len(replicas), func(i int) int64 { return replicas[i].Tokens })
	} else {
		i, hit = a.search(r, replicas, seen)
		seen.add(replicas[i].Index)
	}
	return Choice{Replica: i, Tokens: int64(r.Tokens) - hit + int64(r.MaxTokens)}
}

// search finds the replica with the lowest cost, and what it has of the prompt. It asks the replicas in the order of their
// load and stops where even a replica with the whole prompt in its cache would cost more: mostly after the first.
func (a *prefixAffinity) search(r *workload.Request, replicas []*Replica, seen *sightings) (best int, hit int64) {
	a.hits = a.hits[:0]
	for range replicas {
		a.hits = append(a.hits, unasked)
	}
	most, cost := findable(r.Prompt), int64(math.MaxInt64)
	for {
		i := a.next(replicas, seen, cost, most)
		if i < 0 {
			a.turn = turn(best + 1)
			return best, hit
		}
		a.hits[i] = 0
		if seen.has(replicas[i].Index) {
			a.hits[i] = int64(replicas[i].Cache.Match(r.Prompt, int(r.Tokens)).Tokens)
		}
		if c := replicas[i].Tokens - a.hits[i]; c < cost {
			best, cost, hit = i, c, a.hits[i]
		}
	}
}

// next returns the least loaded replica of those that have not been asked and may still cost less than cost, if those that
// have been sent such prompts hold most tokens of it; -1: none.
func (a *prefixAffinity) next(replicas []*Replica, seen *sightings, cost, most int64) int {
	found, least, n := -1, int64(math.MaxInt64), len(replicas)
	i := int(a.turn)
	for range n {
		if i >= n {
			i = 0
		}
		t := replicas[i].Tokens
		if t < least && a.hits[i] == unasked && (t < cost || t-most < cost && seen.has(replicas[i].Index)) {
			found, least = i, t
		}
		i++
	}
	return found
}

// findable returns how many leading tokens of a prompt a cache may hold: those that are not the request's own.
func findable(p kvcache.Prompt) int64 {
	n := int64(0)
	for _, run := range p {
		if run.Label&kvcache.Private != 0 {
			break
		}
		n += int64(run.Len)
	}
	return n
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
