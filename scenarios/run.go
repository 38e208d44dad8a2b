package scenarios

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
	"github.com/servesim/servesim/sim/workload"
)

// Options are what a run may be asked for beside its report. The zero value asks for nothing.
type Options struct {
	Check       bool                  // verify every invariant after every step
	Step        func(*engine.Ran)     // sees every step; must keep nothing of it
	Requests    io.Writer             // receives one CSV row per request; they can be replayed as a trace
	Progress    func(done, total int) // hears now and then of ended and of all requests; total 0: not known
	Percentiles []float64             // reported beside the usual ones
	PerToken    bool                  // measure every token: exact ITL of completed requests, slower
	Hooks       engine.Hooks          // observers of the caller's own
	Naive       bool                  // plan with the deliberately simple scheduler and pool of sim/engine/reference: slow
	// Order makes the order of the waiting queue, in place of the scenario's scheduling_policy, and Predict guesses the lengths
	// of answers, in place of its scheduler.predictor; nil: the scenario's. Each engine gets an order of its own.
	Order   func() scheduler.Order
	Predict func(*workload.Request) int32
	// Scheduler makes the batching policy of one engine, in place of the scenario's, over its cache. It is given the scenario's
	// limits; with AsyncScheduling it must plan a step before the outputs of the one before are known. Naming every sequence in
	// every plan is what Named asks for. It is for engines of one rank that share no request; nil: the scenario's policy.
	Scheduler func(scheduler.Limits, kvcache.Cache) scheduler.Scheduler
	Memory    Memory // what earlier runs on this deployment have left in the cache; nil: it is cold
	// Each of these is shown every engine before the first event, and returns hooks for that engine alone: Life.Slot and
	// sequence IDs mean nothing beyond it. The replica is complete by the time that a hook is called.
	Each []func(*cluster.Replica) engine.Hooks
	// Router makes a router of the caller's own, in place of the scenario's.
	Router func(*sim.Kernel) cluster.Router
	// Remote is a rule of the caller's own for which prompts engines that only prefill compute, in place of the scenario's.
	Remote cluster.Rule
}

// Run plays the workload against fresh engines. The same experiment gives the same bytes, whatever runs beside it.
func (x *Experiment) Run(ctx context.Context, o Options) (*Result, error) {
	s := x.Scenario
	k := sim.New(s.Seed)
	load, err := workload.New(x.Workload, k.Rand)
	if err != nil {
		return nil, err
	}
	recorder := metrics.New(metrics.Config{
		SLO: s.SLO.targets(), Classes: s.classes(), Clients: len(x.Workload.Clients) > 1 || x.Workload.Trace.Clients(),
		Warmup: sim.Time(s.Warmup), Open: x.Workload.Open(), PerToken: o.PerToken || s.Workload.Timeout > 0,
		Percentiles: o.Percentiles, Rows: o.Requests, Several: s.several(), Disaggregation: x.split.told(), Ended: o.progress(load),
	})
	f := fleet{
		kernel: k, options: &o, recorder: recorder, predict: x.predictor(&o, k.Rand),
		hooks: watchBoth(engine.Hooks{Ran: o.Step}, o.Hooks),
	}
	if err := f.build(x); err != nil {
		return nil, err
	}
	load.Start(k, f.server(x))
	if err := x.play(ctx, k, &f); err != nil {
		return nil, err
	}
	if o.Progress != nil {
		o.Progress(recorder.Ended(), max(load.Requests(), 0))
	}
	if err := recorder.Flush(); err != nil {
		return nil, fmt.Errorf("the rows of requests could not be written: %w", err)
	}
	report := recorder.Report(k.Now())
	if f.halves != nil {
		f.halves.tell(report.Disaggregation)
	}
	return x.result(report, f.behind()), nil
}

// targets returns them as they are measured.
func (o SLO) targets() metrics.SLO {
	return metrics.SLO{TTFT: o.TTFT, TPOT: o.TPOT, ITL: o.ITL, E2EL: o.E2EL}
}

