package metrics

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
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

func (s *split) add(t *split) {
	for i := range s {
		s[i] += t[i]
	}
}

func (s *split) minus(t *split) split {
	d := *s
	for i := range d {
		d[i] -= t[i]
	}
	return d
}

func (s *split) total() int64 {
	return s[compute] + s[weights] + s[kvRead] + s[network] + s[overhead] + s[interference]
}

// price splits what a step takes on one pipeline stage: the device's causes, with the host time that nothing hides under
// overhead.
func price(c *hardware.Cost, hidden time.Duration) split {
	host := c.Exposed + max(c.Host-hidden, 0)
	return split{
		compute: int64(c.By.Compute), weights: int64(c.By.Weights), kvRead: int64(c.By.KVRead), network: int64(c.By.Network),
		overhead: int64(c.By.Overhead + host),
	}
}

// spread splits ns nanoseconds in the proportions of s, to the nanosecond: overhead takes what rounding leaves.
func (s *split) spread(ns int64) split {
	total := s.total()
	if total == ns {
		return *s
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

// A stay is what a recorder keeps of a request while it is in the system. It holds no pointer and nothing that only few
// requests need, for there are as many stays as requests in the system.
type stay struct {
	arrived sim.Time
	row     int // its place among the rows
	own     prompting
	first   waterline     // valid once emitted
	lag     time.Duration // that its first token took to the client: of the next ones nothing better is known

	started, emitted, present bool
	away                      bool // it has lost its memory and has had no token since
	preempted                 bool // it has an absence
}

// prompting is what a request's own steps took until its first token.
type prompting struct {
	end                            sim.Time // of the newest of them
	prefill, interference, burdens int64    // burdens are their overhead
}

// An absence is what a recorder keeps of a request that has lost its memory.
type absence struct {
	lost waterline // at its last token before it lost its memory, the newest time
	gone split     // cumulative times that passed while away …
	span int64     // … and for how long that was
}

// ran advances the engine's cumulative times by one step.
func (w *watch) ran(r *engine.Ran) { w.take(r, w.pool()) }

// take is ran, the pool being in this state as the step ends.
func (w *watch) take(r *engine.Ran, pool kvcache.Usage) {
	step := &r.Plan.Step
	cost := price(&r.Cost, r.Hidden)
	total := cost.total()
	w.sample(r, pool, &cost, total)
	busy := cost
	if chunks := step.Seqs - step.Decodes; chunks > 0 {
		busy = w.mixed(r, &cost, chunks)
	} else if total != int64(r.Busy) {
		busy = cost.spread(int64(r.Busy))
	}
	busy[overhead] += int64(r.End-w.clock) - int64(r.Busy) // idle: a request that waits through it waits for the host
	w.sums.add(&busy)
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
func (w *watch) mixed(r *engine.Ran, cost *split, chunks int) split {
	own := w.chunks(r.Plan, chunks)
	total, busy := cost.total(), int64(r.Busy)
	for _, c := range own {
		st := w.stayOf(c.Seq)
		if st == nil || st.emitted {
			continue
		}
		if chunks == 1 {
			st.own.charge(r, total, cost)
			continue
		}
		w.other = w.rest
		w.other.AddChunk(int(c.Tokens), int(c.Past), c.Samples, w.e.Window)
		alone := w.priced(&w.other, r)
		st.own.charge(r, total, &alone)
	}
	if r.Plan.Step.Decodes == 0 {
		return split{interference: busy}
	}
	base := w.priced(&w.rest, r)
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
func (p *prompting) charge(r *engine.Ran, total int64, alone *split) {
	span := int64(r.End - max(r.Start, p.end)) // pipelined chunks of one prompt overlap
	p.end = r.End
	kept := span
	if t := alone.total(); t < total {
		kept = portion(span, t, total)
	}
	split := alone.spread(kept)
	burden := split[overhead]
	p.prefill += kept - burden
	p.burdens += burden
	p.interference += span - kept
}

// chunks finds the chunks of a plan, and leaves the step without them in w.rest. The newest admissions stand last, so that
// the search from behind passes few decodes.
func (w *watch) chunks(p *scheduler.Plan, n int) []*scheduler.Work {
	own := w.own[:0]
	tokens, sampled := 0, 0
	for i := len(p.Work) - 1; i >= 0 && len(own) < n; i-- {
		if c := &p.Work[i]; !c.Decode {
			tokens += int(c.Tokens)
			if c.Samples {
				sampled++
			}
			own = append(own, c)
		}
	}
	w.own = own
	s := &p.Step
	w.rest = hardware.Step{}
	if n := s.Decodes; n > 0 {
		w.rest = hardware.Step{
			Tokens: max(s.Tokens-tokens, n), Seqs: n, Decodes: n, Sampled: max(s.Sampled-sampled, 0),
			KVRead: s.KVRead, KVShared: s.KVShared, WindowKVRead: s.WindowKVRead, Draft: s.Draft,
		}
	}
	return own
}

// priced asks the cost model what another step would have taken in the place of r; host time hides behind the device if
// it did in r.
func (w *watch) priced(s *hardware.Step, r *engine.Ran) split {
	switch {
	case w.filler != nil:
		w.filler.Fill(&w.cost, s)
	case w.e.Cost != nil:
		w.cost = w.e.Cost.Cost(*s)
	default:
		return price(&r.Cost, r.Hidden)
	}
	if r.Hidden > 0 {
		return price(&w.cost, min(w.cost.Host, w.cost.Device))
	}
	return price(&w.cost, 0)
}

// lose marks that a request has lost its memory. A token that is still in flight then moves the mark: see recover.
func (w *watch) lose(l *engine.Life) {
	st := w.stay(l)
	if !st.emitted || st.away {
		return
	}
	for int(l.Slot) >= len(w.absences) {
		w.absences = append(w.absences, absence{})
	}
	a := &w.absences[l.Slot]
	if !st.preempted {
		*a = absence{}
	}
	a.lost = waterline{by: w.sums, at: l.Last}
	st.away, st.preempted = true, true
	w.stale = max(w.stale, w.flying)
}

// recover moves the marks of requests that get a token from a step that was in flight when they lost their memory.
func (w *watch) recover(p *scheduler.Plan) {
	for i := range p.Work {
		if c := &p.Work[i]; c.Samples {
			if st := w.stayOf(c.Seq); st != nil && st.away {
				w.absences[w.slots[c.Seq.ID]].lost = waterline{by: w.sums, at: w.clock.Add(st.lag)}
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
	a := &w.absences[l.Slot]
	passed := w.sums.minus(&a.lost.by)
	a.gone.add(&passed)
	a.span += max(int64(l.Last-a.lost.at), 0)
}
