package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// deliver hands out the step's tokens in batch order, ends the answers that are complete, and returns how many chunks
// that makes.
//
// The sequences that the plan leaves unnamed got one token each, as in the step before: nothing is done for any of
// them but those whose answer ends. What they have received is worked out when somebody asks (see catchUp).
func (e *Engine) deliver(f *flight) (chunks int) {
	p := f.Plan
	chunks = p.Members - e.ghosts
	e.gaps(f.out.Sub(e.lastOut), chunks)
	ending := e.due(p)
	if len(p.Work) > 0 {
		var named int
		named, ending = e.deliverNamed(f, ending)
		chunks += named
	}
	for _, s := range ending {
		e.lastUnnamed(s, f)
	}
	return chunks
}

// due returns the unnamed sequences whose answers end with this plan, in batch order: those that the plan knows of, and those
// that end sooner than it knows.
func (e *Engine) due(p *scheduler.Plan) []*scheduler.Seq {
	ending := p.Last
	if p.Members > 0 && e.endings.Any(p.Beat) {
		ending = e.endSooner(p)
	}
	if len(ending) > 1 {
		slices.SortFunc(ending, func(a, b *scheduler.Seq) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	return ending
}

// endSooner is due where answers may end that are filed under the plan's beat.
func (e *Engine) endSooner(p *scheduler.Plan) []*scheduler.Seq {
	e.ending = append(e.ending[:0], p.Last...)
	e.sooner = e.endings.Due(p.Beat, e.sooner[:0])
	for _, l := range e.sooner {
		e.ending = append(e.ending, &l.seq)
	}
	return e.ending
}

// deliverNamed hands out the tokens of the rows of a plan, and those of the unnamed that stand before one of them; it
// returns the chunks of the rows, and who is left.
func (e *Engine) deliverNamed(f *flight, unnamed []*scheduler.Seq) (chunks int, _ []*scheduler.Seq) {
	work := f.Plan.Work
	for i := range work {
		w := &work[i]
		for len(unnamed) > 0 && unnamed[0].Rank < w.Seq.Rank {
			e.lastUnnamed(unnamed[0], f)
			unnamed = unnamed[1:]
		}
		if w.Samples && e.deliverRow(w, f) {
			chunks++
		}
	}
	e.gapsSoFar()
	return chunks, unnamed
}

// deliverRow hands out the tokens of a row, and reports whether they made a chunk.
func (e *Engine) deliverRow(w *scheduler.Work, f *flight) bool {
	l := e.lives[w.Seq.ID]
	if l.ended {
		return false // it ended a step ago; an asynchronous engine learns too late
	}
	if l.joined >= 0 {
		e.catchUp(l)
	}
	if l.held += 1 + w.Accepted; !e.desk.due(l) {
		return false
	}
	if l.Emitted == 0 {
		l.lag = e.desk.lag(f.Plan.Step.Seqs)
	} else {
		e.gapSince(l.Last, f.out.Add(l.lag))
	}
	e.emit(l, f.out.Add(l.lag))
	if w.Joins && !l.ended && w.Seq.Unnamed() {
		e.unname(l, f.Plan.Beat)
	}
	return true
}

// gapSince counts the gap between two chunks of an answer. Consecutive ones that are equal are reported together.
func (e *Engine) gapSince(last, at sim.Time) {
	if g := at.Sub(last); g != e.gap {
		e.gapsSoFar()
		e.gap = g
	}
	e.same++
}

// gapsSoFar reports the gaps that have been counted.
func (e *Engine) gapsSoFar() {
	e.gaps(e.gap, e.same)
	e.same = 0
}

// unname notes that from the next beat on the life gets a token in every beat. If its answer ends before the scheduler knows
// that it must, the life is filed under the beat that ends it.
func (e *Engine) unname(l *life, beat int64) {
	if e.c.Hooks.TokenOut != nil || e.desk.Interval > 1 {
		e.fail("every token is named", "a hook or the stream interval needs each token, but the scheduler leaves request %d unnamed", l.Request.ID)
	}
	l.joined = beat
	if end := beat + int64(l.want-l.Emitted); end < l.seq.Final() {
		e.endings.Hang(&l.peg, l, end)
	}
}

// catchUp credits a life with the tokens of the beats that it went unnamed in, and names it again.
func (e *Engine) catchUp(l *life) {
	if l.joined < 0 {
		return
	}
	if n := e.beat - l.joined; n > 0 {
		l.Emitted += int32(n)
		l.Last = e.beatOut.Add(l.lag)
	}
	l.joined = -1
	e.endings.Unhang(&l.peg)
}

// lastUnnamed delivers the last token of a sequence, unless its client has given up or a row names it after all. It is never
// the first token, nor the first after a preemption: with those the row was named.
func (e *Engine) lastUnnamed(s *scheduler.Seq, f *flight) {
	l := e.lives[s.ID]
	if l.joined < 0 || !s.Rides(f.Plan) {
		return
	}
	l.joined = -1
	l.Emitted, l.Last = l.want, f.out.Add(l.lag)
	e.end(l, l.outcome(l.Last))
	e.drop(l)
}

func (e *Engine) gaps(gap time.Duration, n int) {
	if h := e.c.Hooks.Gap; h != nil && n > 0 {
		h(gap, n)
	}
}

// emit delivers one chunk, which reaches the client at instant at.
func (e *Engine) emit(l *life, at sim.Time) {
	l.Emitted += l.held
	l.held = 0
	l.Last = at
	now := e.kernel.Now()
	if l.Emitted == 1 {
		l.First = at
		if h := e.hooks(l).FirstOut; h != nil {
			h(now, &l.Life)
		}
	}
	if l.lost > 0 && e.done() > l.lost {
		if h := e.hooks(l).Resumed; h != nil && l.Emitted > 1 {
			h(now, &l.Life)
		}
		l.lost = 0
	}
	if h := e.hooks(l).TokenOut; h != nil {
		h(now, &l.Life)
	}
	if l.Emitted == l.want {
		e.end(l, l.outcome(at))
		e.drop(l)
	}
}

// outcome is how an answer ends whose last chunk is there at instant at: in vain, if its client has given up by then.
func (l *life) outcome(at sim.Time) workload.Outcome {
	if l.timer != nil {
		if r := l.Request; at > r.Arrival.Add(r.Timeout) {
			return workload.Outcome{Status: workload.Aborted, At: r.Arrival.Add(r.Timeout)}
		}
	}
	return workload.Outcome{Status: workload.Completed, At: at}
}