// classes returns the classes of requests that the report tells apart, each with what it must meet.
func (s *Scenario) classes() []metrics.Class {
	var classes []metrics.Class
	for i := range s.Workload.Classes {
		classes = append(classes, metrics.Class{Name: s.Workload.Classes[i].Name, SLO: s.slo(i).targets()})
	}
	return classes
}

// slo returns what a request of a class is to keep.
func (s *Scenario) slo(class int) SLO {
	if class < len(s.Workload.Classes) && s.Workload.Classes[class].OwnSLO {
		return s.Workload.Classes[class].SLO
	}
	return s.SLO
}

// play runs the kernel to the end of the workload, or to the horizon.
func (x *Experiment) play(ctx context.Context, k *sim.Kernel, f *fleet) error {
	until := sim.Never
	if h := x.Scenario.Workload.Horizon; h > 0 {
		until = sim.Time(h)
	}
	defer k.Stop()
	if err := k.Run(ctx, until); err != nil {
		return err
	}
	if err := f.err(); err != nil {
		return err
	}
	if until != sim.Never {
		return nil
	}
	if f.halves != nil {
		if err := f.halves.AtRest(); err != nil {
			return err
		}
	}
	return k.Check()
}

func (x *Experiment) result(report metrics.Report, behind time.Duration) *Result {
	outside, provenance := x.outside(&report), x.Provenance
	if len(outside) > 0 {
		provenance = provenance.beyond()
	}
	if v := &report.Verdict; behind >= lateChunks && v.State == "stable" {
		v.State, v.Why = "backlogged", fmt.Sprintf("tokens waited up to %v for API processes to write them; before the engine, %s", behind.Round(time.Millisecond), v.Why)
	}
	report.Warnings = append([]string{}, slices.Concat(x.Warnings, outside, x.frontendWarnings(behind), report.Warnings)...) // never null in JSON
	return &Result{
		Name: x.Scenario.Name, Seed: x.Scenario.Seed, Version: Version,
		Provenance: provenance, Config: x.Scenario.Map(), Report: report,
	}
}

func (x *Experiment) frontend() engine.Frontend {
	f := x.Scenario.Frontend
	return engine.Frontend{
		Servers: f.APIServers, PerRequest: f.PerRequest, PerToken: f.Tokenize, Ingress: f.Latency, PerChunk: f.PerChunk,
		Interval: x.Scenario.Engine.StreamInterval,
	}
}

// lateChunks is how long tokens may wait to be written before anybody is told: longer than a reader notices.
const lateChunks = 200 * time.Millisecond

// frontendWarnings tells when not the engine but its API processes were the bottleneck.
func (x *Experiment) frontendWarnings(behind time.Duration) []string {
	if behind < lateChunks {
		return nil
	}
	f := &x.Scenario.Frontend
	return []string{fmt.Sprintf("tokens waited up to %v to be written: %d API process(es) write at most %.0f chunks/s; raise api_server_count or stream_interval",
		behind.Round(time.Millisecond), f.APIServers, float64(f.APIServers)/f.PerChunk.Seconds())}
}

// peak returns the FLOP/s that the linear layers could reach at best: those of the weights' format where the device has
// arithmetic for it, else those of 16 bits.
func (x *Experiment) peak() float64 {
	d, w := x.Deployment.Device, x.Deployment.Weights
	switch {
	case w.WeightOnlyOn(d):
		return d.BF16
	case w == hardware.FP8:
		return d.FP8
	case w == hardware.INT8:
		return d.INT8
	case w == hardware.NVFP4:
		return d.FP4
	}
	return d.BF16
}

// progress returns what tells of ended requests; nil: nobody listens.
func (o *Options) progress(load workload.Load) func(ended int) {
	if o.Progress == nil {
		return nil
	}
	total := max(load.Requests(), 0)
	return func(ended int) { o.Progress(ended, total) }
}
