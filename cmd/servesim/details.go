package main

import (
	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// details keeps what --save-detailed writes of every request: all its tokens' times. It costs a call a token.
type details struct {
	requests []report.Detail // by request
}

// hooks watches one engine of the run.
func (d *details) hooks(*cluster.Replica) engine.Hooks {
	e := &detailed{details: d}
	return engine.Hooks{Arrived: e.arrived, TokenOut: e.token, Finished: d.finished}
}

// detailed follows the tokens of one engine.
type detailed struct {
	*details
	last []sim.Time // by slot: when the newest token came
}

func (d *detailed) arrived(_ sim.Time, l *engine.Life) {
	for int64(len(d.requests)) <= l.Request.ID {
		d.requests = append(d.requests, report.Detail{})
	}
	r := &d.requests[l.Request.ID]
	r.Start, r.Input = l.Request.Arrival.Seconds(), int(l.Request.Tokens)
	for len(d.last) <= int(l.Slot) {
		d.last = append(d.last, 0)
	}
}

func (d *detailed) token(now sim.Time, l *engine.Life) {
	r := &d.requests[l.Request.ID]
	r.Output++
	if r.Output == 1 {
		r.TTFT = now.Sub(l.Request.Arrival).Seconds()
	} else {
		r.ITL = append(r.ITL, now.Sub(d.last[l.Slot]).Seconds())
	}
	d.last[l.Slot] = now
}

// finished keeps of a request that failed no more than vLLM's client does: why.
func (d *details) finished(_ sim.Time, l *engine.Life) {
	r := &d.requests[l.Request.ID]
	switch l.Outcome.Status {
	case workload.Completed:
		return
	case workload.Rejected:
		r.Error = l.Outcome.Reason
	case workload.Aborted:
		r.Error = "the client gave up"
	}
	r.Output, r.TTFT, r.ITL = 0, 0, nil
}
