package main

import (
	"fmt"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
	"github.com/servesim/servesim/sim/workload"
)

// rejections watches for the longest request that the engine refuses.
type rejections struct {
	longest int // prompt and answer, in tokens
}

// watch adds itself to the hooks.
func (r *rejections) watch(h *engine.Hooks) {
	before := h.Finished
	h.Finished = func(now sim.Time, l *engine.Life) {
		if l.Outcome.Status == workload.Rejected {
			r.longest = max(r.longest, int(l.Request.Tokens)+int(l.Request.MaxTokens))
		}
		if before != nil {
			before(now, l)
		}
	}
}

// warn adds to the report what would have to change for the longest to be served.
func (r *rejections) warn(report *metrics.Report, x *scenarios.Experiment) {
	limit, model := x.Deployment.MaxModelLen, x.Deployment.Model
	if r.longest <= limit {
		return
	}
	remedy := "raise --max-model-len"
	if limit == model.MaxPositions {
		remedy = model.Name + " allows no larger --max-model-len"
	}
	report.Warnings = append(report.Warnings, fmt.Sprintf("the longest rejected request has %d tokens with its answer, beyond max_model_len %d: %s", r.longest, limit, remedy))
}
