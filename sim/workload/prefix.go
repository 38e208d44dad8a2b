package workload

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servesim/servesim/kvcache"
)

// Prefix is a stretch of tokens that the requests of a group share, such as a system prompt. It comes on top of the
// prompt's own length, as --random-prefix-len of vllm bench serve does: that is one group. The zero value is none.
type Prefix struct {
	Groups int // each request belongs to one of them, all equally likely
	Tokens int // length of each group's prefix
	// Distinct is how many different prompts there are, dealt evenly to the groups: they come round in one shuffled
	// order, so that from the second round on every prompt has been seen. 0: no prompt comes twice.
	Distinct int
}

// mostDistinct bounds the prompts that are kept.
const mostDistinct = 1 << 20

func (p Prefix) check(c *faults) {
	if p.Distinct < 0 || p.Distinct > mostDistinct {
		c.add("prefix.distinct", "must lie between 0 and %d, got %d", mostDistinct, p.Distinct)
	}
	if p.Groups == 0 && p.Tokens == 0 {
		return
	}
	if p.Groups < 1 {
		c.add("prefix.groups", "must be at least 1 for a prefix of %d tokens, got %d", p.Tokens, p.Groups)
	}
	if p.Tokens < 0 || p.Tokens > Longest {
		c.add("prefix.tokens", "must lie between 0 and %d, got %d", Longest, p.Tokens)
	}
}

// prefixes deals out the shared prefixes.
type prefixes struct {
	groups int
	tokens int32
	law    distuv.Uniform
}

func newPrefixes(p Prefix, src rand.Source) prefixes {
	return prefixes{p.Groups, int32(p.Tokens), distuv.Uniform{Min: 0, Max: float64(p.Groups), Src: src}}
}

// draw returns the prefix run of the next request; its length is 0 if there is none.
func (p *prefixes) draw() kvcache.Run {
	if p.tokens == 0 {
		return kvcache.Run{}
	}
	group := 0
	if p.groups > 1 {
		group = min(int(p.law.Rand()), p.groups-1)
	}
	return kvcache.Run{Label: groupPrefix.label(uint64(group)), Len: p.tokens}
}
