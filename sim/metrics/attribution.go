package metrics

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// The causes of a span of time. The first five are those of a step's cost; interference is what other requests' prefill
// tokens added to it.
const (
	compute = iota
	weights
	kvRead
	network
	overhead
	interference
	causes
)

// A split is a span of time by cause, in nanoseconds.
type split [causes]int64

func (s *split) add(t split) {
	for i, v := range t {
		s[i] += v
	}
}

func (s split) minus(t split) split {
	for i, v := range t {
		s[i] -= v
	}
	return s
}

func (s split) total() int64 {
	var sum int64
	for _, v := range s {
		sum += v
	}
	return sum
}

// price splits what a step takes on one pipeline stage: the device's causes, with the host time that nothing hides under
// overhead.
func price(c hardware.Cost, hidden time.Duration) split {
	host := c.Exposed + max(c.Host-hidden, 0)
	return split{
		compute: int64(c.By.Compute), weights: int64(c.By.Weights), kvRead: int64(c.By.KVRead), network: int64(c.By.Network),
		overhead: int64(c.By.Overhead + host),
	}
}

// spread splits ns nanoseconds in the proportions of s, to the nanosecond: overhead takes what rounding leaves.
func (s split) spread(ns int64) split {
	total := s.total()
	if total == ns {
		return s
	}
	out := split{overhead: ns}
	if total == 0 {
		return out
	}
	for i, v := range s {
		if i != overhead {
			out[i] = portion(ns, v, total)
			out[overhead] -= out[i]
		}
	}
	return out
}

// portion returns ns·part/whole, where part ≤ whole.
func portion(ns, part, whole int64) int64 {
	if part == whole {
		return ns
	}
	return int64(float64(ns) * float64(part) / float64(whole))
}

// A waterline is how far an engine's cumulative times stood at an instant.
type waterline struct {
	by split
	at sim.Time // of the token that the line was taken for
}

// A stay is what a recorder keeps of a request while it is in the system.
type stay struct {
	arrived sim.Time
	row     int // its place among the rows

	ownEnd                         sim.Time // end of the newest step that computed a part of its prompt
	prefill, interference, burdens int64    // its own steps until the first token; burdens are their overhead

	first   waterline
	lost    waterline // at its last token before it lost its memory
	away    bool      // it has lost its memory and has had no token since
	gone    split     // cumulative times that passed while away …
	absent  int64     // … and for how long that was
	started bool
	emitted bool
	present bool

	newest sim.Time // its newest token, and all gaps so far: kept per token only
	gaps   []int64
}

// ran advances the engine's cumulative times by one step.
func (w *watch) ran(r *engine.Ran) {
	step := &r.Plan.Step
	cost := price(r.Cost, r.Hidden)
	total := cost.total()
	w.sample(r, &cost)
	busy := cost
	if chunks := step.Seqs - step.Decodes; chunks > 0 {
		busy = w.mixed(r, cost, chunks)
	} else if total != int64(r.Busy) {
		busy = cost.spread(int64(r.Busy))
	}
	busy[overhead] += int64(r.End-w.clock) - int64(r.Busy) // idle: a request that waits through it waits for the host
	w.sums.add(busy)
	w.clock = r.End
	if w.flying > 0 {
		w.flying--
	}
	if w.stale > 0 {
		w.stale--
		w.recover(r.Plan)
	}
}

// mixed splits the busy time of a step with prefill chunks from the point of view of its decodes, and charges the owners
// of the chunks with what the step took of theirs.
func (w *watch) mixed(r *engine.Ran, cost split, chunks int) split {
	decodes, own := w.chunks(r.Plan, chunks)
	for _, c := range own {
		st := w.stayOf(c.Seq)
		if st == nil || st.emitted {
			continue
		}
		alone := cost
		if chunks > 1 {
			alone = w.priced(with(decodes, c, w.e.Window), r)
		}
		st.charge(r, cost.total(), alone)
	}
	total, busy := cost.total(), int64(r.Busy)
	if step := &r.Plan.Step; step.Decodes == 0 {
		return split{interference: busy}
	}
	base := w.priced(decodes, r)
	if base.total() >= total {
		return base.spread(busy)
	}
	kept := portion(busy, base.total(), total)
	out := base.spread(kept)
	out[interference] = busy - kept
	return out
}

