package main

import (
	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// details keeps what --save-detailed writes of every request: when each of its chunks reached the client. It costs a call
// a chunk.
type details struct {
	requests []report.Detail // by request
	last     []sim.Time      // by request: when the newest chunk came
}

// hooks watches one engine of the run.
func (d *details) hooks(*cluster.Replica) engine.Hooks {
	return engine.Hooks{Arrived: d.arrived, TokenOut: d.token, Finished: d.finished}
}

func (d *details) arrived(_ sim.Time, l *engine.Life) {
	for int64(len(d.requests)) <= l.Request.ID {
		d.requests = append(d.requests, report.Detail{})
		d.last = append(d.last, 0)
	}
	r := &d.requests[l.Request.ID]
	r.Start, r.Input = l.Request.Arrival.Seconds(), int(l.Request.Tokens)
	r.Error = "still unfinished when the run ended"
}

func (d *details) token(_ sim.Time, l *engine.Life) {
	r, last := &d.requests[l.Request.ID], &d.last[l.Request.ID]
	if r.Output == 0 {
		r.TTFT = l.Last.Sub(l.Request.Arrival).Seconds()
	} else {
		r.ITL = append(r.ITL, l.Last.Sub(*last).Seconds())
	}
	r.Output, *last = int(l.Emitted), l.Last
}

func (d *details) finished(_ sim.Time, l *engine.Life) {
	r := &d.requests[l.Request.ID]
	switch l.Outcome.Status {
	case workload.Completed:
		r.Error = ""
	case workload.Rejected:
		r.Error = l.Outcome.Reason
	case workload.Aborted:
		r.Error = "the client gave up"
	}
}

// list returns the requests, never nil. Of one that failed it keeps no more than vLLM's client does: why.
func (d *details) list() []report.Detail {
	if d.requests == nil {
		return []report.Detail{}
	}
	for i := range d.requests {
		if r := &d.requests[i]; r.Error != "" {
			r.Output, r.TTFT, r.ITL = 0, 0, nil
		}
	}
	return d.requests
}
