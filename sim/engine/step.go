package engine

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// A flight is a planned batch in the pipeline. An empty plan takes a place, but no time.
type flight struct {
	plan       *scheduler.Plan
	cost       hardware.Cost
	start, end sim.Time
	number     int64 // counts plans from 1
}

// patience is how many steps the loop lives through by itself before it lets the kernel look around.
const patience = 1024

// loop is the engine: fill the pipeline, let the oldest batch run, deliver its tokens, again. As long as nothing else
// happens before the batch ends it steps on by itself; otherwise it leaves an event for the end of the batch.
func (e *Engine) loop() {
	e.asleep, e.alarmAt = false, sim.Never
	for range patience {
		if e.err != nil {
			return
		}
		if !e.fill(e.kernel.Now()) {
			e.sleep()
			return
		}
		end := e.flying[0].end
		if end >= e.kernel.Next() {
			e.kernel.At(end, sim.Finish, e.landing)
			return
		}
		e.kernel.Advance(end)
		e.complete()
		if e.yields() {
			return
		}
	}
	e.kernel.At(e.kernel.Now(), sim.Decide, e.looping)
}

// land is the event at the end of the oldest batch.
func (e *Engine) land() {
	e.complete()
	if !e.yields() {
		e.loop()
	}
}

// yields lets whatever else happens at this instant go first — a client that sends its next request the moment it has
// its answer — and reports whether anything does.
func (e *Engine) yields() bool {
	now := e.kernel.Now()
	if e.kernel.Next() > now {
		return false
	}
	e.kernel.At(now, sim.Decide, e.looping)
	return true
}

// fill drains the input queue and plans until the pipeline is full. It reports whether a batch is in flight at its
// head; if not, there is nothing to do before the next event.
func (e *Engine) fill(now sim.Time) bool {
	e.drain(now)
	fruitless := 0
	for e.active > 0 {
		if len(e.flying) < e.c.InFlight {
			if e.plan(now) {
				fruitless = 0
			} else if fruitless++; fruitless > e.c.InFlight+e.c.Stages && !e.busy() {
				break // an idle scheduler that goes on saying "nothing" waits for an event
			}
			continue
		}
		if !e.flying[0].plan.Empty() {
			return true
		}
		e.shift()
	}
	for len(e.flying) > 0 && e.flying[0].plan.Empty() {
		e.shift()
	}
	return len(e.flying) > 0
}

// busy reports whether any batch with work is in flight.
func (e *Engine) busy() bool {
	for i := range e.flying {
		if !e.flying[i].plan.Empty() {
			return true
		}
	}
	return false
}

// drain moves what has arrived into the scheduler's queue and takes out what clients have given up.
func (e *Engine) drain(now sim.Time) {
	n := 0
	for n < len(e.inbox) && e.inbox[n].Queued <= now {
		if l := e.inbox[n]; !l.ended {
			l.queued = true
			e.active++
			e.c.Scheduler.Add(&l.seq)
		}
		n++
	}
	if n > 0 {
		e.inbox = e.inbox[:copy(e.inbox, e.inbox[n:])]
	}
	if len(e.aborts) == 0 {
		return
	}
	kept := e.aborts[:0]
	for _, l := range e.aborts {
		if l.queued || l.Queued <= now {
			e.drop(l)
		} else {
			kept = append(kept, l) // still on its way in; the inbox names it
		}
	}
	e.aborts = kept
}

// plan asks the scheduler for the next batch, puts it in the pipeline and reports whether it holds work.
func (e *Engine) plan(now sim.Time) bool {
	p := e.c.Scheduler.Plan(now)
	e.planned++
	e.wake = p.Wake
	if h := e.c.Hooks.Planned; h != nil {
		h(now, p)
	}
	for _, s := range p.Preempted {
		l := e.lives[s.ID]
		if h := e.c.Hooks.Preempted; h != nil {
			h(now, &l.Life)
		}
		l.lost = e.planned
	}
	for _, s := range p.Admitted {
		l := e.lives[s.ID]
		if l.Started {
			continue
		}
		l.Started, l.Scheduled = true, now
		if h := e.c.Hooks.Admitted; h != nil {
			h(now, &l.Life)
		}
	}
	f := flight{plan: p, number: e.planned}
	if !p.Empty() {
		f.cost = e.c.Cost.Cost(p.Step)
		f.start, f.end = e.pass(now, f.cost)
	}
	e.flying = append(e.flying, f)
	return !p.Empty()
}

