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

func (s *split) add(t *split) {
	s[compute] += t[compute]
	s[weights] += t[weights]
	s[kvRead] += t[kvRead]
	s[network] += t[network]
	s[overhead] += t[overhead]
	s[interference] += t[interference]
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

// A bill is what a step takes on one pipeline stage, in nanoseconds: the device's causes, with the host time that nothing
// hides added to their overhead.
type bill struct {
	by    *hardware.Causes
	host  int64
	total int64
}

func newBill(c *hardware.Cost, hidden time.Duration) bill {
	by, host := &c.By, c.Exposed+max(c.Host-hidden, 0)
	return bill{by: by, host: int64(host), total: int64(by.Compute + by.Weights + by.KVRead + by.Network + by.Overhead + host)}
}

// overhead returns what neither arithmetic, nor memory, nor network explains.
func (b bill) overhead() int64 { return int64(b.by.Overhead) + b.host }

// split returns the bill as a split.
func (b bill) split() (s split) {
	b.addTo(&s)
	return s
}

// addTo adds all of the bill to a split.
func (b bill) addTo(s *split) {
	s[compute] += int64(b.by.Compute)
	s[weights] += int64(b.by.Weights)
	s[kvRead] += int64(b.by.KVRead)
	s[network] += int64(b.by.Network)
	s[overhead] += b.overhead()
}

// addPart adds ns nanoseconds to a split, in the proportions of the bill.
func (b bill) addPart(s *split, ns int64) {
	if ns == b.total {
		b.addTo(s)
		return
	}
	all := b.split()
	part := all.spread(ns)
	s.add(&part)
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
	marks
	lag   time.Duration // that its first token took to the client: of the next ones nothing better is known; valid once emitted
	first waterline     // likewise
	_     int64         // so that a stay fills two lines of a cache
}

// marks say how far a request has come.
type marks struct {
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

// mixed splits the busy time of a step with prefill chunks from the point of view of its decodes, and charges the owners
// of the chunks with what the step took of theirs.
func (w *watch) mixed(r *engine.Ran, cost bill) {
	if step := &r.Plan.Step; step.Seqs == step.Decodes+1 {
		w.chunk(r, cost)
	} else {
		w.chunks(r, cost)
	}
	busy := int64(r.Busy)
	if r.Plan.Step.Decodes == 0 {
		w.sums[interference] += busy
		return
	}
	base, kept := w.priced(&w.rest, r), busy
	if base.total < cost.total {
		kept = portion(busy, base.total, cost.total)
	}
	base.addPart(&w.sums, kept)
	w.sums[interference] += busy - kept
}

// chunk charges the owner of the only chunk of a step, and leaves the step without it in w.rest. The newest admissions stand
// last, so that the search from behind passes few decodes.
func (w *watch) chunk(r *engine.Ran, cost bill) {
	tokens, samples := 0, 0
	work := r.Plan.Work
	for i := len(work) - 1; i >= 0; i-- {
		if c := &work[i]; !c.Decode {
			tokens, samples = int(c.Tokens), sampled(c)
			if st := w.stayOf(c.Seq); st != nil && !st.emitted {
				st.own.charge(r, cost.total, cost)
			}
			break
		}
	}
	w.without(&r.Plan.Step, tokens, samples)
}

// chunks is chunk for a step with several of them: each owner is charged with what the step would have taken without the
// others.
func (w *watch) chunks(r *engine.Ran, cost bill) {
	work, step := r.Plan.Work, &r.Plan.Step
	tokens, samples, first := 0, 0, len(work)
	for left := step.Seqs - step.Decodes; left > 0 && first > 0; {
		first--
		if c := &work[first]; !c.Decode {
			tokens += int(c.Tokens)
			samples += sampled(c)
			left--
		}
	}
	w.without(step, tokens, samples)
	for i := len(work) - 1; i >= first; i-- {
		c := &work[i]
		if c.Decode {
			continue
		}
		if st := w.stayOf(c.Seq); st != nil && !st.emitted {
			w.other = w.rest
			w.other.AddChunk(int(c.Tokens), int(c.Past), c.Samples, w.e.Window)
			st.own.charge(r, cost.total, w.priced(&w.other, r))
		}
	}
}

// sampled returns how many rows of a chunk pass the LM head.
func sampled(c *scheduler.Work) int {
	if c.Samples {
		return 1
	}
	return 0
}

// charge adds a step to a request that computes a part of its prompt in it: total is what the step takes, alone what it
// would take without the prefill tokens of others.
func (p *prompting) charge(r *engine.Ran, total int64, alone bill) {
	span := int64(r.End - max(r.Start, p.end)) // pipelined chunks of one prompt overlap
	p.end = r.End
	kept := span
	if alone.total < total {
		kept = portion(span, alone.total, total)
	}
	burden := alone.overhead()
	if kept != alone.total {
		all := alone.split()
		burden = all.spread(kept)[overhead]
	}
	p.prefill += kept - burden
	p.burdens += burden
	p.interference += span - kept
}

// without leaves in w.rest what remains of a step without its chunks, which have so many tokens and samples. Of the other
// fields of w.rest none is ever set.
func (w *watch) without(s *hardware.Step, tokens, samples int) {
	n, t := s.Decodes, &w.rest
	if n == 0 {
		*t = hardware.Step{}
		return
	}
	t.Tokens, t.Seqs, t.Decodes, t.Sampled = max(s.Tokens-tokens, n), n, n, max(s.Sampled-samples, 0)
	t.KVRead, t.KVShared, t.WindowKVRead = s.KVRead, s.KVShared, s.WindowKVRead
	t.Draft = s.Draft
}

// priced asks the cost model what another step would have taken in the place of r; host time hides behind the device if
// it did in r.
func (w *watch) priced(s *hardware.Step, r *engine.Ran) bill {
	switch {
	case w.filler != nil:
		w.filler.Fill(&w.cost, s)
	case w.e.Cost != nil:
		w.cost = w.e.Cost.Cost(*s)
	default:
		return newBill(&r.Cost, r.Hidden)
	}
	if r.Hidden > 0 {
		return newBill(&w.cost, min(w.cost.Host, w.cost.Device))
	}
	return newBill(&w.cost, 0)
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