// charge adds a step to a request that computes a part of its prompt in it: total is what the step takes, alone what it
// would take without the prefill tokens of others.
func (st *stay) charge(r *engine.Ran, total int64, alone split) {
	span := int64(r.End - max(r.Start, st.ownEnd)) // pipelined chunks of one prompt overlap
	st.ownEnd = r.End
	kept := span
	if t := alone.total(); t < total {
		kept = portion(span, t, total)
	}
	burden := alone.spread(kept)[overhead]
	st.prefill += kept - burden
	st.burdens += burden
	st.interference += span - kept
}

// chunks finds the chunks of a plan and returns the step without them. The newest admissions stand last, so that the
// search from behind passes few decodes.
func (w *watch) chunks(p *scheduler.Plan, n int) (decodes hardware.Step, own []*scheduler.Work) {
	own = w.own[:0]
	var sum hardware.Step
	for i := len(p.Work) - 1; i >= 0 && len(own) < n; i-- {
		if c := &p.Work[i]; !c.Decode {
			sum.AddChunk(int(c.Tokens), int(c.Past), c.Samples, w.e.Window)
			own = append(own, c)
		}
	}
	w.own = own
	if p.Step.Decodes == 0 {
		return hardware.Step{}, own
	}
	return without(p.Step, sum), own
}

// without returns the step s less the chunks summed up in c.
func without(s, c hardware.Step) hardware.Step {
	s.Tokens = max(s.Tokens-c.Tokens, s.Decodes)
	s.Seqs = s.Decodes
	s.Sampled = max(s.Sampled-c.Sampled, 0)
	s.AttnPairs, s.PrefillKV, s.ChunkRows = 0, 0, 0
	s.WindowPairs, s.WindowPrefillKV = 0, 0
	return s
}

// with returns the step s and one chunk more.
func with(s hardware.Step, c *scheduler.Work, w hardware.Window) hardware.Step {
	s.AddChunk(int(c.Tokens), int(c.Past), c.Samples, w)
	return s
}

// priced asks the cost model what another step would have taken in the place of r; host time hides behind the device if
// it did in r.
func (w *watch) priced(s hardware.Step, r *engine.Ran) split {
	if w.e.Cost == nil {
		return price(r.Cost, r.Hidden)
	}
	c := w.e.Cost.Cost(s)
	if r.Hidden > 0 {
		return price(c, min(c.Host, c.Device))
	}
	return price(c, 0)
}

// lose marks that a request has lost its memory. A token that is still in flight then moves the mark: see recover.
func (w *watch) lose(l *engine.Life) {
	st := w.stay(l)
	if !st.emitted || st.away {
		return
	}
	st.away = true
	st.lost = waterline{by: w.sums, at: l.Last}
	w.stale = max(w.stale, w.flying)
}

// recover moves the marks of requests that get a token from a step that was in flight when they lost their memory.
func (w *watch) recover(p *scheduler.Plan) {
	for i := range p.Work {
		if c := &p.Work[i]; c.Samples {
			if st := w.stayOf(c.Seq); st != nil && st.away {
				lag := st.first.at - st.firstEnd()
				st.lost = waterline{by: w.sums, at: w.clock + lag}
			}
		}
	}
}

// firstEnd is the end of the step that made the first token: cumulative times add up to the engine's clock.
func (st *stay) firstEnd() sim.Time { return sim.Time(st.first.by.total()) }

// regain ends the absence of a request whose first token after it has just come.
func (w *watch) regain(l *engine.Life) {
	st := w.stay(l)
	if !st.away {
		return
	}
	st.away = false
	st.gone.add(w.sums.minus(st.lost.by))
	st.absent += int64(l.Last - st.lost.at)
}
