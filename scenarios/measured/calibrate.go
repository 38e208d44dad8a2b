package measured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scenarios"
)

// A Calibration is what Calibrate found out about a machine.
type Calibration struct {
	Overlay     *scenarios.Overlay `json:"-"` // the constants, for scenarios to use
	Constants   []FittedConstant   `json:"constants"`
	Results     []FittedResult     `json:"results"`
	BeforePct   float64            `json:"error_before_pct"`            // root mean square over all results, with the defaults …
	AfterPct    float64            `json:"error_after_pct"`             // … and with the constants found
	LeftOutPct  float64            `json:"leave_one_out_pct,omitempty"` // of each result when the others alone are fitted
	Notes       []string           `json:"notes"`
	Simulations int                `json:"simulations"`
}

// A FittedConstant is one of the six numbers: times in seconds, fractions relative to what the kernels of the card
// usually reach, blocks.
type FittedConstant struct {
	Constant  scenarios.Constant `json:"-"`
	Name      string             `json:"name"`
	Default   float64            `json:"default"`
	Value     float64            `json:"value"`
	Deviation float64            `json:"deviation,omitempty"` // one standard deviation
	Fitted    bool               `json:"fitted"`
	Why       string             `json:"why,omitempty"` // not fitted, or not to be relied on
}

// A FittedResult is one benchmark: how far the simulation is from it, in percent of what was measured.
type FittedResult struct {
	Name       string    `json:"name"`
	Load       string    `json:"load"`
	Metrics    []string  `json:"metrics"`
	BeforePct  []float64 `json:"before_pct"`
	AfterPct   []float64 `json:"after_pct"`
	LeftOutPct []float64 `json:"left_out_pct,omitempty"` // when the constants are fitted without it
}

// Enough different loads to tell all constants apart; with fewer, fewer are fitted.
const enoughLoads = 4

// Calibrate fits the constants of a machine to benchmarks of it. server returns a document that describes the server,
// a new one each time; its workload does not matter.
func Calibrate(ctx context.Context, server func() (*scenarios.Document, error), benchmarks []Benchmark) (*Calibration, error) {
	trials, err := newTrials(server, benchmarks)
	if err != nil {
		return nil, err
	}
	c := &calibration{trials: trials, out: &Calibration{Notes: []string{}}}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	f := &fit{trials: trials, base: scenarios.NoConstants(), coords: c.chosen()}
	if err := f.search(ctx, make([]float64, len(f.coords))); err != nil {
		return nil, err
	}
	if f, err = c.tryBlocks(ctx, f); err != nil {
		return nil, err
	}
	f.probe = widestProbe
	if err := f.derive(ctx); err != nil { // slopes at the very end
		return nil, err
	}
	if err := c.leaveOneOut(ctx, f); err != nil {
		return nil, err
	}
	return c.finish(f)
}

// calibration is a Calibration on its way.
type calibration struct {
	trials  []*trial
	before  point
	start   scenarios.Constants // in force without a fit
	leftOut []prediction
	played  int
	out     *Calibration
}

func newTrials(server func() (*scenarios.Document, error), benchmarks []Benchmark) ([]*trial, error) {
	var trials []*trial
	var faults []error
	for i := range benchmarks {
		d, err := server()
		if err != nil {
			return nil, err
		}
		t, err := newTrial(d, &benchmarks[i])
		if err != nil {
			return nil, err
		}
		if m, _, _, err := hardware.FindModel(t.Model); err == nil {
			if n, _, _, err := hardware.FindModel(t.scenario.Model); err == nil && m.Name != n.Name {
				faults = append(faults, fmt.Errorf("%s: model_id: was measured with %s, the server is said to run %s; give --model", t.Name, m.Name, n.Name))
			}
		}
		trials = append(trials, t)
	}
	if len(trials) == 0 {
		return nil, errors.New("no result to fit to")
	}
	return trials, errors.Join(faults...)
}

