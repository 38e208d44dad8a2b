package scheduler

import (
	"cmp"
	"slices"

	"github.com/servesim/servesim/sim"
)

// How a static batch comes together: Triton's dynamic batcher.

// collect starts a batch, or says when it will. Those that have no place in it go on waiting.
func (t *static) collect(p *Plan, now sim.Time) {
	full := t.candidates()
	size := len(t.aside)
	if size == 0 {
		return
	}
	if !full {
		oldest := slices.MinFunc(t.aside, func(a, b *Seq) int { return cmp.Compare(a.Arrival, b.Arrival) })
		due := oldest.Arrival.Add(t.batch.Timeout)
		if n := t.preferred(size); n > 0 {
			size = n
		} else if now < due {
			p.Wake, size = due, 0
		}
	}
	for _, s := range slices.Backward(t.aside[size:]) {
		t.waiting.pushFront(s)
	}
	t.pad = int32(t.batch.PadTo)
	for _, s := range t.aside[:size] {
		t.pad = max(t.pad, s.Prompt)
	}
	for _, s := range t.aside[:size] {
		t.prefill(p, s)
	}
	t.aside = t.aside[:0]
}

// preferred returns the largest preferred size that n requests can fill; 0: none.
func (t *static) preferred(n int) (size int) {
	for _, k := range t.batch.Preferred {
		if k <= n {
			size = max(size, k)
		}
	}
	return size
}

// candidates takes the next batch out of the line, as far as it has arrived, and reports whether nobody else would fit.
// A longer prompt makes every row longer.
func (t *static) candidates() (full bool) {
	pad := int32(t.batch.PadTo)
	free := t.cache.Available()
	for len(t.aside) < t.batch.MaxBatch {
		s := t.waiting.head()
		if s == nil {
			return false
		}
		longer := max(pad, s.Prompt)
		need := t.rowBlocks(longer, s)
		for _, other := range t.aside {
			need += t.rowBlocks(longer, other)
		}
		if need > free {
			return true
		}
		pad = longer
		t.aside = append(t.aside, t.waiting.pop())
	}
	return true
}
