package measured

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// A Benchmark is one result of `vllm bench serve`: the load that it put on a server, and what it measured.
type Benchmark struct {
	Name  string // of the file; of its n-th object where it holds several
	Model string // as the client named it

	Requests    int     // that were answered
	Rate        float64 // requests per second; infinite: all at once
	Burstiness  float64
	Concurrency int // most requests under way at once; 0: no limit

	DurationS                 float64
	InputTokens, OutputTokens int64 // of the requests that were answered

	// Means over requests, in milliseconds; 0: not in the file.
	TTFT, TPOT, E2EL float64
	OutputTokensPerS float64

	// One entry for each request that was answered, where the file has them (--save-detailed): tokens, and when it was
	// sent, in seconds.
	InputLens, OutputLens []int
	Starts                []float64

	Failed int
}

// A benchmarkFile is the part of the JSON object that is read.
type benchmarkFile struct {
	ModelID        string   `json:"model_id"`
	NumPrompts     int      `json:"num_prompts"`
	RequestRate    any      `json:"request_rate"`
	Burstiness     *float64 `json:"burstiness"`
	MaxConcurrency *int     `json:"max_concurrency"`
	RampUp         string   `json:"ramp_up_strategy"`

	Duration     float64 `json:"duration"`
	Completed    int     `json:"completed"`
	Failed       int     `json:"failed"`
	InputTokens  int64   `json:"total_input_tokens"`
	OutputTokens int64   `json:"total_output_tokens"`
	Throughput   float64 `json:"output_throughput"`
	TTFT         float64 `json:"mean_ttft_ms"`
	TPOT         float64 `json:"mean_tpot_ms"`
	E2EL         float64 `json:"mean_e2el_ms"`

	InputLens  []int     `json:"input_lens"`
	OutputLens []int     `json:"output_lens"`
	Starts     []float64 `json:"start_times"`
	Errors     []string  `json:"errors"`
}

// ReadBenchmarks reads a result file: the object that --save-result writes, or the lines of --append-result. The error
// joins one for each independent mistake.
func ReadBenchmarks(name string, r io.Reader) ([]Benchmark, error) {
	var all []Benchmark
	var faults []error
	in := json.NewDecoder(r)
	for {
		var f benchmarkFile
		err := in.Decode(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: is not a result of vllm bench serve --save-result: %w", name, err)
		}
		b, err := f.benchmark()
		b.Name = name
		if len(all) > 0 {
			b.Name = fmt.Sprintf("%s#%d", name, len(all)+1)
		}
		if err != nil {
			faults = append(faults, inFile(b.Name, err))
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: is empty: it should hold a result of vllm bench serve --save-result", name)
	}
	return all, errors.Join(faults...)
}

// inFile puts the name of a file before each line of an error.
func inFile(name string, err error) error {
	return errors.New(name + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+name+": "))
}

func (f *benchmarkFile) benchmark() (Benchmark, error) {
	b := Benchmark{
		Model: f.ModelID, Requests: f.Completed, Rate: math.Inf(1), Burstiness: 1, Failed: f.Failed,
		DurationS: f.Duration, InputTokens: f.InputTokens, OutputTokens: f.OutputTokens,
		TTFT: f.TTFT, TPOT: f.TPOT, E2EL: f.E2EL, OutputTokensPerS: f.Throughput,
	}
	var faults []error
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	switch rate := f.RequestRate.(type) {
	case float64:
		if b.Rate = rate; !(rate > 0) {
			refuse("request_rate: must be positive or \"inf\", got %g", rate)
		}
	case string:
		if rate != "inf" {
			refuse("request_rate: must be a number or \"inf\", got %q", rate)
		}
	case nil:
		refuse("request_rate: is missing; was this written by vllm bench serve --save-result?")
	default:
		refuse("request_rate: must be a number or \"inf\"")
	}
	if f.Burstiness != nil {
		if b.Burstiness = *f.Burstiness; !(b.Burstiness > 0) {
			refuse("burstiness: must be positive, got %g", b.Burstiness)
		}
	}
	if f.MaxConcurrency != nil {
		if b.Concurrency = *f.MaxConcurrency; b.Concurrency < 1 {
			refuse("max_concurrency: must be at least 1 or null, got %d", b.Concurrency)
		}
	}
	if f.RampUp != "" {
		refuse("ramp_up_strategy: a rate that grows is not one load; measure again with a fixed --request-rate")
	}
	for _, n := range []struct {
		key   string
		value float64
	}{
		{"completed", float64(f.Completed)},
		{"duration", f.Duration},
		{"mean_ttft_ms", f.TTFT},
		{"total_input_tokens", float64(f.InputTokens)},
		{"total_output_tokens", float64(f.OutputTokens)},
	} {
		if !(n.value > 0) {
			refuse("%s: must be positive, got %g", n.key, n.value)
		}
	}
	if f.TPOT < 0 || f.E2EL < 0 {
		refuse("mean_tpot_ms, mean_e2el_ms: must not be negative, got %g and %g", f.TPOT, f.E2EL)
	}
	if f.TPOT == 0 && f.OutputTokens > int64(f.Completed) {
		refuse("mean_tpot_ms: is missing; keep ttft and tpot in --percentile-metrics")
	}
	if err := f.details(&b); err != nil {
		faults = append(faults, err)
	}
	return b, errors.Join(faults...)
}

// details keeps the requests that were answered.
func (f *benchmarkFile) details(b *Benchmark) error {
	n := len(f.OutputLens)
	if n == 0 {
		return nil
	}
	if len(f.InputLens) != n || len(f.Starts) != 0 && len(f.Starts) != n || len(f.Errors) != 0 && len(f.Errors) != n {
		return fmt.Errorf("input_lens, output_lens, start_times and errors: must be equally long, got %d, %d, %d and %d",
			len(f.InputLens), n, len(f.Starts), len(f.Errors))
	}
	for i, output := range f.OutputLens {
		if output < 1 || f.InputLens[i] < 1 || len(f.Errors) > 0 && f.Errors[i] != "" {
			continue
		}
		b.InputLens = append(b.InputLens, f.InputLens[i])
		b.OutputLens = append(b.OutputLens, output)
		if len(f.Starts) > 0 {
			b.Starts = append(b.Starts, f.Starts[i])
		}
	}
	return nil
}

// prompt and output return the mean lengths.
func (b *Benchmark) prompt() float64 { return float64(b.InputTokens) / float64(b.Requests) }
func (b *Benchmark) output() float64 { return float64(b.OutputTokens) / float64(b.Requests) }

// inSystem returns the mean number of requests in the system by Little's law, L = λW, where λ is what was answered per
// second. W, the mean end-to-end time, follows from TTFT and TPOT where it was not measured.
func (b *Benchmark) inSystem() float64 {
	w := b.E2EL
	if w == 0 {
		w = b.TTFT + b.TPOT*(b.output()-1)
	}
	return float64(b.Requests) / b.DurationS * w / 1000
}

// Load describes the load in a few words.
func (b *Benchmark) Load() string {
	load := fmt.Sprintf("%d × %.4g→%.4g", b.Requests, b.prompt(), b.output())
	if !math.IsInf(b.Rate, 1) {
		load += fmt.Sprintf(", %g/s", b.Rate)
	} else if b.Concurrency == 0 {
		load += ", all at once"
	}
	if b.Concurrency > 0 {
		load += fmt.Sprintf(", %d at once", b.Concurrency)
	}
	return load
}
