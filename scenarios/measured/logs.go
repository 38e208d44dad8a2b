package measured

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Logs are runs of which every request was recorded.
type Logs struct {
	Name string // of the file with the requests, for messages
	Runs []Run

	embedded bool // the built-in ones
}

// A Run is one recorded run: the settings of its server and what happened to each request.
type Run struct {
	Name, Model, GPU, EngineVersion, Dtype        string
	TP, PP, DP                                    int
	MaxModelLen, MaxNumSeqs, MaxNumBatchedTokens  int
	NumGPUBlocks, BlockSize                       float64 // blocks as the engine reported them; 0: compute them
	PrefixCaching, ChunkedPrefill, ExpertParallel string
	GPUMemoryUtilization                          float64

	Requests []Logged

	line int
}

// Logged is one request of a run. Times are seconds since the run began, on the server.
type Logged struct {
	Run, ID                                       string
	Arrival, Queued, Scheduled, FirstOut, LastOut float64
	Input, Output                                 int
}

var runColumns = []column[Run]{
	{"run", true, func(r *Run) any { return &r.Name }},
	{"model", true, func(r *Run) any { return &r.Model }},
	{"gpu", true, func(r *Run) any { return &r.GPU }},
	{"tp", false, func(r *Run) any { return &r.TP }},
	{"pp", false, func(r *Run) any { return &r.PP }},
	{"dp", false, func(r *Run) any { return &r.DP }},
	{"expert_parallel", false, func(r *Run) any { return &r.ExpertParallel }},
	{"vllm_version", true, func(r *Run) any { return &r.EngineVersion }},
	{"dtype", false, func(r *Run) any { return &r.Dtype }},
	{"max_model_len", false, func(r *Run) any { return &r.MaxModelLen }},
	{"max_num_seqs", false, func(r *Run) any { return &r.MaxNumSeqs }},
	{"max_num_batched_tokens", false, func(r *Run) any { return &r.MaxNumBatchedTokens }},
	{"num_gpu_blocks", false, func(r *Run) any { return &r.NumGPUBlocks }},
	{"block_size", false, func(r *Run) any { return &r.BlockSize }},
	{"prefix_caching", false, func(r *Run) any { return &r.PrefixCaching }},
	{"chunked_prefill", false, func(r *Run) any { return &r.ChunkedPrefill }},
	{"gpu_memory_utilization", false, func(r *Run) any { return &r.GPUMemoryUtilization }},
}

var loggedColumns = []column[Logged]{
	{"run", true, func(r *Logged) any { return &r.Run }},
	{"request_id", false, func(r *Logged) any { return &r.ID }},
	{"arrival_s", true, func(r *Logged) any { return &r.Arrival }},
	{"input_tokens", true, func(r *Logged) any { return &r.Input }},
	{"output_tokens", true, func(r *Logged) any { return &r.Output }},
	{"queued_s", true, func(r *Logged) any { return &r.Queued }},
	{"scheduled_s", true, func(r *Logged) any { return &r.Scheduled }},
	{"first_token_s", true, func(r *Logged) any { return &r.FirstOut }},
	{"last_token_s", true, func(r *Logged) any { return &r.LastOut }},
}

// ReadLogs reads the requests of one or several runs and the settings of their servers; the names are those of the
// files, for messages.
func ReadLogs(name string, requests io.Reader, settingsName string, settings io.Reader) (*Logs, error) {
	runs, err := readCSV(settingsName, settings, runColumns)
	if err != nil {
		return nil, err
	}
	logged, err := readCSV(name, requests, loggedColumns)
	if err != nil {
		return nil, err
	}
	l := &Logs{Name: name}
	for _, r := range runs {
		r.value.line = r.line
		l.Runs = append(l.Runs, r.value)
	}
	for _, q := range logged {
		i := slices.IndexFunc(l.Runs, func(r Run) bool { return r.Name == q.value.Run })
		if i < 0 {
			return nil, fmt.Errorf("%s:%d: run: %q has no row in %s, which should hold its settings", name, q.line, q.value.Run, settingsName)
		}
		if q.value.Input < 1 || q.value.Output < 1 {
			return nil, fmt.Errorf("%s:%d: input_tokens and output_tokens must be at least 1", name, q.line)
		}
		if v := q.value; !(v.Arrival <= v.Queued && v.Queued <= v.Scheduled && v.Scheduled <= v.FirstOut && v.FirstOut <= v.LastOut) {
			return nil, fmt.Errorf("%s:%d: arrival_s ≤ queued_s ≤ scheduled_s ≤ first_token_s ≤ last_token_s must hold, got %g, %g, %g, %g, %g",
				name, q.line, v.Arrival, v.Queued, v.Scheduled, v.FirstOut, v.LastOut)
		}
		l.Runs[i].Requests = append(l.Runs[i].Requests, q.value)
	}
	for i := range l.Runs {
		slices.SortStableFunc(l.Runs[i].Requests, func(a, b Logged) int {
			return cmp.Compare(a.Arrival, b.Arrival)
		})
	}
	return l, nil
}

