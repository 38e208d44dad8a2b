package metrics

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// take takes in a step: what it cost, what sequences hold of the pool as it ends, and how far it brings the engine's cumulative
// times.
func (w *watch) take(r *engine.Ran, pool kvcache.Usage) {
	step, busy := &r.Plan.Step, int64(r.Busy)
	cost := newBill(&r.Cost, r.Hidden)
	whole := cost.total == busy
	if warmup := w.r.c.Warmup; warmup < r.End || warmup == 0 {
		u, seqs, running, held := &w.use, step.Seqs, step.Seqs, share(pool)
		u.steps++
		u.tokens += int64(step.Tokens)
		if w.newest.end > r.Start { // it passes several pipeline stages
			running += w.overlapping(r.Start)
		}
		w.newest = passing{r.End, seqs}
		u.peakRunning = max(u.peakRunning, running)
		u.fills(pool.Held, held)
		// Most steps were busy for just what they cost, and count as a whole. A GPU works on a step for its time on one
		// pipeline stage, however long it takes to pass them all.
		if whole && warmup <= r.End-sim.Time(r.Busy) && w.census.present > 0 {
			cost.addTo(&u.busy)
			u.running += float64(seqs) * float64(r.End-r.Start)
			u.held += held * float64(r.Busy)
			u.device += float64(r.Cost.Device)
			u.flops += r.Cost.FLOPs
			u.bytes += r.Cost.Bytes
			u.joules += r.Cost.Joules
		} else {
			w.samplePart(&spell{ran: r, cost: cost, seqs: seqs, held: held})
		}
	}
	switch {
	case step.Seqs > step.Decodes:
		w.mixed(r, cost)
	case whole:
		cost.addTo(&w.sums)
	default:
		cost.addPart(&w.sums, busy)
	}
	w.sums[overhead] += int64(r.End-w.clock) - busy // idle: a request that waits through it waits for the host
	w.clock = r.End
	w.flying = max(w.flying-1, 0)
	if w.stale > 0 {
		w.stale--
		w.recover(r.Plan)
	}
}
