package engine

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// A flight is a planned batch in the pipeline. An empty one, without a Plan, takes a place, but no time.
type flight = Ran

// A pipeline holds the batches in flight, oldest first, on a tape. A flight that has left stays on it until the tape is
// wound back, which is never before another has entered.
type pipeline struct {
	tape  []flight
	ahead []flight // the tape from the oldest flight on
	n     int      // in flight, the first of what is ahead
}

// tapeLength is that of a tape: a stretch, and as much again so that it is seldom wound back.
const tapeLength = 2 * stretch

// newPipeline returns an empty pipeline for so many flights.
func newPipeline(depth int) pipeline {
	tape := make([]flight, tapeLength+2*depth)
	return pipeline{tape: tape, ahead: tape}
}

// at returns the i-th oldest flight.
func (p *pipeline) at(i int) *flight { return &p.ahead[i] }

// enter returns the place of a new flight, to be filled.
func (p *pipeline) enter() *flight {
	p.reserve(1)
	p.n++
	return &p.ahead[p.n-1]
}

// reserve makes sure that the tape has room for so many more flights.
func (p *pipeline) reserve(flights int) {
	if p.n+flights > len(p.ahead) {
		p.rewind()
	}
}

// rewind moves the flights to the start of the tape. Like all that is rare it is kept out of the loop's code, which should
// fit a processor's cache of instructions.
//
//go:noinline
func (p *pipeline) rewind() {
	copy(p.tape, p.ahead[:p.n])
	p.ahead = p.tape
}

// leave takes out the oldest flight.
func (p *pipeline) leave() *flight {
	f := &p.ahead[0]
	p.ahead = p.ahead[1:]
	p.n--
	return f
}

// done returns how many plans are no longer in flight.
func (e *Engine) done() int64 { return e.planned - int64(e.flying.n) }

// busy reports whether any batch with work is in flight.
func (p *pipeline) busy() bool {
	for i := range p.n {
		if p.at(i).Plan != nil {
			return true
		}
	}
	return false
}

// price works out what a step costs, of which so many cached tokens are read twice, if they are read at all.
func (e *Engine) price(c *hardware.Cost, s *hardware.Step, shared int64) {
	if shared > 0 {
		e.step = *s
		e.step.KVShared = min(shared, s.KVRead)
		s = &e.step
	}
	e.filler.Fill(c, s)
}

// priceRanks is price for ranks that step together.
//
//go:noinline
func (e *Engine) priceRanks(c *hardware.Cost, ranks []hardware.Step) { *c = e.lockstep.Together(ranks) }

// A byValue prices in place with a model that only returns prices.
type byValue struct{ hardware.CostModel }

func (m byValue) Fill(c *hardware.Cost, s *hardware.Step) { *c = m.Cost(*s) }

func fillerOf(m hardware.CostModel) hardware.Filler {
	if f, ok := m.(hardware.Filler); ok {
		return f
	}
	return byValue{m}
}

// shared returns how many cached tokens that steps read are read by another sequence, too.
func (e *Engine) shared() int64 {
	if e.c.Shared == nil {
		return 0
	}
	return e.c.Shared()
}

// send puts a batch on its way: it starts when the device is free. Host time is spent before it.
func (e *Engine) send(f *flight, now sim.Time) {
	if len(e.stages) > 1 {
		e.sendThrough(f, now)
		return
	}
	f.Start = max(now, e.stages[0])
	f.End = f.Start.Add(e.occupies(&f.Cost))
	e.stages[0] = f.End
}

// occupies returns for how long a batch keeps the first stage, the host's time included.
func (e *Engine) occupies(c *hardware.Cost) time.Duration {
	if e.c.Async {
		return max(c.Exposed+max(c.Device, c.Host), 1)
	}
	return max(c.Exposed+c.Device+c.Host, 1)
}

// sendThrough is send through several pipeline stages, each of which a batch may enter once its predecessor has left.
func (e *Engine) sendThrough(f *flight, now sim.Time) {
	c := &f.Cost
	f.Start = max(e.inputsReady(f.Plan, now), e.stages[0])
	f.End = f.Start.Add(e.occupies(c))
	e.stages[0] = f.End
	for s := 1; s < len(e.stages); s++ {
		f.End = max(f.End.Add(c.Hop), e.stages[s]).Add(c.Device)
		e.stages[s] = f.End
	}
	e.claimOutputs(f.Plan, f.End)
}

// inputsReady returns the instant, now or later, at which the last stage has sampled every token that the plan feeds to
// the first.
func (e *Engine) inputsReady(p *scheduler.Plan, now sim.Time) sim.Time {
	for i := range p.Work {
		now = max(now, e.lives[p.Work[i].Seq.ID].ready)
	}
	return now
}

// claimOutputs notes when the tokens that the plan samples will be known.
func (e *Engine) claimOutputs(p *scheduler.Plan, end sim.Time) {
	for i := range p.Work {
		if w := &p.Work[i]; w.Samples {
			e.lives[w.Seq.ID].ready = end
		}
	}
}
