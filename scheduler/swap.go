package scheduler

import (
	"slices"

	"github.com/servesim/servesim/kvcache"
)

// swap is host memory that takes in the KV of preempted sequences, as V0's --swap-space does with --preemption-mode swap.
// The copies are part of the step. Whoever is swapped out comes back, in order, before anybody new comes in.
type swap struct {
	space, used int // blocks
	line        []*Seq
}

// remove forgets a sequence that has so many blocks there.
func (w *swap) remove(s *Seq, blocks int) {
	i := slices.Index(w.line, s)
	w.line = slices.Delete(w.line, i, i+1)
	w.used -= blocks
}

// swapOut moves the KV of a sequence that has just given up its memory to the host, if there is room. V0 stops with an error
// when there is none; here the sequence is computed again, and counted.
func (b *batcher) swapOut(s *Seq) bool {
	w, n := &b.swap, b.blocks(s.Computed)
	if w.space == 0 {
		return false
	}
	if w.used+n > w.space {
		b.counters.SwapsRefused++
		return false
	}
	s.State = Swapped
	w.line = append(w.line, s)
	w.used += n
	b.moved.SwappedOut += n
	b.counters.SwappedOut += int64(n)
	return true
}

// nextSwapped returns who comes back first: the first to go, or, under an order that takes seats, the best; nil: nobody is
// swapped out.
func (b *batcher) nextSwapped() *Seq {
	line := b.swap.line
	if len(line) == 0 {
		return nil
	}
	first := line[0]
	if b.preemptor != nil {
		for _, s := range line {
			if b.preemptor.Before(s, first) {
				first = s
			}
		}
	}
	return first
}

// swappedFirst reports whether somebody swapped out keeps everybody new from coming in.
func (b *batcher) swappedFirst() bool {
	s := b.nextSwapped()
	if s == nil || b.preemptor == nil {
		return s != nil
	}
	head := b.next().head()
	return head == nil || b.preemptor.Before(s, head)
}

// swapIn brings back swapped sequences, in order, as long as seats, budget and memory above the watermark last. They
// decode in this very step.
func (b *batcher) swapIn(p *Plan) {
	for s := b.nextSwapped(); s != nil; s = b.nextSwapped() {
		if b.running.n >= b.limits.MaxNumSeqs && !b.oust(p, s) {
			return
		}
		n, blocks, spare := b.due(s), b.blocks(s.Computed), b.spare
		if b.running.n == 0 {
			spare = 0 // it has the pool for itself
		}
		tokens, known := s.Computed+n, s.Known()
		if n <= 0 || s.Stale > 0 || !b.cache.Admit(s.ID, s.Tokens, kvcache.Hit{}, kvcache.Claim{Tokens: int(tokens), Known: int(known), Spare: spare}) {
			return
		}
		b.swap.remove(s, blocks)
		b.moved.SwappedIn += blocks
		b.counters.SwappedIn += int64(blocks)
		s.State = Running
		b.settle(s, tokens, b.slide(s))
		b.place(p, s, n)
		b.running.add(s)
	}
}
