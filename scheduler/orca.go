package scheduler

import (
	"fmt"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// orca is iteration-level scheduling with selective batching (Yu et al., Orca: A Distributed Serving System for
// Transformer-Based Generative Models, OSDI 2022). The batch is formed anew for every iteration: who has finished leaves
// at once, who waits joins at once. Prompts and decodes of any lengths go through the linear layers together; only
// attention takes them one by one.
type orca struct {
	batcher
}

// Orca returns Orca's scheduler: every running sequence decodes in every iteration, and those who wait join, first come
// first served, with their whole prompts, as long as seats last (max_num_seqs, its max_bs) and memory for prompt +
// max_tokens. That memory is one contiguous piece, as in the engines before paging: it is taken at admission, used or
// not, cannot be shared with another sequence, and is never lost to one. There is no preemption and no token budget, so a
// long prompt makes one long iteration for everybody. What a contiguous allocator loses to holes between the pieces is
// not modelled.
//
// The paper's engine is pipelined; with several stages each holds an iteration of its own, as in all policies here.
func Orca(l Limits, c kvcache.Cache) Scheduler {
	l.MaxNumBatchedTokens, l.MaxNumScheduledTokens, l.LongPrefillTokenThreshold = 0, 0, 0
	o := &orca{batcher: newBatcher(l, c)}
	o.reserve, o.grip = full(), wholeAnswer
	return o
}

// Plan is the next iteration.
func (o *orca) Plan(now sim.Time) *Plan {
	p := o.begin(now)
	o.extend(p)
	o.admit(p, o)
	return o.end(p)
}

// let admits the head of the line if its piece of memory is free.
func (o *orca) let(p *Plan, s *Seq) bool { return o.seat(p, s, kvcache.Hit{}, s.Known(), 0) }

// Refuse reads only.
func (o *orca) Refuse(s *Seq) string {
	if r := o.tooLong(s); r != "" {
		return r
	}
	if r := o.tooBigInOnePiece(o.final(s), 0); r != "" {
		return fmt.Sprintf("%s (Orca reserves max_tokens %d)", r, s.MaxTokens)
	}
	return ""
}
