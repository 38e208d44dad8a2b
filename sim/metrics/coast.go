package metrics

import (
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/engine"
)

// coasted does what ran, gap and planned do for each of some steps that are nothing but decodes.
func (w *watch) coasted(steps []engine.Ran) {
	pool := w.pool()
	for i := range steps {
		pool.Held -= steps[i].Blocks // back to what it was when the first of them ended
	}
	n := 0
	if w.census.present > 0 && steps[0].Start >= w.r.c.Warmup {
		n = w.glide(steps, &pool)
	}
	for _, s := range steps[n:] {
		m := s.Members
		w.decodes.Step = hardware.Step{Tokens: m, Seqs: m, Decodes: m, Sampled: m}
		s.Plan = &w.decodes
		w.take(&s, pool)
		w.gap(s.Gap, m)
		pool.Held += s.Blocks
		w.planned(s.End, s.Plan)
	}
}

// glide is coasted for as many of the steps as were busy from end to end, which most are: what they took is all in their
// cost. Sums of integers are kept until the last; floating-point sums take each step by itself, in order, for that decides
// their last digits. It returns how many steps it took in.
func (w *watch) glide(steps []engine.Ran, pool *kvcache.Usage) (n int) {
	u, held := &w.use, share(*pool)
	var sum split
	for n < len(steps) {
		s := &steps[n]
		cost := price(&s.Cost, s.Hidden)
		if cost.total() != int64(s.Busy) {
			break
		}
		n++
		sum.add(&cost)
		u.tokens += int64(s.Members)
		u.peakRunning = max(u.peakRunning, s.Members)
		u.peak, u.peakHeld = max(u.peak, held), max(u.peakHeld, pool.Held)
		u.running += float64(s.Members) * float64(s.End-s.Start)
		u.held += held * float64(s.Busy)
		u.device += float64(s.Cost.Device)
		u.flops += s.Cost.FLOPs
		u.bytes += s.Cost.Bytes
		u.joules += s.Cost.Joules
		w.tally.add(s.End, w.r.origin, s.Members)
		if !w.r.perToken {
			w.r.gaps.add(s.Gap, s.Members)
		}
		if s.Blocks > 0 {
			pool.Held += s.Blocks
			held = share(*pool)
		}
	}
	if n == 0 {
		return 0
	}
	u.steps += int64(n)
	u.busy.add(&sum)
	last := steps[n-1].End
	w.sums.add(&sum)
	w.sums[overhead] += int64(last-w.clock) - sum.total()
	w.clock = last
	w.stale = max(w.stale-n, 0)
	return n
}
