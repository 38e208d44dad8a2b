package main

import (
	"fmt"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
	"github.com/servesim/servesim/sim/workload"
)

// rejections watches the requests that the engine refuses.
type rejections struct {
	longest int // prompt and answer of the longest, in tokens
	count   int
}

// watch adds itself to the hooks.
func (r *rejections) watch(h *engine.Hooks) {
	before := h.Finished
	h.Finished = func(now sim.Time, l *engine.Life) {
		if l.Outcome.Status == workload.Rejected {
			r.count++
			r.longest = max(r.longest, int(l.Request.Tokens)+int(l.Request.MaxTokens))
		}
		if before != nil {
			before(now, l)
		}
	}
}

// warn says in the report what the engine would have to be like to serve them.
func (r *rejections) warn(report *metrics.Report, x *scenarios.Experiment) {
	if most := x.Deployment.MaxModelLen; r.longest > most {
		report.Warnings = append(report.Warnings, fmt.Sprintf("%d requests were rejected; the longest has %d tokens with its answer, beyond max_model_len %d: raise --max-model-len, as far as the model and the GPU allow", r.count, r.longest, most))
	}
}
