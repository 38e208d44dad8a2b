package scheduler

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim"
)

// Levels are the settings of [MLFQ].
type Levels struct {
	Quantum    time.Duration // time on the first level; it doubles from level to level. 0: a step of one decode
	Starvation time.Duration // who has waited for so long returns to the first level; 0: nobody does
}

// MLFQ returns FastServe's skip-join multi-level feedback queue, which needs no lengths of answers. A sequence may run for
// its level's quantum, and then sinks by one level. Since the time of a prefill is known from the prompt, a sequence joins
// at the highest level whose quantum covers it, in place of sinking there. Better levels take the seats of worse ones
// between any two steps; on one level, who ran last comes last.
//
// FastServe keeps preempted KV on the GPU or in the host's memory. Here it is findable in the prefix cache until its blocks
// are used anew, or swapped, as the scheduler does it. What must be computed again is credited: until a sequence has run for
// as long as that took, it neither sinks nor gives way, so that no more than half of the time is lost to it.
//
// Source: Wu et al., "Fast Distributed Inference Serving for Large Language Models", arXiv 2305.05920, §4.
func MLFQ(cost hardware.CostModel, l Levels) Order {
	if l.Quantum == 0 {
		var step hardware.Step
		step.AddDecode(1, hardware.Window{})
		l.Quantum = max(took(cost, step), 1)
	}
	return &mlfq{Levels: l, cost: cost}
}

type mlfq struct {
	Levels
	cost    hardware.CostModel
	last    sim.Time // of the plan before
	look    sim.Time // when starvation is looked for again
	lines   []*heap
	starved []*Seq // scratch
}

// What the order notes about a sequence.
const (
	mlfqLevel = iota // 0 is the best
	mlfqUsed         // time that it has run on it; negative: credit
	mlfqSeen         // when it last ran, or arrived
)

const lowest = 40 // more levels than any quantum needs

// Arrive skips the levels on which not even the prompt could be computed.
func (o *mlfq) Arrive(s *Seq) {
	prefill, level := alone(o.cost, s), int64(0)
	for o.quantum(level) < prefill && level < lowest {
		level++
	}
	s.Notes = [3]int64{level, 0, int64(s.Arrival)}
}

func (o *mlfq) quantum(level int64) time.Duration { return o.Quantum << min(level, lowest) }

// Before goes by level, and on one level by who has not run for the longest time.
func (o *mlfq) Before(a, b *Seq) bool {
	for _, i := range []int{mlfqLevel, mlfqSeen} {
		if a.Notes[i] != b.Notes[i] {
			return a.Notes[i] < b.Notes[i]
		}
	}
	return older(a, b)
}

// Yields reports whether s stands on a better level than v, which has no credit left.
func (o *mlfq) Yields(v, s *Seq) bool {
	return s.Notes[mlfqLevel] < v.Notes[mlfqLevel] && v.Notes[mlfqUsed] >= 0
}

// Watch charges the running for the time since the plan before, and lets those sink who have used up their quantum.
func (o *mlfq) Watch(now sim.Time, running []*Seq) {
	span := int64(now - o.last)
	o.last = now
	for _, s := range running {
		s.Notes[mlfqSeen] = int64(now)
		if s.Preemptions > 0 && s.Known() <= s.fill+1 {
			s.Notes[mlfqUsed] -= span // it has computed again what it had
			continue
		}
		if s.Notes[mlfqUsed] += span; s.Notes[mlfqUsed] >= int64(o.quantum(s.Notes[mlfqLevel])) && s.Notes[mlfqLevel] < lowest {
			s.Notes[mlfqLevel]++
			s.Notes[mlfqUsed] = 0
		}
	}
}

// tick brings back to the first level those who have waited for too long.
func (o *mlfq) tick(now sim.Time, b *batcher) {
	if o.Starvation == 0 || now < o.look {
		return
	}
	o.look = now.Add(o.Starvation / 8)
	for _, s := range b.swap.line {
		if o.starves(s, now) {
			o.lift(s)
		}
	}
	for _, h := range o.lines {
		o.starved = o.starved[:0]
		h.each(func(s *Seq) {
			if o.starves(s, now) {
				o.starved = append(o.starved, s)
			}
		})
		for _, s := range o.starved {
			h.remove(s)
			o.lift(s)
			h.push(s)
		}
	}
}

func (o *mlfq) starves(s *Seq, now sim.Time) bool {
	return s.Notes[mlfqLevel] > 0 && now.Sub(sim.Time(s.Notes[mlfqSeen])) >= o.Starvation
}

func (o *mlfq) lift(s *Seq) { s.Notes[mlfqLevel], s.Notes[mlfqUsed] = 0, min(s.Notes[mlfqUsed], 0) }

func (o *mlfq) line() line {
	h := &heap{before: o.Before}
	o.lines = append(o.lines, h)
	return h
}

func (o *mlfq) skippedFirst(a, b *Seq) bool { return o.Before(a, b) }
func (o *mlfq) victim(running []*Seq) int   { return sorted{o}.victim(running) }
