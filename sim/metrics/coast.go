package metrics

import (
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
	n := 0
	if w.census.present > 0 && steps[0].Start >= w.r.c.Warmup {
		for n < len(steps) {
			even := w.glide(steps[n:], &pool)
			if even == 0 {
				break
			}
			n += even
		}
	}
	for ; n < len(steps); n++ {
		w.tread(steps[n], &pool)
	}
}

// tread is coasted for a single step.
func (w *watch) tread(s engine.Ran, pool *kvcache.Usage) {
	m := s.Members
	w.decodes.Step = hardware.Step{Tokens: m, Seqs: m, Decodes: m, Sampled: m}
	s.Plan = &w.decodes
	w.take(&s, *pool)
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
	var took split
	n := w.use.glide(steps, pool, &took)
	if n == 0 {
		return 0
	}
	steps = steps[:n]
	members, last := steps[0].Members, steps[n-1].End
	w.sums.add(&took)
	w.sums[overhead] += int64(last-w.clock) - took.total()
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

// glide takes in the first of some steps, as many as are of one size and were busy for just what they cost. It returns their
// number, and adds up what they took. Sums of floating-point numbers take each step by itself, in order, for that decides
// their last digits. The pool fills meanwhile, so that its peak is what the last step saw.
func (u *usage) glide(steps []engine.Ran, pool *kvcache.Usage, took *split) (n int) {
	members, held := steps[0].Members, share(*pool)
	size, running, area, device := float64(members), u.running, u.held, u.device
	flops, bytes, joules := u.flops, u.bytes, u.joules
	for n < len(steps) {
		r := &steps[n]
		c := &r.Cost
		rest := r.Busy - c.By.Compute - c.By.Weights - c.By.KVRead - c.By.Network
		if rest != c.By.Overhead+c.Exposed+max(c.Host-r.Hidden, 0) || r.Members != members {
			break
		}
		n++
		took[compute] += int64(c.By.Compute)
		took[weights] += int64(c.By.Weights)
		took[kvRead] += int64(c.By.KVRead)
		took[network] += int64(c.By.Network)
		took[overhead] += int64(rest)
		running += size * float64(r.End-r.Start)
		area += held * float64(r.Busy)
		device += float64(c.Device)
		flops += c.FLOPs
		bytes += c.Bytes
		joules += c.Joules
		u.fills(pool.Held, held)
		if r.Blocks > 0 {
			pool.Held += r.Blocks
			held = share(*pool)
		}
	}
	u.running, u.held, u.device = running, area, device
	u.flops, u.bytes, u.joules = flops, bytes, joules
	u.busy.add(took)
	if n > 0 {
		u.steps += int64(n)
		u.tokens += int64(n * members)
		u.peakRunning = max(u.peakRunning, members)
	}
	return n
}
