package scheduler

import (
	"fmt"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// chunked is vLLM's V1 scheduler. It knows no phases: every step hands out tokens so that what each sequence has
// computed catches up with what it knows, the running ones first. A decode is a sequence whose gap is one token, and a
// long prompt takes the budget that the others leave, in chunks.
type chunked struct {
	batcher
}

// Chunked returns vLLM's V1 scheduler: one token budget for prompts and decodes, recompute preemption, and prompts
// admitted in order of arrival (or of priority) as long as budget, seats and memory last.
func Chunked(l Limits, c kvcache.Cache) Scheduler {
	s := &chunked{batcher: newBatcher(l, c)}
	s.muster()
	return s
}

// Plan serves the running, then admits. A step that had to preempt admits nobody.
func (c *chunked) Plan(now sim.Time) *Plan {
	p := c.begin(now)
	if c.cohort.alone() && c.ride(p) {
		if c.tier == nil && !c.admits() {
			return c.end(p)
		}
	} else if !c.advance(p) {
		c.extend(p)
	}
	if len(p.Preempted) == 0 {
		c.admit(p, c)
	}
	if c.tier != nil || c.fetches {
		c.unblock(p)
	}
	if c.tier != nil {
		c.count()
	}
	c.enlist(p)
	return c.end(p)
}

// let admits the head of the line if its next chunk fits. The full-prompt gate also wants room for all it knows now,
// though not for what it will generate: memory for decodes is always taken on trust. It has nothing to add where the chunk
// is all of it.
func (c *chunked) let(p *Plan, s *Seq) bool {
	if s.State == Loaded {
		return c.board(p, s)
	}
	if s.Remote && s.State == Waiting {
		return c.fetch(p, s)
	}
	known := s.Known()
	hit := c.cache.Match(s.Tokens, int(known))
	if c.spec.on && c.spec.DropLast {
		hit = c.dropLast(s, hit)
	}
	if c.tier != nil {
		if lower, begun := c.below(p, s, hit); lower {
			return begun
		}
	}
	rest := known - int32(hit.Tokens)
	n, ok := c.chunk(rest)
	if !ok {
		return false
	}
	spare := c.keep()
	if n < rest && c.limits.SchedulerReserveFullISL && !c.fitsWhole(s, hit, spare) {
		return false
	}
	return c.seat(p, s, hit, n, spare)
}

// fitsWhole reports whether the pool has room for all that s knows, and `spare` blocks.
func (c *chunked) fitsWhole(s *Seq, hit kvcache.Hit, spare int) bool {
	return c.cache.Need(hit, int(min(s.Known(), c.maxLen)))+spare <= c.cache.Available()
}

// chunk returns how many of n tokens the next step may compute of a waiting sequence; false: it may not begin.
func (c *chunked) chunk(n int32) (int32, bool) {
	n = min(n, c.threshold)
	if n > c.budget && !c.limits.EnableChunkedPrefill {
		return 0, false
	}
	return min(n, c.budget), true
}

// keep returns the blocks that an admission must leave free now.
func (c *chunked) keep() int {
	if c.running.n > 0 {
		return c.spare
	}
	return 0
}

// Refuse reads only.
func (c *chunked) Refuse(s *Seq) string {
	if r := c.tooLong(s); r != "" {
		return r
	}
	if n := min(s.Prompt, c.threshold); !c.limits.EnableChunkedPrefill && n > c.capacity {
		return fmt.Sprintf("prompt longer than the budget, and chunked prefill is off: it needs a step of %d tokens, the budget is %d", n, c.capacity)
	}
	return c.tooBig(c.lookahead(s.Prompt), 0)
}

// tooLong says why the model cannot take s, or "".
func (b *batcher) tooLong(s *Seq) string {
	if s.Prompt >= b.maxLen {
		return fmt.Sprintf("longer than max_model_len: a prompt of %d tokens leaves no room for output in max_model_len %d", s.Prompt, b.maxLen)
	}
	return ""
}

// tooBig says why the pool can never hold so many tokens and leave `spare` blocks free, or "".
func (b *batcher) tooBig(tokens int32, spare int) string {
	if tokens <= b.holds[0] && spare <= int(b.holds[1]) {
		return "" // fewer tokens never need more blocks
	}
	if r := tooMany(tokens, b.cache.Need(kvcache.Hit{}, int(tokens)), b.total-spare); r != "" {
		return r
	}
	b.holds = [2]int32{tokens, int32(spare)}
	return ""
}

func tooMany(tokens int32, need, have int) string {
	if need <= have {
		return ""
	}
	return fmt.Sprintf("larger than the KV cache: %d tokens need %d KV blocks, the cache has %d", tokens, need, have)
}
