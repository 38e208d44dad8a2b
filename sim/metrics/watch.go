package metrics

import (
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// A watch follows one engine.
type watch struct {
	r *Recorder
	e Engine

	stays []stay  // by Life.Slot
	slots []int32 // Life.Slot by sequence ID

	clock sim.Time // end of the newest step
	sums  split    // where the time until clock went, as a decoding request sees it
	own   []*scheduler.Work

	flying int // plans in flight
	stale  int // steps to come that were in flight when a request lost its memory

	use    usage
	tally  tally
	census census
}

// hooks are what the engine calls.
func (w *watch) hooks() engine.Hooks {
	h := engine.Hooks{
		Arrived: w.arrived, Admitted: w.admitted, Finished: w.finished,
		FirstOut: w.firstOut, Gap: w.gap,
		Preempted: func(_ sim.Time, l *engine.Life) { w.lose(l) },
		Resumed:   func(_ sim.Time, l *engine.Life) { w.regain(l) },
		Planned: func(_ sim.Time, p *scheduler.Plan) {
			if !p.Empty() {
				w.flying++
			}
		},
		Ran: w.ran,
	}
	if w.r.perToken {
		h.TokenOut = w.token
	}
	return h
}

// stay returns what is kept of a life.
func (w *watch) stay(l *engine.Life) *stay {
	for int(l.Slot) >= len(w.stays) {
		w.stays = append(w.stays, stay{})
	}
	return &w.stays[l.Slot]
}

// stayOf returns what is kept of the life that a sequence belongs to, or nil.
func (w *watch) stayOf(s *scheduler.Seq) *stay {
	if s == nil || int(s.ID) >= len(w.slots) || w.slots[s.ID] < 0 {
		return nil
	}
	return &w.stays[w.slots[s.ID]]
}

func (w *watch) arrived(now sim.Time, l *engine.Life) {
	st := w.stay(l)
	*st = stay{arrived: now, present: true, gaps: st.gaps[:0], row: w.r.arrive(now, l)}
	if l.Seq != nil {
		for int(l.Seq.ID) >= len(w.slots) {
			w.slots = append(w.slots, -1)
		}
		w.slots[l.Seq.ID] = l.Slot
	}
	w.census.enter(now)
}

func (w *watch) admitted(now sim.Time, l *engine.Life) {
	if st := w.stay(l); st.present && !st.started {
		st.started = true
		w.r.line.leave(now)
	}
}

func (w *watch) firstOut(_ sim.Time, l *engine.Life) {
	st := w.stay(l)
	st.emitted = true
	st.first = waterline{by: w.sums, at: l.First}
	w.tally.add(w.clock, w.r.origin, 1)
}

func (w *watch) gap(gap time.Duration, n int) {
	w.tally.add(w.clock, w.r.origin, n)
	if !w.r.perToken {
		w.r.gaps.add(gap, n)
	}
}

// token keeps the gaps of a request until it is known whether they count.
func (w *watch) token(_ sim.Time, l *engine.Life) {
	st := w.stay(l)
	if l.Emitted > 1 {
		st.gaps = append(st.gaps, int64(l.Last-st.newest))
	}
	st.newest = l.Last
}

func (w *watch) finished(now sim.Time, l *engine.Life) {
	st := w.stay(l)
	if !st.present {
		return
	}
	st.present = false
	if !st.started {
		w.r.line.leave(now)
	}
	w.census.leave(now, st.arrived)
	w.r.finish(l, st.row)
	if l.Outcome.Status == workload.Completed && measured(l.Request.Arrival, w.r.c.Warmup) {
		w.complete(st, l)
	}
}

// complete measures a request that has all its tokens.
func (w *watch) complete(st *stay, l *engine.Life) {
	rec := newRecord(l)
	for _, g := range st.gaps {
		w.r.gaps.add(time.Duration(g), 1)
		rec.worst = max(rec.worst, g)
	}
	w.r.complete(rec)
	w.r.stories.finish(st, l, w.sums)
}
