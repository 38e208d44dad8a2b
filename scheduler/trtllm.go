package scheduler

import (
	"fmt"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// trtllm is TensorRT-LLM's in-flight batching (its documentation: "Scheduler", "Capacity Scheduler Policy"; source
// batch_manager/capacityScheduler and microBatchScheduler). Two schedulers work together: the capacity scheduler decides
// who may hold memory, the micro-batch scheduler who gets tokens.
type trtllm struct {
	batcher
}

// TRTLLM returns TensorRT-LLM's scheduler: generation first, then prompts (its contexts) while max_num_tokens
// (Limits.MaxNumBatchedTokens) and max_batch_size (MaxNumSeqs) last, whole or, with EnableChunkedPrefill, in chunks. A
// prompt takes all its memory when it begins.
//
// Its default capacity policy is GUARANTEED_NO_EVICT: a request is admitted only if it, and all who run, can have their
// max_tokens; nobody is ever preempted, and the pool fills only as far as answers come near their limits. With
// maxUtilization it is MAX_UTILIZATION: a request is admitted when its prompt fits; when memory runs out the last one
// admitted is paused, loses its KV, and comes back, as the next in line, with all its tokens to be computed again.
func TRTLLM(l Limits, maxUtilization bool, c kvcache.Cache) Scheduler {
	l.LongPrefillTokenThreshold = 0
	t := &trtllm{batcher: newBatcher(l, c)}
	t.grip = wholePrompt
	if !maxUtilization {
		t.reserve = full()
	}
	t.muster()
	return t
}

// Plan lets everybody go on, then admits. A step in which somebody was paused admits nobody.
func (t *trtllm) Plan(now sim.Time) *Plan {
	p := t.begin(now)
	if !t.advance(p) {
		t.extend(p)
	}
	if len(p.Preempted) == 0 {
		t.reserved(p, t)
	}
	t.enlist(p)
	return t.end(p)
}

// let admits the head of the line if it fits the step, and the memory that the capacity policy wants for it.
func (t *trtllm) let(p *Plan, s *Seq) bool {
	known := s.Known()
	hit := t.cache.Match(s.Tokens, int(known))
	n, ok := t.cut(p, known-int32(hit.Tokens), t.limits.EnableChunkedPrefill)
	if !ok {
		return false
	}
	if t.reserve.share == 0 {
		return t.seat(p, s, hit, n, 0)
	}
	return t.book(p, s, hit, n, 0)
}

// Refuse reads only.
func (t *trtllm) Refuse(s *Seq) string {
	if r := t.tooLong(s); r != "" {
		return r
	}
	if r := t.tooLongForAStep(s); r != "" && !t.limits.EnableChunkedPrefill {
		return r
	}
	if t.reserve.share == 0 {
		return t.tooBigInOnePiece(s.Prompt, 0)
	}
	if r := t.tooBigInOnePiece(t.final(s), 0); r != "" {
		return fmt.Sprintf("%s (guaranteed-no-evict reserves max_tokens %d)", r, s.MaxTokens)
	}
	return ""
}
