package scheduler

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// continuous is vLLM's V0 scheduler in its default mode (Kwon et al., Efficient Memory Management for Large Language Model
// Serving with PagedAttention, SOSP 2023): a step is all prefill or all decode, and prefill comes first.
// It gives the best first tokens and stalls every running answer while prompts keep coming.
type continuous struct {
	batcher
}

// Continuous returns vLLM's V0 scheduler (0.9.2, without chunking): as long as whole prompts fit the budget, the seats
// and the memory above the watermark (1 % of the blocks there; Limits.Watermark here), a step prefills and nothing
// else; otherwise every running sequence decodes one token.
//
// It differs from the original where that would lose a request: a preempted sequence that has outgrown the budget, or
// the pool less its watermark, gets a step or the pool for itself (V0 drops it), and a hit in the prefix cache needs no
// memory.
func Continuous(l Limits, c kvcache.Cache) Scheduler {
	l.LongPrefillTokenThreshold = 0
	s := &continuous{batcher: newBatcher(l, c)}
	return s
}

// Plan prefills, or else decodes. As long as anybody is swapped out, nobody new comes in, unless an order that takes seats
// prefers it.
func (c *continuous) Plan(now sim.Time) *Plan {
	p := c.begin(now)
	if !c.swappedFirst() {
		c.admit(p, c)
	}
	if p.Empty() {
		c.touch = c.cache.Available() < c.running.n // else nobody can find the pool empty in this step
		c.extend(p)
		if len(p.Preempted) == 0 {
			c.swapIn(p)
		}
	}
	return c.end(p)
}

// let admits the head of the line if all it knows fits into this step.
func (c *continuous) let(p *Plan, s *Seq) bool {
	known := s.Known()
	hit := c.cache.Match(s.Tokens, int(known))
	n, ok := c.cut(p, known-int32(hit.Tokens), false)
	if !ok {
		return false
	}
	spare := c.spare
	if c.running.n == 0 && s.Preemptions > 0 {
		spare = 0
	}
	return c.seat(p, s, hit, n, spare)
}

// Refuse reads only.
func (c *continuous) Refuse(s *Seq) string {
	if r := c.tooLong(s); r != "" {
		return r
	}
	if r := c.tooLongForAStep(s); r != "" {
		return r
	}
	return c.tooBig(s.Prompt, c.spare)
}
