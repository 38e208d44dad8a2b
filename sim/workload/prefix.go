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

// Class is a kind of request, such as interactive or batch.
type Class struct {
	Name     string
	Share    float64 // weight among the classes; they need not sum to one
	Priority int32   // lower is more important
}

func checkClasses(c *faults, classes []Class) {
	seen := make(map[string]bool, len(classes))
	for _, class := range classes {
		if !positive(class.Share) {
			c.add("classes", "the share of class %q must be a positive number, got %v", class.Name, class.Share)
		}
		if seen[class.Name] {
			c.add("classes", "class %q is there twice: give each its own name", class.Name)
		}
		seen[class.Name] = true
	}
}

// A choice picks one of several things by their shares.
type choice struct {
	upTo []float64 // cumulated shares
	law  distuv.Uniform
}

func newChoice(shares []float64, src rand.Source) choice {
	sum := 0.0
	upTo := make([]float64, len(shares))
	for i, s := range shares {
		sum += s
		upTo[i] = sum
	}
	return choice{upTo, distuv.Uniform{Min: 0, Max: sum, Src: src}}
}

func classChoice(classes []Class, src rand.Source) choice {
	shares := make([]float64, len(classes))
	for i, c := range classes {
		shares[i] = c.Share
	}
	return newChoice(shares, src)
}

// draw returns an index; with one thing or none it is 0, and nothing is drawn.
func (c *choice) draw() int {
	last := len(c.upTo) - 1
	if last < 1 {
		return 0
	}
	u := c.law.Rand()
	for i, limit := range c.upTo[:last] {
		if u < limit {
			return i
		}
	}
	return last
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
