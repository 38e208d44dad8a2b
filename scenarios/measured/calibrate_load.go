package measured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/workload"
)

// A trial is a benchmark that can be simulated with any constants.
type trial struct {
	*Benchmark
	scenario *scenarios.Scenario
	trace    *workload.Trace // its requests one by one; nil: only their means are known
	requests int             // simulated
	what     []string        // the quantities compared
	measured []float64
}

// enough bounds the requests of a trial. Fewer are simulated than were measured only if these fill every seat so often
// that the first wave, which all clients send at once, weighs little.
func (b *Benchmark) enough() int {
	const most, waves = 2000, 40
	return min(b.Requests, max(most, waves*b.Concurrency))
}

// newTrial puts a benchmark's load on the server that the document describes. A range of lengths and a shared prefix that
// the document gives are kept, since the file knows neither.
func newTrial(server *scenarios.Document, b *Benchmark) (*trial, error) {
	asked, err := server.Scenario()
	if err != nil {
		return nil, err
	}
	if asked.Overlay != "" {
		return nil, errors.New("a profile is what calibrating finds: leave out --profile, and overlay in the scenario")
	}
	t := &trial{Benchmark: b, requests: b.enough()}
	prefix := 0
	if asked.Explicit("workload.prefix") || asked.Explicit("workload.prefix.tokens") {
		prefix = asked.Workload.Prefix.Tokens
	}
	own := b.prompt() - float64(prefix)
	if own < 1 {
		return nil, fmt.Errorf("%s: its prompts have %.4g tokens on average, fewer than the shared prefix of %d; give the prefix that it was measured with", b.Name, b.prompt(), prefix)
	}
	load := fmt.Sprintf("{requests: %d, rate: %s, arrivals: {name: gamma, burstiness: %g}, prompt: %s, output: %s",
		t.requests, rate(b.Rate), b.Burstiness,
		benchmarkLength(own, asked, "workload.prompt", asked.Workload.Prompt),
		benchmarkLength(b.output(), asked, "workload.output", asked.Workload.Output))
	if b.Concurrency > 0 {
		load += fmt.Sprintf(", max_concurrency: %d", b.Concurrency)
	}
	if p := asked.Workload.Prefix; prefix > 0 {
		load += fmt.Sprintf(", prefix: {groups: %d, tokens: %d, distinct: %d}", p.Groups, prefix, p.Distinct)
	}
	if err := server.Replace("workload", load+"}", b.Name); err != nil {
		return nil, err
	}
	if t.scenario, err = server.Scenario(); err != nil {
		return nil, err
	}
	t.compare()
	return t, t.readTrace()
}

func rate(perSecond float64) string {
	if math.IsInf(perSecond, 1) {
		return "inf"
	}
	return decimal(perSecond)
}

// assumedRange is how far around their mean lengths are taken to lie that vary in an unknown way. If they were taken to be
// equal, clients that began together would go on together, and each first token would wait for all prompts.
const assumedRange = 0.2

// benchmarkLength is a law of lengths of this mean: uniform if the document says how wide, or if the mean is not
// whole, so that they must vary; else fixed.
func benchmarkLength(mean float64, asked *scenarios.Scenario, path string, law scenarios.Length) string {
	if !asked.Explicit(path+".range_ratio") && mean != math.Round(mean) {
		return fmt.Sprintf("{dist: uniform, mean: %g, range_ratio: %g}", math.Round(mean), assumedRange)
	}
	if asked.Explicit(path+".range_ratio") && law.RangeRatio > 0 {
		return fmt.Sprintf("{dist: uniform, mean: %g, range_ratio: %g}", math.Round(mean), law.RangeRatio)
	}
	return fmt.Sprintf("{dist: fixed, mean: %g}", math.Round(mean))
}

// readTrace makes a trace of the requests where they are known one by one: with their own times under an open load, else
// all at once, held back by the limit of concurrency as the client did.
func (t *trial) readTrace() error {
	if len(t.OutputLens) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString("arrival_s,prompt_tokens,output_tokens\n")
	first := 0.0
	timed := len(t.Starts) > 0 && !math.IsInf(t.Rate, 1)
	if timed {
		first = slices.Min(t.Starts)
	}
	for i, output := range t.OutputLens[:min(t.requests, len(t.OutputLens))] {
		at := 0.0
		if timed {
			at = t.Starts[i] - first
		}
		fmt.Fprintf(&text, "%.9f,%d,%d\n", at, t.InputLens[i], output)
	}
	var err error
	t.trace, err = workload.ReadTrace(t.Name, strings.NewReader(text.String()), "servesim")
	return err
}

