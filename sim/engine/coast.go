package engine

import "github.com/servesim/servesim/sim"

// stretch is the most steps that coasting takes before observers see them.
const stretch = 32

// coast steps on for as long as steps hold nothing but the cohort: nobody arrives, ends, gives up or waits, and its
// members just decode. It does what the loop does for such steps, without asking anybody who has nothing to say, and
// without touching the plans in flight: scheduler and observers hear of all the steps of a stretch at once.
func (e *Engine) coast() {
	if e.flying.n < e.c.InFlight || len(e.aborts) > 0 {
		return
	}
	until := e.kernel.Next()
	if len(e.inbox) > 0 {
		until = min(until, e.inbox[0].Queued)
	}
	for e.flying.at(0).End < until && e.stretch(until) > 0 {
	}
	if e.lastEnd > e.kernel.Now() {
		e.kernel.Advance(e.lastEnd)
	}
}

// stretch coasts for one stretch and returns its steps.
func (e *Engine) stretch(until sim.Time) (n int) {
	beat, most := e.ahead(until)
	if most == 0 {
		return 0
	}
	shared, depth := e.shared(), e.flying.n
	e.flying.reserve(most)
	flights := e.flying.tape[e.flying.first:]
	for n < most && flights[n].End < until && !e.endings.Any(beat) {
		f, next := &flights[n], &flights[n+depth]
		f.Blocks = e.blocks[n]
		e.beatEnds(f)
		e.planned++
		next.Plan, next.number, next.Members = f.Plan, e.planned, e.beats.Seqs
		e.price(&next.Cost, &e.beats, shared)
		next.Start, next.End = e.pass(f.End, &next.Cost)
		e.beats.KVRead += int64(e.beats.Seqs)
		beat++
		n++
	}
	if n == 0 {
		return 0
	}
	e.flying.first += n
	e.beat, e.beatOut = beat-1, e.lastOut
	e.coaster.Coast(n)
	if h := e.c.Hooks.Coasted; h != nil {
		h(flights[:n])
	}
	return n
}

// ahead returns the oldest beat in flight, and how many steps the engine may coast at most: as far as the scheduler sees
// nothing but beats, or until a batch in flight is something else. It looks no further than about that instant.
func (e *Engine) ahead(until sim.Time) (beat int64, most int) {
	oldest := e.flying.at(0)
	head := oldest.Plan
	if head == nil || len(head.Work) > 0 || e.endings.Any(head.Beat) {
		return 0, 0
	}
	steps := (until-oldest.End)/(oldest.End-oldest.Start) + 1
	most = e.coaster.Calm(head, &e.beats, e.blocks[:min(steps, stretch)])
	for i := range e.flying.n {
		f := e.flying.at(i)
		if f.Plan == nil || len(f.Plan.Work) > 0 || f.Plan.Members == 0 {
			return head.Beat, min(most, i)
		}
		f.Members = f.Plan.Members
	}
	return head.Beat, most
}

// beatEnds is complete for a beat that names nobody.
func (e *Engine) beatEnds(f *flight) {
	e.lands(f)
	f.out = e.desk.turn(f.End)
	f.Gap = f.out.Sub(e.lastOut)
	e.over(f, f.Members)
}
