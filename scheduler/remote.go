package scheduler

import "github.com/servesim/servesim/kvcache"

// Where prefill and decode have engines of their own, a prompt's KV is computed by one and used by the other.
//
// The one that computes it must keep it when its part is done, until the other has fetched it: see [Holder].
//
// The one that decodes takes the memory for the whole prompt when the sequence is at the head of its line, less what its
// own prefix cache has of it, and lets others pass while the rest is on its way (Seq.Remote, Load.Remote). What arrives are
// the tokens of the prompt. If no output token came with them the last position is computed once more, to sample from: one
// row, as in vLLM. If the first token came along (Seq.Given) the sequence just decodes, as in SGLang. If the load fails
// the prompt is computed here.

// Holder is a Scheduler whose sequences can leave their KV behind for a peer.
type Holder interface {
	// Hold takes out a sequence that runs or loads, as Drop does, but its memory stays in use, and its ID taken.
	Hold(s *Seq)
	// Free gives back the memory of a sequence on hold, in the order in which Drop would have.
	Free(s *Seq)
}

var _ Holder = (*batcher)(nil)

// Hold implements [Holder].
func (b *batcher) Hold(s *Seq) {
	switch s.State {
	case Running:
		if s.unnamed {
			b.single(s)
		} else {
			b.cohort.leave(s)
		}
		b.running.remove(s)
	case Loading:
		if !b.waiting.remove(s) {
			b.skipped.remove(s)
		}
	default:
		panic("scheduler: Hold of a sequence that neither runs nor loads")
	}
	s.State = Held
	b.held++
}

// Free implements [Holder].
func (b *batcher) Free(s *Seq) {
	if s.State != Held {
		return
	}
	b.leave(s)
	s.State = Gone
	b.held--
}

// fetch takes the memory for a sequence whose prompt's KV is elsewhere, and has the plan load what the prefix cache here
// lacks; or it does nothing and returns false. The memory for what comes after the prompt is taken on trust, unless so
// many tokens of it are to be kept free for everybody who is here already, and for this sequence.
func (c *chunked) fetch(p *Plan, s *Seq) bool {
	hit := c.cache.Match(s.Tokens, int(s.Prompt))
	tokens := s.Prompt + s.Given // with room for the first token's KV: all may be here at once, and need it at once
	need, free := c.cache.Need(hit, int(tokens)), c.cache.Available()-c.promised()
	if need+c.reserved(tokens) > free {
		return false
	}
	// What is still on its way must not be found by others.
	if !c.cache.Admit(s.ID, s.Tokens, hit, kvcache.Claim{Tokens: int(tokens), Known: hit.Tokens, Spare: c.keep()}) {
		return false
	}
	c.fetches = true
	s.Hit = int32(hit.Tokens)
	c.counters.PrefixQueries += int64(hit.Queried)
	c.counters.PrefixHits += int64(hit.Tokens)
	s.State, s.Computed, s.fill = Loading, s.Prompt, tokens
	p.Loads = append(p.Loads, Load{
		Seq: s, Tokens: s.Prompt, Blocks: int32(c.blocks(s.Prompt)) - s.Hit/c.blockSize, Remote: true,
	})
	return true
}

// reserved returns the blocks that must stay free beside a prompt of so many tokens: those that each sequence which has
// memory already, and the prompt's own, may come to need soon.
func (c *chunked) reserved(tokens int32) int {
	reserve := int32(c.limits.ReservedDecodeTokens)
	if reserve == 0 {
		return 0
	}
	here := c.running.n + c.skipped.n + len(c.aside)
	if here == 0 {
		return 0 // it has the pool for itself
	}
	return here*c.blocks(reserve) + c.blocks(tokens+reserve) - c.blocks(tokens)
}

// arrive is the part of Ready that concerns prompts from elsewhere: how much of it counts as computed.
func (s *Seq) arrive(tokens int) {
	switch whole := tokens >= int(s.Prompt); {
	case !whole:
		s.Computed = min(s.Computed, int32(tokens))
	case s.Given > 0:
		s.Out += s.Given
	default:
		s.Computed = s.Prompt - 1
	}
}

// fetched reports whether what s has loaded came from a peer: a prompt is fetched once.
func (s *Seq) fetched() bool { return s.Remote && s.Preemptions == 0 }

// owes returns the tokens that s must compute before it decodes, when it is admitted with a load. What is left after a
// prompt has arrived whole, one token on top of the cache, is a decode to the kernels.
func (s *Seq) owes(known int32) int32 {
	if s.fetched() && s.Computed >= s.Prompt-1 {
		return s.Computed
	}
	return known
}
