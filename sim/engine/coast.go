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
func (e *Engine) stretch(until sim.Time) int {
	beat, most := e.ahead(until)
	if most == 0 {
		return 0
	}
	depth := e.flying.n
	e.flying.reserve(most)
	flights := e.flying.ahead
	e.priceBeats(flights[depth : depth+most])
	n := e.beatsEnd(flights[:depth+most], most, until)
	e.planned += int64(n)
	e.flying.ahead = flights[n:]
	e.beat, e.beatOut = beat+int64(n)-1, e.lastOut
	e.coaster.Coast(n)
	if h := e.c.Hooks.Coasted; h != nil {
		h(flights[:n])
	}
	return n
}

// ahead returns the oldest beat in flight, and how many steps the engine may coast at most: as far as the scheduler sees
// nothing but beats and no answer ends, or until a batch in flight is something else. It looks no further than about that
// instant.
func (e *Engine) ahead(until sim.Time) (beat int64, most int) {
	oldest := e.flying.at(0)
	head := oldest.Plan
	if head == nil || head.Members == 0 || len(head.Work) > 0 || len(head.Last) > 0 || e.endings.Any(head.Beat) {
		return 0, 0
	}
	steps := (until-oldest.End)/(oldest.End-oldest.Start) + 1
	most = e.coaster.Calm(head, &e.beats, e.blocks[:e.endings.Quiet(head.Beat, int(min(steps, stretch)))])
	oldest.Members = head.Members
	for i := 1; i < e.flying.n && i < most; i++ {
		f := e.flying.at(i)
		p := f.Plan
		if p == nil || p.Members == 0 || len(p.Work) > 0 || len(p.Last) > 0 {
			return head.Beat, i
		}
		f.Members = p.Members
	}
	return head.Beat, most
}

// priceBeats works out what the next beats cost, each of which reads a token more for every member than the one before.
func (e *Engine) priceBeats(flights []flight) {
	s, shared := &e.beats, e.shared()
	if e.pacer != nil && shared <= s.KVRead {
		s.KVShared = shared
		if e.pacer.Beats(&e.paced, s) {
			for i := range flights {
				flights[i].Members = s.Seqs
				e.paced.Next(&flights[i].Cost)
			}
			return
		}
	}
	for i := range flights {
		flights[i].Members = s.Seqs
		e.price(&flights[i].Cost, s, shared)
		s.KVRead += int64(s.Seqs)
	}
}

// beatsEnd is complete for the beats at the head of the flights that end before an instant, at most so many, and plan for
// those that are planned as they end. It returns their number: one at least, if the first does.
func (e *Engine) beatsEnd(flights []flight, most int, until sim.Time) (n int) {
	async, blocks := e.c.Async, e.blocks[:most]
	starting, ending := flights[len(flights)-most:], flights[:most]
	lastEnd, lastOut, free := e.lastEnd, e.lastOut, e.stages[0]
	for i := range ending {
		f, next := &ending[i], &starting[i]
		end := f.End
		if end >= until {
			break
		}
		f.Busy, f.Hidden, f.Blocks = end.Sub(max(f.Start, lastEnd)), 0, blocks[i]
		if async {
			f.Hidden = min(f.Cost.Host, f.Cost.Device)
		}
		out := e.desk.turn(end)
		e.desk.write(out, f.Members)
		f.Gap = out.Sub(lastOut)
		lastEnd, lastOut = end, out
		next.Plan = f.Plan // which has become another one
		next.Start = max(end, free)
		free = next.Start.Add(e.occupies(&next.Cost))
		next.End = free
		n++
	}
	e.counts.Steps += int64(n)
	e.lastEnd, e.lastOut, e.stages[0] = lastEnd, lastOut, free
	return n
}
