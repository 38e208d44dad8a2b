package engine

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// A flight is a planned batch in the pipeline. An empty one takes a place, but no time.
type flight struct {
	plan       *scheduler.Plan // nil: the scheduler found nothing to do
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
		if e.flying[0].plan != nil {
			return true
		}
		e.shift()
	}
	for len(e.flying) > 0 && e.flying[0].plan == nil {
		e.shift()
	}
	return len(e.flying) > 0
}

// busy reports whether any batch with work is in flight.
func (e *Engine) busy() bool {
	for i := range e.flying {
		if e.flying[i].plan != nil {
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
	e.aborts, e.ghosts = kept, 0
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
		e.catchUp(l)
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
	f := flight{number: e.planned}
	if !p.Empty() {
		f.plan, f.cost = p, e.price(p.Step)
		f.start, f.end = e.pass(e.inputsReady(p, now), f.cost)
		e.claimOutputs(p, f.end)
	}
	e.flying = append(e.flying, f)
	return f.plan != nil
}

// price returns what a step costs.
func (e *Engine) price(s hardware.Step) hardware.Cost {
	if e.c.Shared != nil {
		s.KVShared = min(e.c.Shared(), s.KVRead)
	}
	return e.c.Cost.Cost(s)
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

// inputsReady returns the instant, now or later, at which the last stage has sampled every token that the plan feeds to
// the first. With one stage that is whenever the stage is free.
func (e *Engine) inputsReady(p *scheduler.Plan, now sim.Time) sim.Time {
	if len(e.stages) > 1 {
		for i := range p.Work {
			now = max(now, e.lives[p.Work[i].Seq.ID].ready)
		}
	}
	return now
}

// claimOutputs notes when the tokens that the plan samples will be known.
func (e *Engine) claimOutputs(p *scheduler.Plan, end sim.Time) {
	if len(e.stages) > 1 {
		for i := range p.Work {
			if w := &p.Work[i]; w.Samples {
				e.lives[w.Seq.ID].ready = end
			}
		}
	}
}

// shift takes the oldest batch out of the pipeline and reports it done.
func (e *Engine) shift() flight {
	f := e.flying[0]
	e.flying = e.flying[:copy(e.flying, e.flying[1:])]
	if f.plan != nil {
		e.c.Scheduler.Done(f.plan, e.kernel.Now())
	}
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
	done := e.shift()
	e.deliver(done)
	e.lastEnd, e.beat = done.end, done.plan.Beat
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
