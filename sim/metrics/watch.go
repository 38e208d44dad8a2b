package metrics

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// A watch follows one engine. What every step and every request touch stands together.
type watch struct {
	r *Recorder

	clock  sim.Time // end of the newest step
	sums   split    // where the time until clock went, as a decoding request sees it
	use    usage
	newest passing // step
	flying int     // plans in flight
	stale  int     // steps to come that were in flight when a request lost its memory
	census census
	legs   int // under way: parts of other engines' requests
	tally  tally

	stays []stay  // by Life.Slot
	slots []int32 // Life.Slot by sequence ID

	filler hardware.Filler // Engine.Cost, if it can price in place
	rest   hardware.Step   // scratch of mixed
	cost   hardware.Cost   // scratch of priced

	e        Engine
	requests int                // that have arrived here
	absences []absence          // by Life.Slot; of those with stay.preempted
	spoken   []speech           // by Life.Slot; kept per token only
	other    hardware.Step      // scratch of chunks
	decodes  scheduler.Plan     // scratch of coasted
	passing  []passing          // older steps that the newest may have overlapped with
	late     []lateStep         // steps that ended when nobody was left to wait for them
	before   scheduler.Counters // the scheduler's totals when the warm-up was over
	early    engine.Drafted     // drafts verified before the warm-up was over
}

// hooks are what the engine calls.
func (w *watch) hooks() engine.Hooks {
	h := engine.Hooks{
		Gap: func(gap time.Duration, n int) {
			w.count(n)
			w.r.gaps.add(gap, n)
		},
		Planned: w.planned,
		Ran:     func(r *engine.Ran) { w.take(r, w.pool()) },
		Coasted: w.coasted,
	}
	w.hearRequests(&h)
	if w.r.perToken {
		h.TokenOut = w.token
		h.Gap = func(_ time.Duration, n int) { w.count(n) }
	}
	return h
}

func (w *watch) planned(now sim.Time, p *scheduler.Plan) {
	if len(p.Work)+p.Members > 0 {
		w.flying++
	}
	if now < w.r.c.Warmup {
		w.warmsUp()
	}
}

// warmsUp notes where the totals stand, for what came before the end of the warm-up does not count.
func (w *watch) warmsUp() {
	w.before = w.counters()
	w.keepDrafts()
}

// enter returns room for what is kept of a life that has just come.
func (w *watch) enter(l *engine.Life) *stay {
	for int(l.Slot) >= len(w.stays) {
		w.stays = append(w.stays, stay{})
	}
	return &w.stays[l.Slot]
}

// stay returns what is kept of a life.
func (w *watch) stay(l *engine.Life) *stay { return &w.stays[l.Slot] }

// stayOf returns what is kept of the life that a sequence belongs to, or nil.
func (w *watch) stayOf(s *scheduler.Seq) *stay {
	if s == nil || int(s.ID) >= len(w.slots) || w.slots[s.ID] < 0 {
		return nil
	}
	return &w.stays[w.slots[s.ID]]
}

// hearRequests sets the hooks that requests pass. They are function literals, since a method value costs a second call.
func (w *watch) hearRequests(h *engine.Hooks) {
	h.Arrived = func(now sim.Time, l *engine.Life) {
		st := w.enter(l)
		st.arrived, st.own, st.marks = now, prompting{}, marks{present: true}
		if l.Seq != nil {
			w.file(l)
		}
		w.requests++
		w.census.enter(now)
		if len(w.late) > 0 {
			w.settle()
		}
		w.r.arrive(now, l, w, st)
	}
	h.Admitted = func(now sim.Time, l *engine.Life) {
		if st := w.stay(l); st.present && !st.started {
			st.started = true
			w.r.line.leave(now, st.arrived.Add(w.e.Ingress))
		}
	}
	h.FirstOut = func(now sim.Time, l *engine.Life) {
		st := w.stay(l)
		st.emitted = true
		st.lag = l.First.Sub(now)
		st.first.by, st.first.at = w.sums, l.First
		w.count(1)
	}
	h.Preempted = func(_ sim.Time, l *engine.Life) { w.lose(l) }
	h.Resumed = func(_ sim.Time, l *engine.Life) { w.regain(l) }
	h.Finished = func(now sim.Time, l *engine.Life) {
		st, r := w.stay(l), w.r
		if !st.present {
			return
		}
		st.present = false
		w.census.leave(now, st.arrived)
		if !st.started {
			r.line.leave(now, st.arrived.Add(w.e.Ingress))
		}
		r.lastAnswer = max(r.lastAnswer, l.Outcome.At)
		if r.rows != nil {
			r.rows.close(st.row, l)
		}
		if l.Outcome.Status == workload.Completed && measured(l.Request.Arrival, r.c.Warmup) {
			r.total.Completed++
			w.complete(st, l)
		} else {
			w.drop(now, l)
		}
		if r.ended++; r.ended == r.tells {
			r.tell()
		}
	}
}

