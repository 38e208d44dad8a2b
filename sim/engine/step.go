package engine

import (
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

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
		if e.coaster != nil && len(e.flying.at(0).Plan.Work) == 0 {
			e.coast()
		}
		end := e.flying.at(0).End
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
		if e.flying.n < e.c.InFlight {
			if e.plan(now) {
				fruitless = 0
			} else if fruitless++; fruitless > e.c.InFlight+e.c.Stages && !e.flying.busy() {
				break // an idle scheduler that goes on saying "nothing" waits for an event
			}
			continue
		}
		if e.flying.at(0).Plan != nil {
			return true
		}
		e.shift()
	}
	for e.flying.n > 0 && e.flying.at(0).Plan == nil {
		e.shift()
	}
	return e.flying.n > 0
}

// drain moves what has arrived into the scheduler's queue and takes out what clients have given up.
func (e *Engine) drain(now sim.Time) {
	if len(e.loads) > 0 {
		e.finishLoads(now)
	}
	if len(e.released)+len(e.strays) > 0 {
		e.takeIn(now)
	}
	if len(e.inbox) > 0 && e.inbox[0].Queued <= now {
		e.empty(now)
	}
	if len(e.aborts) > 0 {
		e.dropAborted(now)
	}
}

// empty puts in the scheduler's queue what has come into the inbox.
func (e *Engine) empty(now sim.Time) {
	n := 0
	for n < len(e.inbox) && e.inbox[n].Queued <= now {
		if l := e.inbox[n]; !l.ended {
			l.queued = true
			e.active++
			e.c.Scheduler.Add(&l.seq)
		}
		n++
	}
	e.inbox = e.inbox[:copy(e.inbox, e.inbox[n:])]
}

// dropAborted takes out of the scheduler what clients have given up.
func (e *Engine) dropAborted(now sim.Time) {
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
	if len(p.Preempted) > 0 {
		e.preempted(p, now)
	}
	for _, s := range p.Admitted {
		if l := e.lives[s.ID]; !l.Started {
			l.Started, l.Scheduled = true, now
			if h := e.hooks(l).Admitted; h != nil {
				h(now, &l.Life)
			}
		}
	}
	if len(p.Loads) > 0 {
		e.startLoads(p, now)
	}
	f := e.flying.enter()
	if p.Empty() {
		f.Plan = nil
		return false
	}
	f.Plan = p
	if len(p.Ranks) > 0 {
		e.priceRanks(&f.Cost, p.Ranks)
	} else {
		e.price(&f.Cost, &p.Step, e.shared())
	}
	if len(p.Loads)+p.Stored+p.SwappedOut+p.SwappedIn > 0 {
		e.c.Host.charge(&f.Cost, p)
	}
	e.send(f, now)
	if e.c.Began != nil && p.Step.ChunkRows > 0 {
		e.c.Began(f.Start, f.End, p)
	}
	return true
}

// preempted notes who has lost its memory.
func (e *Engine) preempted(p *scheduler.Plan, now sim.Time) {
	for _, s := range p.Preempted {
		l := e.lives[s.ID]
		e.catchUp(l)
		if h := e.hooks(l).Preempted; h != nil {
			h(now, &l.Life)
		}
		l.lost = e.planned
	}
}

// shift takes the oldest batch out of the pipeline and reports it done.
func (e *Engine) shift() {
	if p := e.flying.leave().Plan; p != nil {
		e.c.Scheduler.Done(p, e.kernel.Now())
	}
	if len(e.retired) > 0 {
		e.reap()
	}
}

// complete ends the oldest batch: observers see the step, then its tokens go out.
func (e *Engine) complete() {
	f := e.flying.at(0)
	e.lands(f)
	if e.judge != nil {
		e.judgeDrafts(f.Plan)
	}
	if h := e.c.Hooks.Ran; h != nil {
		h(f)
	}
	e.shift()
	f.out = e.desk.turn(f.End)
	e.over(f, e.deliver(f))
	if f.Plan.Beat > e.beat {
		e.beat, e.beatOut = f.Plan.Beat, f.out
	}
	if e.c.Check {
		e.verify(f)
	}
}

// lands works out what observers are told of a batch that has run.
func (e *Engine) lands(f *flight) {
	e.counts.Steps++
	f.Busy, f.Hidden = f.End.Sub(max(f.Start, e.lastEnd)), 0
	if e.c.Async {
		f.Hidden = min(f.Cost.Host, f.Cost.Device)
	}
}

// over notes that a step, which made so many chunks, is the newest.
func (e *Engine) over(f *flight, chunks int) {
	e.desk.write(f.out, chunks)
	e.lastEnd, e.lastOut = f.End, f.out
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
	if len(e.strays)+len(e.released) > 0 {
		e.wakeAt(e.kernel.Now())
		return
	}
	if len(e.loads) > 0 {
		e.wakeAt(e.loads[0].at)
		return
	}
	if e.wake > e.kernel.Now() {
		e.wakeAt(e.wake)
		return
	}
	if e.fetching+e.holds > 0 {
		return // a peer wakes it
	}
	e.fail("work conservation", "the device is idle, %d requests are in the scheduler, and it plans nothing", e.active)
}
