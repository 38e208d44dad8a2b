package metrics

import (
	"slices"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// usage adds up what one engine's GPUs and KV pool did, step by step. It begins at the end of the warm-up.
type usage struct {
	steps, tokens int64
	peakRunning   int
	peakHeld      int

	busy                 split   // of one GPU, in nanoseconds
	running              float64 // sequence-nanoseconds
	held                 float64 // share of the pool × nanoseconds
	peak                 float64 // share of the pool
	device               float64 // nanoseconds that one GPU spent on steps, the host's apart
	flops, bytes, joules float64 // of one GPU
}

// A spell is a step as far as usage is concerned.
type spell struct {
	ran  *engine.Ran
	cost bill
	seqs int
	held float64 // share of the pool
}

// A lateStep is a spell that outlives its step.
type lateStep struct {
	ran  engine.Ran
	seqs int
	held float64
}

func (l *lateStep) spell() spell {
	return spell{ran: &l.ran, cost: newBill(&l.ran.Cost, l.ran.Hidden), seqs: l.seqs, held: l.held}
}

// samplePart takes in a step of which perhaps not all counts. When nobody is left, whether it is measured is known at the next
// arrival, or at the end.
func (w *watch) samplePart(s *spell) {
	if w.census.present+w.legs == 0 {
		w.late = append(w.late, lateStep{ran: *s.ran, seqs: s.seqs, held: s.held})
		return
	}
	w.use.take(s, s.within(w.r.c.Warmup, sim.Never))
}

// pool returns the state of the engine's KV pool; without one it is empty.
func (w *watch) pool() kvcache.Usage {
	if w.e.Usage == nil {
		return kvcache.Usage{}
	}
	return w.e.Usage()
}

// share returns which part of a pool sequences hold.
func share(k kvcache.Usage) float64 { return ratio(float64(k.Held), float64(k.Total)) }

// overlapping returns the sequences in the steps that were still under way at an instant.
func (w *watch) overlapping(start sim.Time) (seqs int) {
	w.passing = slices.DeleteFunc(append(w.passing, w.newest), func(p passing) bool { return p.end <= start })
	for _, p := range w.passing {
		seqs += p.seqs
	}
	return seqs
}

// A passing is a step that later ones may overlap with.
type passing struct {
	end  sim.Time
	seqs int
}

// settle counts the steps that ended when nobody was left: the run goes on.
func (w *watch) settle() {
	if len(w.late) == 0 {
		return
	}
	w.sumLate(&w.use, sim.Never)
	w.late = w.late[:0]
}

// within returns the share of a step's busy time that lies between two instants.
func (s *spell) within(from, to sim.Time) float64 {
	end := s.ran.End
	start := end.Add(-s.ran.Busy)
	if from <= start && end <= to {
		return 1
	}
	return ratio(float64(max(min(end, to)-max(start, from), 0)), float64(end-start))
}

// fills notes that sequences hold so many blocks, and so large a share, of a pool that never changes its size.
func (u *usage) fills(blocks int, held float64) {
	if blocks > u.peakHeld {
		u.peakHeld, u.peak = blocks, held
	}
}

// take adds a part of a step to the sums over time.
func (u *usage) take(s *spell, part float64) {
	r := s.ran
	busy := float64(r.Busy) * part
	if busy < float64(s.cost.total) {
		s.cost.addPart(&u.busy, int64(busy))
	} else {
		s.cost.addTo(&u.busy)
	}
	u.running += float64(s.seqs) * float64(r.End-r.Start) * part
	u.held += s.held * busy
	u.device += float64(r.Cost.Device) * part
	u.flops += r.Cost.FLOPs * part
	u.bytes += r.Cost.Bytes * part
	u.joules += r.Cost.Joules * part
}

// A used engine is one whose usage has been summed up at the end of the run.
type used struct {
	*watch
	use    usage
	window float64 // nanoseconds that it was there, after the warm-up
}

// used sums up what lies before end.
func (w *watch) used(end sim.Time) used {
	from, to := w.r.c.Warmup, end
	if w.e.Up != nil {
		since, until := w.e.Up()
		from, to = max(from, since), min(to, until)
	}
	return used{w, w.sum(end), float64(max(to-from, 0))}
}

// sum adds up what lies before end.
func (w *watch) sum(end sim.Time) usage {
	u := w.use
	w.sumLate(&u, end)
	return u
}

// sumLate adds to u what lies before end of the steps that ended when nobody was left.
func (w *watch) sumLate(u *usage, end sim.Time) {
	for i := range w.late {
		s := w.late[i].spell()
		u.take(&s, s.within(w.r.c.Warmup, end))
	}
}

// counters returns the scheduler's totals, if the engine has any to offer.
func (w *watch) counters() scheduler.Counters {
	if w.e.Counters == nil {
		return scheduler.Counters{}
	}
	return w.e.Counters()
}

// engineUse describes all engines; averages are over them.
func engineUse(ws []used) EngineUse {
	var out EngineUse
	var tokens int64
	var window, running, held float64
	for _, w := range ws {
		c := w.counters()
		out.Steps += w.use.steps
		out.Preemptions += c.Preemptions - w.before.Preemptions
		out.RecomputedTokens += c.RecomputedTokens - w.before.RecomputedTokens
		out.PrefixCache.QueriedTokens += c.PrefixQueries - w.before.PrefixQueries
		out.PrefixCache.HitTokens += c.PrefixHits - w.before.PrefixHits
		out.offload(&c, w.e.BlockBytes*int64(w.e.GPUs))
		tokens += w.use.tokens
		window += w.window
		running += w.use.running
		held += w.use.held
		out.Batch.PeakRunning = max(out.Batch.PeakRunning, w.use.peakRunning)
		out.KV.PeakUsage = max(out.KV.PeakUsage, w.use.peak)
	}
	out.Batch.MeanRunning, out.KV.MeanUsage = ratio(running, window), ratio(held, window)
	out.Batch.MeanStepTokens = ratio(float64(tokens), float64(out.Steps))
	if len(ws) > 0 {
		e := ws[0].e
		out.KV.Blocks, out.KV.BlockSize, out.KV.BytesPerToken = e.Blocks, e.BlockSize, e.BytesPerToken
	}
	return out
}

// offload adds what an engine moved between its GPUs and the host, in blocks of so many bytes.
func (u *EngineUse) offload(c *scheduler.Counters, blockBytes int64) {
	if c.HostQueries+c.LoadedBlocks+c.StoredBlocks > 0 {
		if u.KVOffload == nil {
			u.KVOffload = new(KVOffload)
		}
		u.KVOffload.QueriedTokens += c.HostQueries
		u.KVOffload.HitTokens += c.HostHits
		u.KVOffload.LoadedBytes += c.LoadedBlocks * blockBytes
		u.KVOffload.StoredBytes += c.StoredBlocks * blockBytes
		u.KVOffload.FarHitTokens += c.FarHits
		u.KVOffload.FarLoadedBytes += c.FarLoaded * blockBytes
		u.KVOffload.FarStoredBytes += c.FarStored * blockBytes
	}
	if c.SwappedOut+c.SwapsRefused > 0 {
		if u.Swap == nil {
			u.Swap = new(Swap)
		}
		u.Swap.OutBytes += c.SwappedOut * blockBytes
		u.Swap.InBytes += c.SwappedIn * blockBytes
		u.Swap.Refused += c.SwapsRefused
	}
}

// gpuUse describes all GPUs over so many seconds.
func gpuUse(ws []used, seconds float64, output int64) GPU {
	var g GPU
	var busy, flops, bytes, peakFLOPs, peakBytes, present float64
	for _, w := range ws {
		n, here := float64(w.e.GPUs), w.window/1e9
		present += n * here
		busy += n * float64(w.use.busy.total())
		flops += n * w.use.flops
		bytes += n * w.use.bytes
		peakFLOPs += n * w.e.PeakFLOPs * here
		peakBytes += n * w.e.PeakBandwidth * here
		g.EnergyJ += n * (w.use.joules + w.e.IdleWatts*max(0, here-w.use.device/1e9))
		g.MemoryPeakBytes = max(g.MemoryPeakBytes, w.e.WeightBytes+int64(w.use.peakHeld)*w.e.BlockBytes)
	}
	g.Busy = ratio(busy, present*1e9)
	g.Count = mostGPUs(ws)
	g.MFU, g.MBU = ratio(flops, peakFLOPs), ratio(bytes, peakBytes)
	g.MeanPowerW = ratio(g.EnergyJ, seconds)
	g.OutputTokensPerJoule = ratio(float64(output), g.EnergyJ)
	// A watt is a joule per second, so both come to the same number; people ask for either.
	g.OutputTokensPerSPerWatt = g.OutputTokensPerJoule
	return g
}

// wallTime splits the time of all GPUs, as long as they were there; what no step took was idle.
func wallTime(ws []used) WallShares {
	var sum [causes]float64
	var total float64
	for _, w := range ws {
		n := float64(w.e.GPUs)
		total += n * w.window
		for i, v := range w.use.busy {
			sum[i] += n * float64(v)
		}
	}
	if total == 0 {
		return WallShares{Idle: 1}
	}
	s := WallShares{
		Compute: sum[compute] / total, Weights: sum[weights] / total, KVRead: sum[kvRead] / total,
		Network: sum[network] / total, Overhead: sum[overhead] / total,
	}
	s.Idle = max(0, 1-(s.Compute+s.Weights+s.KVRead+s.Network+s.Overhead))
	return s
}