// Validate replays the recorded arrivals and lengths of every run and compares the distributions of what followed.
func (l *Logs) Validate(ctx context.Context) (*Report, error) {
	type played struct {
		skipped string
		device  string
		times   []spans
	}
	all := make([]played, len(l.Runs))
	err := inParallel(ctx, len(l.Runs), func(i int) error {
		x, err := l.Runs[i].experiment()
		if err == nil {
			all[i].device = x.Deployment.Device.Name
			all[i].times, err = replay(ctx, x)
		}
		if err != nil {
			all[i].skipped = err.Error()
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	b := newBuilder(l.embedded)
	for i := range l.Runs {
		r := &l.Runs[i]
		if all[i].skipped != "" {
			b.r.Skipped = append(b.r.Skipped, Skip{r.Name, all[i].skipped})
			continue
		}
		row := Row{Model: r.Model, GPU: r.GPU, EngineVersion: r.EngineVersion, Arrival: "recorded"}
		for _, c := range distributions(r.Name, r.measured(), all[i].times) {
			b.compared(c, &row, all[i].device)
		}
	}
	return b.report(), nil
}

// experiment resolves a run.
func (r *Run) experiment() (*scenarios.Experiment, error) {
	if len(r.Requests) == 0 {
		return nil, fmt.Errorf("no requests were recorded")
	}
	row := Row{
		Model: r.Model, GPU: r.GPU, EngineVersion: r.EngineVersion, WeightDtype: r.Dtype, TP: max(r.TP, 1), PP: r.PP, DP: r.DP,
		MaxModelLen: r.MaxModelLen, MaxNumSeqs: r.MaxNumSeqs, MaxNumBatchedTokens: r.MaxNumBatchedTokens, BlockSize: int(r.BlockSize),
		GPUMemoryUtilization: r.GPUMemoryUtilization, PrefixCaching: given(r.PrefixCaching), ChunkedPrefill: given(r.ChunkedPrefill),
		Requests: len(r.Requests), Arrival: "burst", PromptTokens: 1, OutputTokens: 1,
	}
	if onOff(r.ExpertParallel) == "true" {
		row.EP = row.TP
	}
	if err := row.refusal(); err != nil {
		return nil, err
	}
	settings := append(row.server(), row.load()...)
	x, err := build(r.Name, append(settings, setting{"engine.num_gpu_blocks_override", whole(int(r.NumGPUBlocks))}))
	if err != nil {
		return nil, err
	}
	trace, err := r.trace()
	if err != nil {
		return nil, err
	}
	x.Workload = workload.Spec{Trace: trace}
	return x, nil
}

// given turns "default(true)", which says what the default was, into a blank.
func given(cell string) string {
	if strings.HasPrefix(strings.ToLower(cell), "default") {
		return ""
	}
	return cell
}

// trace makes the recorded arrivals and lengths a trace.
func (r *Run) trace() (*workload.Trace, error) {
	var b strings.Builder
	b.WriteString("arrival_s,prompt_tokens,output_tokens\n")
	for _, q := range r.Requests {
		fmt.Fprintf(&b, "%.9f,%d,%d\n", q.Arrival, q.Input, q.Output)
	}
	return workload.ReadTrace(r.Name, strings.NewReader(b.String()), "servesim")
}

// spans are the times of one request, in milliseconds.
type spans struct{ queue, ttft, tpot, e2el, end float64 }

func (r *Run) measured() []spans {
	all := make([]spans, 0, len(r.Requests))
	for _, q := range r.Requests {
		s := spans{
			queue: 1e3 * (q.Scheduled - q.Queued), ttft: 1e3 * (q.FirstOut - q.Arrival),
			e2el: 1e3 * (q.LastOut - q.Arrival), end: 1e3 * q.LastOut,
		}
		s.tpot = (s.e2el - s.ttft) / float64(max(q.Output-1, 1))
		all = append(all, s)
	}
	return all
}

// replay runs the experiment and keeps the times of every request.
func replay(ctx context.Context, x *scenarios.Experiment) ([]spans, error) {
	var all []spans
	ms := func(d int64) float64 { return float64(d) / 1e6 }
	finished := func(_ sim.Time, l *engine.Life) {
		if l.Emitted == 0 {
			return
		}
		s := spans{
			queue: ms(int64(l.Scheduled - l.Queued)), ttft: ms(int64(l.First - l.Request.Arrival)),
			e2el: ms(int64(l.Last - l.Request.Arrival)), end: ms(int64(l.Last)),
		}
		s.tpot = (s.e2el - s.ttft) / float64(max(l.Emitted-1, 1))
		all = append(all, s)
	}
	result, err := x.Run(ctx, scenarios.Options{Hooks: engine.Hooks{Finished: finished}})
	if err != nil {
		return nil, err
	}
	if q := result.Report.Requests; q.Completed < q.Submitted {
		return nil, fmt.Errorf("%d of %d requests were not answered", q.Submitted-q.Completed, q.Submitted)
	}
	return all, nil
}

// distributions compares mean, median and tails of every time, and the length of the whole run.
func distributions(id string, measured, predicted []spans) []Comparison {
	var all []Comparison
	for _, s := range []struct {
		name string
		of   func(*spans) float64
	}{
		{"queue", func(s *spans) float64 { return s.queue }},
		{"ttft", func(s *spans) float64 { return s.ttft }},
		{"tpot", func(s *spans) float64 { return s.tpot }},
		{"e2el", func(s *spans) float64 { return s.e2el }},
	} {
		m, p := sorted(measured, s.of), sorted(predicted, s.of)
		all = append(all, compare(id, s.name+"_mean", mean(m), mean(p)))
		for _, q := range []float64{50, 90, 99} {
			all = append(all, compare(id, fmt.Sprintf("%s_p%.0f", s.name, q), percentile(m, q), percentile(p, q)))
		}
	}
	end := func(s *spans) float64 { return s.end }
	m, p := sorted(measured, end), sorted(predicted, end)
	return append(all, compare(id, "makespan", m[len(m)-1], p[len(p)-1]))
}

func sorted(all []spans, of func(*spans) float64) []float64 {
	v := make([]float64, len(all))
	for i := range all {
		v[i] = of(&all[i])
	}
	slices.Sort(v)
	return v
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
