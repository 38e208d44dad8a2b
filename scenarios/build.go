package scenarios

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// An Experiment is a scenario that has been resolved and can be run, any number of times: nothing in it changes.
type Experiment struct {
	Scenario   *Scenario // with every setting that was left to the profile filled in
	Deployment hardware.Deployment
	Memory     hardware.Memory
	Limits     scheduler.Limits
	Workload   workload.Spec
	Profile    Profile
	Provenance Provenance
	Warnings   []string // how names were understood, and what has no effect

	cost    *hardware.Roofline
	accepts *engine.Acceptance // of drafts; nil: there are none
	groups  []group            // the engines that differ from this one
	split   *split             // nil: prefill and decode have no engines of their own
}

// Build resolves the scenario into an experiment. The error, when there is one, is of type Mistakes.
func (s *Scenario) Build() (*Experiment, error) { return s.build(new(Shared)) }

func (s *Scenario) build(shared *Shared) (*Experiment, error) {
	x, found := s.deploy(nil)
	if err := found.err(); err != nil {
		return nil, err
	}
	groups, err := x.s.buildParts(shared)
	var halves *split
	if x.s.disaggregated() && err == nil {
		halves, err = x.s.split(groups)
	}
	if err != nil {
		return nil, err
	}
	e, err := x.first(groups, shared)
	if err != nil {
		return nil, err
	}
	if e.Workload, err = x.load(shared); err != nil {
		return nil, err
	}
	e.Warnings = slices.Concat(x.notes, x.s.idleWarnings(), x.s.orderNotes(), e.Workload.Notes())
	e.join(groups)
	if e.split = halves; halves != nil {
		e.Provenance = provenanceOf(groups)
	}
	return e, nil
}

// first resolves the first engine of the experiment: the scenario's own, or where all belong to groups, that of the last
// group.
func (x *deployment) first(groups []group, shared *Shared) (*Experiment, error) {
	if x.s.plain() > 0 {
		return x.engine(shared)
	}
	e := *groups[len(groups)-1].engine
	e.Scenario = x.s
	return &e, nil
}

// engine resolves everything that makes up one engine, its memory and its prices: the experiment without a workload.
func (x *deployment) engine(shared *Shared) (*Experiment, error) {
	plan, err := x.plan()
	if err != nil {
		return nil, err
	}
	if err := x.checkOffloading(plan); err != nil {
		return nil, err
	}
	cost, err := shared.cost(x.Deployment)
	if err != nil {
		return nil, x.refused(err)
	}
	return &Experiment{
		Scenario: x.s, Deployment: x.Deployment, Memory: plan, Profile: x.profile,
		Limits: x.limits(plan, cost), Provenance: provenance(x), cost: cost, accepts: x.accepts(),
	}, nil
}

func (x *deployment) refused(err error) error {
	var m Mistakes
	for _, e := range flatten(err) {
		m.at(x.s, "engine", "%v", e)
	}
	return m.err()
}

// load reads the trace, if there is one, resolves the workload and checks it.
func (x *deployment) load(shared *Shared) (workload.Spec, error) {
	s, w := x.s, &x.s.Workload
	var trace *workload.Trace
	if w.Arrivals.Name == "trace" {
		var err error
		if trace, err = shared.trace(s); err != nil {
			var m Mistakes
			m.at(s, "workload.arrivals.file", "%v", err)
			return workload.Spec{}, m
		}
	}
	spec := s.spec(trace)
	if _, err := workload.New(spec, nil); err != nil {
		return spec, s.workloadMistakes(err).err()
	}
	w.Requests = spec.Requests
	if trace == nil {
		w.Rate = s.rate()
	}
	w.Arrivals.Rescale = switchTo(w.Arrivals.Rescale.Or(s.rescales()))
	return spec, nil
}

// azureConversationName is how scenarios name the embedded trace.
const azureConversationName = "azure-2023-conversation"

// trace opens the trace that the scenario names: an embedded one, or a file, gzipped or not. The file's path is in the
// scenario already; name is what messages call it.
func (s *Scenario) trace(name string) (*workload.Trace, error) {
	a := &s.Workload.Arrivals
	text := azureConversation
	if a.File != azureConversationName {
		var err error
		if text, err = os.ReadFile(a.File); err != nil {
			return nil, errors.New(name + ": cannot be read: " + unwrapPath(err).Error())
		}
	}
	var r io.Reader = bytes.NewReader(text)
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, contentError{errors.New(name + ": is not a gzip file that can be read: " + err.Error())}
		}
		r = z
	}
	format := a.Format
	if format == "auto" {
		format = ""
	}
	t, err := workload.ReadTrace(name, r, format)
	if err != nil {
		err = contentError{err}
	}
	return t, err
}

// limits are the scheduler's settings.
func (x *deployment) limits(plan hardware.Memory, cost *hardware.Roofline) scheduler.Limits {
	e := &x.s.Engine
	return scheduler.Limits{
		MaxNumBatchedTokens:       x.MaxNumBatchedTokens,
		MaxNumScheduledTokens:     min(e.MaxNumScheduledTokens, x.MaxNumBatchedTokens),
		MaxNumSeqs:                x.MaxNumSeqs,
		MaxModelLen:               x.MaxModelLen,
		LongPrefillTokenThreshold: e.LongPrefillTokenThreshold,
		EnableChunkedPrefill:      e.EnableChunkedPrefill == On,
		SchedulerReserveFullISL:   e.SchedulerReserveFullISL == On,
		Watermark:                 e.Watermark,
		NumGPUBlocks:              plan.Blocks,
		AsyncScheduling:           x.async(),
		PipelineStages:            x.PP,
		SwapBlocks:                x.swapBlocks(plan),
		Window:                    cost.Window(),
		Speculation:               x.s.speculationLimits(),
	}
}

// async reports whether steps are planned ahead.
func (x *deployment) async() bool {
	return x.s.Engine.AsyncScheduling == On && x.s.idle("engine.async_scheduling") == ""
}

// Pool returns a cold KV pool of one engine. Block 0 of vLLM's pool is never handed out.
func (x *Experiment) Pool() *kvcache.Pool {
	var groups []kvcache.Group
	for _, g := range x.Memory.Groups {
		groups = append(groups, kvcache.Group{Window: g.Window})
	}
	return kvcache.New(kvcache.Config{
		Blocks: x.Memory.Blocks - 1, BlockSize: x.Deployment.BlockSize,
		PrefixCaching: x.Scenario.Engine.EnablePrefixCaching == On && x.Scenario.unknownTo("engine.enable_prefix_caching") == "", Groups: groups,
		InFlight: x.inFlight()*x.Limits.MaxNumBatchedTokens + x.Scenario.lookahead(),
	})
}

// inFlight returns the batches in the pipeline: one per stage, and one more when the next is planned ahead.
func (x *Experiment) inFlight() int {
	if x.Limits.AsyncScheduling {
		return x.Deployment.PP + 1
	}
	return x.Deployment.PP
}

func (x *Experiment) scheduler(cache kvcache.Cache, named bool, order scheduler.Order) scheduler.Scheduler {
	limits := x.Limits
	limits.Order = order
	limits.Named = named || x.Scenario.Engine.StreamInterval > 1
	policy, _ := scheduler.FindPolicy(x.Scenario.Scheduler.Name)
	return policy.New(limits, x.Scenario.policySettings(), cache)
}