// begin plays the trials with the constants as they are.
func (c *calibration) begin(ctx context.Context) error {
	points, err := play(ctx, c.trials, []scenarios.Constants{scenarios.NoConstants()})
	if err != nil {
		return err
	}
	c.played += len(c.trials)
	c.before = points[0]
	if c.before.err != nil {
		return c.before.err
	}
	c.start = c.before.trials[0].constants
	for _, t := range c.trials {
		if t.Failed > 0 {
			c.note("%s: %d requests failed and were left out", t.Name, t.Failed)
		}
		if t.requests < t.Requests {
			c.note("%s: %d of its %d requests are simulated", t.Name, t.requests, t.Requests)
		}
		if t.trace == nil && t.InputTokens%int64(t.Requests)+t.OutputTokens%int64(t.Requests) > 0 {
			c.note("%s: its lengths vary, and only their means are known: they are spread by ±%.0f %%, or as the scenario says; --save-detailed would tell each", t.Name, 100*assumedRange)
		}
	}
	return nil
}

func (c *calibration) note(format string, args ...any) {
	c.out.Notes = append(c.out.Notes, fmt.Sprintf(format, args...))
}

// loads counts those that differ: a result measured twice is one.
func (c *calibration) loads() int {
	var seen []string
	for _, t := range c.trials {
		key := fmt.Sprintf("%g %d %.2g %.2g", t.Rate, t.Concurrency, t.prompt(), t.output())
		if !slices.Contains(seen, key) {
			seen = append(seen, key)
		}
	}
	return len(seen)
}

// chosen returns the constants to fit: as many as the loads can tell apart. KV blocks are tried afterwards.
func (c *calibration) chosen() []coordinate {
	all := coordinates(c.start)
	n := min(c.loads(), enoughLoads) + 1
	if n <= enoughLoads {
		var left []string
		for _, x := range all[n:] {
			left = append(left, x.constant.String())
		}
		c.note("%s, and %d results at different loads are needed to fit everything: %s not fitted",
			plural(c.loads(), "different load"), enoughLoads, strings.Join(left, ", "))
	}
	return all[:n]
}

// tryBlocks sees whether another number of KV blocks explains the results better: only then do they say anything of it.
// A pool that no result fills shows in none, so that smaller ones are tried down to where they would.
func (c *calibration) tryBlocks(ctx context.Context, f *fit) (*fit, error) {
	if c.loads() < enoughLoads || c.given() {
		return f, nil
	}
	peak := 0.0
	for _, t := range f.at.trials {
		peak = max(peak, t.peakKV)
	}
	all := coordinates(c.start)
	withBlocks := &fit{trials: f.trials, base: f.base, coords: all, z: append(slices.Clone(f.z), 0), sigma: f.sigma, played: f.played}
	blocks := &all[len(all)-1]
	var zs [][]float64
	for _, share := range []float64{1.4, 1.2, 1.1, 0.9, 0.8, 0.7, 0.6, 0.5} {
		if share < 1 || peak > 0.9 {
			z := slices.Clone(withBlocks.z)
			z[len(z)-1] = blocks.z(c.start[scenarios.KVBlocks] * peak * share)
			zs = append(zs, z)
		}
	}
	points, err := withBlocks.play(ctx, zs...)
	if err != nil {
		return nil, err
	}
	best := -1
	for i := range points {
		if points[i].err == nil && (best < 0 || rms(points[i].errors()) < rms(points[best].errors())) {
			best = i
		}
	}
	f.played = withBlocks.played
	now := rms(f.at.errors())
	if best < 0 || rms(points[best].errors()) > 1.5*max(now, leastSigma) {
		return f, nil
	}
	if err := withBlocks.search(ctx, zs[best]); err != nil {
		return nil, err
	}
	if rms(withBlocks.at.errors()) > 0.9*now {
		f.played = withBlocks.played
		return f, nil
	}
	return withBlocks, nil
}

// given reports whether the size of the pool was set by hand.
func (c *calibration) given() bool {
	e := &c.trials[0].scenario.Engine
	return e.NumGPUBlocksOverride > 0 || e.KVCacheMemoryBytes > 0
}