// count counts n tokens of the newest step, unless they belong to the warm-up.
func (w *watch) count(n int) {
	if w.clock >= w.tally.until {
		w.turn()
	}
	w.tally.tokens += n
}

// turn begins another second of the tally. All that comes before the end of the warm-up counts as one that is never filed.
func (w *watch) turn() {
	if warmup := w.r.c.Warmup; w.clock < warmup {
		w.tally.until = warmup
		return
	}
	w.tally.begin(w.clock, w.r.origin)
}

// A speech is an answer under way, token by token.
type speech struct {
	newest sim.Time
	gaps   []int64
}

// token keeps the gaps of a request until it is known whether they count.
func (w *watch) token(_ sim.Time, l *engine.Life) {
	for int(l.Slot) >= len(w.spoken) {
		w.spoken = append(w.spoken, speech{})
	}
	s := &w.spoken[l.Slot]
	if l.Emitted > 1 {
		s.gaps = append(s.gaps, int64(l.Last-s.newest))
	} else {
		s.gaps = s.gaps[:0]
	}
	s.newest = l.Last
}

// drop counts out a request of which nothing is measured.
func (w *watch) drop(now sim.Time, l *engine.Life) {
	if l.Outcome.Status == workload.Aborted && lost(now, l) {
		w.r.line.giveUp()
	}
	w.r.drop(l)
	w.r.journeys.finish(l, false)
}

// lost reports whether an aborted request owes it to the queue: it waited there for longer than it was served, if at all.
func lost(now sim.Time, l *engine.Life) bool {
	return !l.Started || l.Scheduled.Sub(l.Queued) > now.Sub(l.Scheduled)
}

// complete measures a request that has all its tokens.
func (w *watch) complete(st *stay, l *engine.Life) {
	q, r := l.Request, w.r
	rec := record{
		ttft: int64(l.First - q.Arrival), e2el: int64(l.Last - q.Arrival), queue: int64(max(l.Scheduled-l.Queued, 0)),
		prompt: q.Tokens, output: l.Emitted,
	}
	if rec.output > 1 {
		rec.tpot = float64(rec.e2el-rec.ttft) / float64(rec.output-1)
		r.stories.addTPOT(st, l, w)
	}
	if j := l.Journey; j != nil {
		rec.queue = queuedTwice(l, j)
		r.stories.addJourney(st, l, r.journeys.finish(l, true))
	} else {
		r.stories.addTTFT(st, l)
	}
	if r.perToken {
		rec.worst = w.poolGaps(l)
	}
	r.crowd.add(q.Arrival-r.origin, l.Last-r.origin)
	r.records.add(&rec)
	r.tokens.add(&rec)
	r.score.score(&rec, r.c.slo(q.Class))
	if r.booked {
		r.finishBooks(l)
		r.completeBooks(&rec, q)
	}
}

// poolGaps pools the gaps between the tokens of a request, and returns the largest.
func (w *watch) poolGaps(l *engine.Life) (worst int64) {
	for _, g := range w.spoken[l.Slot].gaps {
		w.r.gaps.add(time.Duration(g), 1)
		worst = max(worst, g)
	}
	return worst
}