// compare lists what the benchmark measured: mean TTFT and TPOT, and end-to-end time or, under a load that waits for the
// server, what it delivered. An open load fixes that itself.
func (t *trial) compare() {
	add := func(what string, v float64) {
		if v > 0 {
			t.what, t.measured = append(t.what, what), append(t.measured, v)
		}
	}
	add("ttft", t.TTFT)
	add("tpot", t.TPOT)
	add("e2el", t.E2EL)
	if t.E2EL == 0 && math.IsInf(t.Rate, 1) && t.OutputLens == nil {
		add("tokens/s", t.OutputTokensPerS)
	}
}

// predict simulates the trial and returns the logarithm of predicted over measured for each quantity, and the largest
// share of the KV pool in use. An engine that cannot be built or does not answer every request is infinitely wrong; its
// error says why.
func (t *trial) predict(ctx context.Context, c scenarios.Constants, shared *scenarios.Shared) (prediction, error) {
	x, err := shared.Build(t.scenario.WithConstants(c))
	if err != nil {
		return prediction{}, reason(err)
	}
	if t.trace != nil {
		x.Workload.Trace, x.Workload.Rate = t.trace, 0
		if math.IsInf(t.Rate, 1) || len(t.Starts) == 0 {
			x.Workload.Rate = t.Rate
		}
	}
	result, err := x.Run(ctx, scenarios.Options{})
	if err != nil {
		return prediction{}, err
	}
	r := &result.Report
	if missing := r.Requests.Submitted - r.Requests.Completed; missing > 0 {
		text := fmt.Sprintf("%d of %d requests were not answered", missing, r.Requests.Submitted)
		if len(r.Rejections) > 0 {
			text += ": " + r.Rejections[0].Reason
		}
		return prediction{}, errors.New(text)
	}
	p := prediction{peakKV: r.Engine.KV.PeakUsage, constants: x.Constants()}
	for i, what := range t.what {
		v := map[string]float64{
			"ttft": r.Latency.TTFT.Mean, "tpot": r.Latency.TPOT.Mean, "e2el": r.Latency.E2EL.Mean,
			"tokens/s": r.Throughput.OutputTokensPerS,
		}[what]
		p.errors = append(p.errors, math.Log(v/t.measured[i]))
	}
	return p, nil
}

// A prediction is what became of one trial.
type prediction struct {
	errors    []float64 // ln(predicted/measured)
	peakKV    float64
	constants scenarios.Constants // in force
}

// A point is what became of every trial with one set of constants.
type point struct {
	constants scenarios.Constants
	trials    []prediction
	err       error // of a trial that could not be played, or was not answered in full
}

// play predicts every trial with each of the sets of constants, all of them at once.
func play(ctx context.Context, trials []*trial, sets []scenarios.Constants) ([]point, error) {
	points := make([]point, len(sets))
	shared := make([]scenarios.Shared, len(sets)) // the trials of a point are loads on one engine
	n := len(trials)
	failures := make([]error, len(sets)*n)
	for i, c := range sets {
		points[i] = point{constants: c, trials: make([]prediction, n)}
	}
	err := inParallel(ctx, len(failures), func(i int) error {
		points[i/n].trials[i%n], failures[i] = trials[i%n].predict(ctx, sets[i/n], &shared[i/n])
		return ctx.Err()
	})
	for i := range points {
		for j, failure := range failures[i*n : (i+1)*n] {
			if failure != nil && points[i].err == nil {
				points[i].err = inFile(trials[j].Name, failure)
			}
		}
	}
	return points, err
}

// errors returns those of all trials, one after the other.
func (p *point) errors() []float64 {
	var all []float64
	for _, t := range p.trials {
		all = append(all, t.errors...)
	}
	return all
}

// rms returns the root mean square.
func rms(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}