// leaveOneOut fits the constants to all results but one, with the slopes that are known, and plays that one.
func (c *calibration) leaveOneOut(ctx context.Context, f *fit) error {
	if c.loads() < enoughLoads {
		return nil
	}
	c.leftOut = make([]prediction, len(f.trials))
	failures := make([]error, len(f.trials))
	zs := f.without(widestReach)
	f.played += len(f.trials)
	err := inParallel(ctx, len(f.trials), func(i int) error {
		c.leftOut[i], failures[i] = f.trials[i].predict(ctx, f.constants(zs[i]), new(scenarios.Shared))
		return ctx.Err()
	})
	return errors.Join(err, errors.Join(failures...))
}

// finish writes everything down.
func (c *calibration) finish(f *fit) (*Calibration, error) {
	out := c.out
	o, err := c.overlay(f)
	if err != nil {
		return nil, err
	}
	deviations := f.uncertainty()
	for i, x := range coordinates(c.start) {
		k := FittedConstant{Constant: x.constant, Name: x.constant.String(), Default: x.start, Value: x.start}
		if i < len(f.coords) {
			k.Fitted, k.Value = true, o.Constants[x.constant]
			k.Deviation = deviations[i] * x.spread
			if x.log {
				k.Deviation *= k.Value
			}
			switch {
			case deviations[i] > 0.7:
				k.Why = "the results hardly tell it from its default"
			case k.Value <= x.low && x.low > 0 || k.Value >= x.high:
				k.Why = "at the bound of what is physical: something else is amiss"
			}
		} else {
			k.Why = c.whyNot(x.constant)
		}
		out.Constants = append(out.Constants, k)
	}
	slices.SortFunc(out.Constants, func(a, b FittedConstant) int { return int(a.Constant - b.Constant) })
	var left []float64
	for i, t := range c.trials {
		r := FittedResult{
			Name: t.Name, Load: t.Load(), Metrics: t.what,
			BeforePct: percents(c.before.trials[i].errors), AfterPct: percents(f.at.trials[i].errors),
		}
		if c.leftOut != nil {
			r.LeftOutPct = percents(c.leftOut[i].errors)
			left = append(left, c.leftOut[i].errors...)
		}
		out.Results = append(out.Results, r)
	}
	out.BeforePct, out.AfterPct, out.LeftOutPct = 100*rms(c.before.errors()), 100*rms(f.at.errors()), 100*rms(left)
	o.ErrorBeforePct, o.ErrorAfterPct, o.LeaveOneOutPct = out.BeforePct, out.AfterPct, out.LeftOutPct
	out.Overlay, out.Simulations = o, c.played+f.played
	return out, nil
}

// whyNot says why a constant was left alone.
func (c *calibration) whyNot(k scenarios.Constant) string {
	switch {
	case k == scenarios.KVBlocks && c.given():
		return "given"
	case c.loads() < enoughLoads:
		return "too few different loads"
	}
	return "no result depends on it: none fills the pool"
}

// overlay describes the machine and the loads.
func (c *calibration) overlay(f *fit) (*scenarios.Overlay, error) {
	x, err := c.trials[0].scenario.Build()
	if err != nil {
		return nil, reason(err)
	}
	d := &x.Deployment
	o := &scenarios.Overlay{
		Name: d.Model.Name + " on " + d.Device.Name, EngineProfile: x.Profile.Name, GPU: d.Device.Name, Model: d.Model.Name,
		Weights: string(d.Weights), TensorParallel: d.TP, PipelinePar: d.PP,
		Constants: f.constants(f.z),
	}
	o.Constants[scenarios.KVBlocks] = math.Round(o.Constants[scenarios.KVBlocks])
	o.Fitted.Results = len(c.trials)
	for _, t := range c.trials {
		o.Source = append(o.Source, t.Name)
		o.Fitted.Requests.Add(t.inSystem())
		o.Fitted.PromptTokens.Add(t.prompt())
		o.Fitted.OutputTokens.Add(t.output())
	}
	return o, nil
}

// percents turns logarithms of ratios into percent.
func percents(logs []float64) []float64 {
	p := make([]float64, len(logs))
	for i, l := range logs {
		p[i] = 100 * math.Expm1(l)
	}
	return p
}
