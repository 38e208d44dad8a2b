package engine

import (
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// A flight is a planned batch in the pipeline. An empty one takes a place, but no time.
type flight struct {
	plan       *scheduler.Plan // nil: the scheduler found nothing to do
	cost       hardware.Cost
	start, end sim.Time
	out        sim.Time // once it has ended: when the API processes turn to its chunks
	number     int64    // counts plans from 1
}

// A pipeline holds the batches in flight, oldest first, in a ring that is larger than it ever needs to be: a flight that
// has left keeps its slot until after the next one has entered.
type pipeline struct {
	slots    []flight
	first, n int
}

// newPipeline returns an empty pipeline for so many flights.
func newPipeline(depth int) pipeline {
	size := 2
	for size <= depth {
		size *= 2
	}
	return pipeline{slots: make([]flight, size)}
}

// at returns the i-th oldest flight.
func (p *pipeline) at(i int) *flight { return &p.slots[(p.first+i)&(len(p.slots)-1)] }

// enter returns the slot of a new flight, to be filled.
func (p *pipeline) enter() *flight {
	p.n++
	return p.at(p.n - 1)
}

// leave takes out the oldest flight.
func (p *pipeline) leave() *flight {
	f := p.at(0)
	p.first++
	p.n--
	return f
}

// again lets the oldest plan leave and enter as the newest, in a flight to be filled.
func (p *pipeline) again() *flight {
	plan := p.leave().plan
	f := p.enter()
	f.plan = plan
	return f
}

// busy reports whether any batch with work is in flight.
func (p *pipeline) busy() bool {
	for i := range p.n {
		if p.at(i).plan != nil {
			return true
		}
	}
	return false
}

// price returns what a step costs.
func (e *Engine) price(p *scheduler.Plan) hardware.Cost {
	if len(p.Ranks) > 0 {
		return e.lockstep.Together(p.Ranks)
	}
	s := p.Step
	if e.c.Shared != nil {
		s.KVShared = min(e.c.Shared(), s.KVRead)
	}
	return e.c.Cost.Cost(s)
}

// pass sends a batch through the pipeline stages, each of which it may enter once its predecessor has left, and
// returns when it enters the first and leaves the last. Host time is spent before the first stage.
func (e *Engine) pass(now sim.Time, c *hardware.Cost) (start, end sim.Time) {
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
