package metrics

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/engine"
)

// coasted does what the hooks for steps, gaps and plans do for each of some steps that are nothing but decodes.
func (w *watch) coasted(steps []engine.Ran) {
	pool, blocks := w.pool(), 0
	for i := range steps {
		blocks += steps[i].Blocks
	}
	pool.Held -= blocks // back to what it was when the first of them ended
	if w.census.present > 0 && steps[0].Start >= w.r.c.Warmup {
		for len(steps) > 0 {
			n := w.glide(steps, &pool)
			if n == 0 {
				break
			}
			steps = steps[n:]
		}
	}
	for i := range steps {
		w.tread(steps[i], &pool)
	}
}

// tread is coasted for a single step.
func (w *watch) tread(s engine.Ran, pool *kvcache.Usage) {
	m := s.Members
	w.decodes.Step = hardware.Step{Tokens: m, Seqs: m, Decodes: m, Sampled: m}
	s.Plan = &w.decodes
	w.take(&s, pool.Held, share(*pool))
	w.count(m)
	if !w.r.perToken {
		w.r.gaps.add(s.Gap, m)
	}
	pool.Held += s.Blocks
	w.planned(s.End, s.Plan)
}

// glide is coasted for as many of the steps as are of one size and were busy from end to end, which most are: what they
// took is all in their cost. It returns how many those are.
func (w *watch) glide(steps []engine.Ran, pool *kvcache.Usage) int {
	n := even(steps)
	if n == 0 {
		return 0
	}
	steps = steps[:n]
	members, last := steps[0].Members, steps[n-1].End
	u := &w.use
	u.steps += int64(n)
	u.tokens += int64(n * members)
	u.peakRunning = max(u.peakRunning, members)
	u.glide(steps, pool)
	busy := w.addCosts(steps)
	w.sums[overhead] += int64(last-w.clock) - busy
	w.clock = last
	w.stale = max(w.stale-n, 0)
	if !w.r.perToken {
		w.r.gaps.addEach(steps, members)
	}
	if last < w.tally.until {
		w.tally.add(last, w.r.origin, n*members)
		return n
	}
	for i := range steps {
		w.tally.add(steps[i].End, w.r.origin, members)
	}
	return n
}

// even returns how many of the first steps are of one size and were busy for just what they cost.
func even(steps []engine.Ran) int {
	members := steps[0].Members
	for i := range steps {
		r := &steps[i]
		if newBill(&r.Cost, r.Hidden).total != int64(r.Busy) || r.Members != members {
			return i
		}
	}
	return len(steps)
}

// addCosts adds what such steps took to the sums of the engine and of its GPUs, and returns how long they were busy.
func (w *watch) addCosts(steps []engine.Ran) (busy int64) {
	var all, arithmetic, streaming, reading, talking time.Duration
	for i := range steps {
		r := &steps[i]
		all += r.Busy
		arithmetic += r.Cost.By.Compute
		streaming += r.Cost.By.Weights
		reading += r.Cost.By.KVRead
		talking += r.Cost.By.Network
	}
	by := hardware.Causes{
		Compute: arithmetic, Weights: streaming, KVRead: reading, Network: talking,
		Overhead: all - arithmetic - streaming - reading - talking,
	}
	total := bill{by: &by, total: int64(all)}
	total.addTo(&w.use.busy)
	total.addTo(&w.sums)
	return total.total
}

// glide adds steps of one size to the sums over time. Those of floating-point numbers take each step by itself, in order, for
// that decides their last digits. The pool fills meanwhile, so that its peak is what the last step saw.
func (u *usage) glide(steps []engine.Ran, pool *kvcache.Usage) {
	size, held := float64(steps[0].Members), share(*pool)
	running, area, device := u.running, u.held, u.device
	flops, bytes, joules := u.flops, u.bytes, u.joules
	for i := range steps {
		r := &steps[i]
		running += size * float64(r.End-r.Start)
		area += held * float64(r.Busy)
		device += float64(r.Cost.Device)
		flops += r.Cost.FLOPs
		bytes += r.Cost.Bytes
		joules += r.Cost.Joules
		if r.Blocks > 0 {
			u.fills(pool.Held, held)
			pool.Held += r.Blocks
			held = share(*pool)
		}
	}
	u.running, u.held, u.device = running, area, device
	u.flops, u.bytes, u.joules = flops, bytes, joules
	if steps[len(steps)-1].Blocks == 0 {
		u.fills(pool.Held, held)
	}
}
