package scheduler

import (
	"fmt"
	"math"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// static is batching as FasterTransformer (NVIDIA, 2019) does it behind Triton's dynamic batcher (Triton Inference Server,
// "Batchers"): collect a batch, pad its prompts to one length, prefill them in one step, decode until the last answer
// ends, then collect the next. Nobody joins or leaves in between. It is the baseline of Orca's and vLLM's papers.
type static struct {
	batcher
	batch Batch
	pad   int32   // length of the padded prompts of the running batch
	ended []ended // its rows that have finished
}

// An ended row is one whose answer is complete, in a batch that is not.
type ended struct {
	id   kvcache.SeqID
	past int32 // tokens in its cache, growing on
}

// Static returns static batching. A batch starts when it is full — b.MaxBatch requests, max_num_seqs, or as many as the
// memory holds —, when it can have one of the b.Preferred sizes, or when its oldest request has waited for b.Timeout
// (Triton's max_queue_delay). Memory for the padded prompt and max_tokens is reserved for every row, in one piece, and
// freed at the end of the batch; there is no preemption, and no token budget. Until the end a finished row goes on
// computing tokens that nobody reads: they are in the Step of a plan, though not in its Work. With b.EarlyExit it stops,
// and frees its memory. Prefix caching is not used.
func Static(l Limits, b Batch, c kvcache.Cache) Scheduler {
	l.MaxNumBatchedTokens, l.MaxNumScheduledTokens, l.LongPrefillTokenThreshold = 0, 0, 0
	s := &static{batcher: newBatcher(l, c), batch: b}
	s.padded = true
	s.batch.MaxBatch = min(max(b.MaxBatch, 1), s.limits.MaxNumSeqs)
	return s
}

// Plan goes on with the running batch, or starts the next one.
func (t *static) Plan(now sim.Time) *Plan {
	p := t.begin(now)
	if t.running.n > 0 {
		t.decode(p)
	} else {
		t.collect(p, now)
	}
	return t.end(p)
}

// decode computes one token for every row of the batch.
func (t *static) decode(p *Plan) {
	for _, s := range t.running.list() {
		if t.due(s) > 0 {
			past := t.pad - s.Prompt + s.Computed
			s.Computed++
			t.row(p, Work{Seq: s, Tokens: 1, Past: past, Decode: true, Samples: true})
			p.Step.AddDecode(int(past), t.window)
		}
	}
	if p.Empty() {
		return
	}
	for i := range t.ended {
		p.Step.AddDecode(int(t.ended[i].past), t.window)
		t.ended[i].past++
	}
}

// rowBlocks returns the blocks that a row is given: those of its padded prompt and all it may generate.
func (t *static) rowBlocks(pad int32, s *Seq) int {
	return t.cache.Need(kvcache.Hit{}, t.rowTokens(pad, s))
}

func (t *static) rowTokens(pad int32, s *Seq) int {
	return int(min(int64(max(pad, s.Prompt))+int64(s.MaxTokens), math.MaxInt32))
}

// prefill starts a row.
func (t *static) prefill(p *Plan, s *Seq) {
	if !t.cache.Admit(s.ID, s.Tokens, kvcache.Hit{}, kvcache.Claim{Tokens: t.rowTokens(t.pad, s)}) {
		panic("scheduler: static batch: memory that was counted as free is not")
	}
	s.State, s.Computed = Running, s.Prompt
	t.running.add(s)
	p.Admitted = append(p.Admitted, s)
	t.row(p, Work{Seq: s, Tokens: t.pad, Samples: true})
	p.Step.AddChunk(int(t.pad), 0, true, t.window)
}

func (t *static) row(p *Plan, w Work) {
	p.Work = append(p.Work, w)
	if t.charger != nil {
		t.charger.Charge(&p.Work[len(p.Work)-1])
	}
	w.Seq.InFlight += w.Tokens
	w.Seq.full = math.MaxInt32 // nothing is ever findable
	w.Seq.turn = t.plans + t.stages
	if t.async {
		w.Seq.Pending++
	}
}

// Drop takes out a sequence. A row of the running batch keeps its place, its cost and its memory until the batch ends,
// unless rows may exit early.
func (t *static) Drop(s *Seq) {
	if s.State != Running || t.batch.EarlyExit {
		t.batcher.Drop(s)
		return
	}
	t.running.remove(s)
	s.State = Gone
	t.ended = append(t.ended, ended{s.ID, t.pad - s.Prompt + s.Computed})
	if t.running.n > 0 {
		return
	}
	for _, row := range t.ended {
		t.cache.Release(row.id)
	}
	t.ended = t.ended[:0]
}

// Refuse reads only.
func (t *static) Refuse(s *Seq) string {
	if r := t.tooLong(s); r != "" {
		return r
	}
	tokens := t.rowTokens(int32(t.batch.PadTo), s)
	if r := t.tooBig(int32(tokens), 0); r != "" {
		return fmt.Sprintf("%s (static batching reserves max_tokens %d)", r, s.MaxTokens)
	}
	return ""
}