// pass sends a batch through the pipeline stages, each of which it may enter once its predecessor has left, and
// returns when it enters the first and leaves the last. Host time is spent before the first stage.
func (e *Engine) pass(now sim.Time, c hardware.Cost) (start, end sim.Time) {
	first := c.Exposed + c.Device + c.Host
	if e.c.Async {
		first = c.Exposed + max(c.Device, c.Host)
	}
	start = max(now, e.stages[0])
	end = start.Add(max(first, 1))
	e.stages[0] = end
	for s := 1; s < len(e.stages); s++ {
		end = max(end.Add(c.Hop), e.stages[s]).Add(c.Device)
		e.stages[s] = end
	}
	return start, end
}

// shift takes the oldest batch out of the pipeline and reports it done.
func (e *Engine) shift() flight {
	f := e.flying[0]
	e.flying = e.flying[:copy(e.flying, e.flying[1:])]
	e.c.Scheduler.Done(f.plan, e.kernel.Now())
	e.reap()
	return f
}

// complete ends the oldest batch: observers see the step, then its tokens go out.
func (e *Engine) complete() {
	f := &e.flying[0]
	e.counts.Steps++
	if h := e.c.Hooks.Ran; h != nil {
		h(e.ran(f))
	}
	e.lastEnd = f.end
	done := e.shift()
	e.deliver(done)
	if e.c.Check {
		e.verify(done)
	}
}

func (e *Engine) ran(f *flight) Ran {
	var hidden time.Duration
	if e.c.Async {
		hidden = min(f.cost.Host, f.cost.Device)
	}
	return Ran{
		Start: f.start, End: f.end, Busy: f.end.Sub(max(f.start, e.lastEnd)),
		Plan: f.plan, Cost: f.cost, Hidden: hidden,
	}
}

// deliver hands out the step's tokens in batch order and ends the answers that are complete.
func (e *Engine) deliver(f flight) {
	var gap time.Duration
	same := 0 // consecutive tokens with that gap
	work := f.plan.Work
	for i := range work {
		if !work[i].Samples {
			continue
		}
		l := e.lives[work[i].Seq.ID]
		if l.ended {
			continue // it ended a step ago; an asynchronous engine learns too late
		}
		if l.Emitted == 0 {
			l.lag = time.Duration(len(work)) * e.c.Frontend.PerStream
		}
		at := f.end.Add(l.lag)
		if l.Emitted > 0 {
			if g := at.Sub(l.Last); g != gap {
				e.gaps(gap, same)
				gap, same = g, 0
			}
			same++
		}
		e.emit(l, at, f.number)
	}
	e.gaps(gap, same)
}

func (e *Engine) gaps(gap time.Duration, n int) {
	if h := e.c.Hooks.Gap; h != nil && n > 0 {
		h(gap, n)
	}
}

// emit delivers one token, which reaches the client at instant at.
func (e *Engine) emit(l *life, at sim.Time, number int64) {
	l.Emitted++
	l.Last = at
	now := e.kernel.Now()
	if l.Emitted == 1 {
		l.First = at
		if h := e.c.Hooks.FirstOut; h != nil {
			h(now, &l.Life)
		}
	} else if l.lost > 0 && number > l.lost {
		if h := e.c.Hooks.Resumed; h != nil {
			h(now, &l.Life)
		}
	}
	if number > l.lost {
		l.lost = 0
	}
	if h := e.c.Hooks.TokenOut; h != nil {
		h(now, &l.Life)
	}
	if l.Emitted == l.want {
		e.end(l, workload.Outcome{Status: workload.Completed, At: at})
		e.drop(l)
	}
}

// sleep waits for an arrival, or for the instant at which the scheduler wants to be asked again.
func (e *Engine) sleep() {
	e.asleep = true
	if len(e.inbox) > 0 {
		e.wakeAt(e.inbox[0].Queued)
	}
	if e.active == 0 {
		return
	}
	if e.wake > e.kernel.Now() {
		e.wakeAt(e.wake)
		return
	}
	e.fail("work conservation", "the device is idle, %d requests are in the scheduler, and it plans nothing", e.active)
}
