package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// A Bench says how `vllm bench serve` was asked to show a result.
type Bench struct {
	Metrics     []string  // of ttft, tpot, itl, e2el; vLLM's own choice: ttft, tpot, itl
	Percentiles []float64 // vLLM's own choice: 99
}

// DefaultBench is what vLLM shows when it is not asked for anything else.
func DefaultBench() Bench {
	return Bench{Metrics: []string{"ttft", "tpot", "itl"}, Percentiles: []float64{99}}
}

// ParseBench reads --percentile-metrics and --metric-percentiles.
func ParseBench(names, percentiles string) (Bench, error) {
	b := Bench{}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains([]string{"ttft", "tpot", "itl", "e2el"}, name) {
			return b, fmt.Errorf("unknown metric %q; allowed: ttft, tpot, itl, e2el", name)
		}
		b.Metrics = append(b.Metrics, name)
	}
	for text := range strings.SplitSeq(percentiles, ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return b, fmt.Errorf("%q is not a percentile between 0 and 100", text)
		}
		b.Percentiles = append(b.Percentiles, p)
	}
	return b, nil
}

// VLLM writes the table that `vllm bench serve` prints, so that a simulated and a measured run differ line by line and
// in nothing else: 50 columns, labels in 40 of them.
func VLLM(w io.Writer, r *scenarios.Result, b Bench) error {
	m, load := &r.Report, loadOf(r)
	var out strings.Builder
	line := func(label, value string) { fmt.Fprintf(&out, "%-40s %-10s\n", label, value) }
	out.WriteString(centred(" Serving Benchmark Result ", "=") + "\n")
	line("Successful requests:", strconv.Itoa(m.Requests.Completed))
	line("Failed requests:", strconv.Itoa(failed(m)))
	if load.concurrency > 0 {
		line("Maximum request concurrency:", strconv.Itoa(load.concurrency))
	}
	if !math.IsInf(load.rate, 1) {
		line("Request rate configured (RPS):", two(load.rate))
	}
	line("Benchmark duration (s):", two(m.DurationS))
	line("Total input tokens:", strconv.FormatInt(m.Tokens.Input, 10))
	line("Total generated tokens:", strconv.FormatInt(m.Tokens.Output, 10))
	line("Request throughput (req/s):", two(m.Throughput.RequestsPerS))
	if m.Goodput.RequestsPerS != nil {
		line("Request goodput (req/s):", two(*m.Goodput.RequestsPerS))
	}
	line("Output token throughput (tok/s):", two(m.Throughput.OutputTokensPerS))
	line("Peak output token throughput (tok/s):", two(float64(m.Throughput.PeakOutputTokensPerS)))
	line("Peak concurrent requests:", two(float64(m.Throughput.PeakConcurrentRequests)))
	line("Total token throughput (tok/s):", two(m.Throughput.TotalTokensPerS))
	for _, name := range b.Metrics {
		out.WriteString(centred(benchTitle(name), "-") + "\n")
		s, short := latencyOf(m, name), strings.ToUpper(name)
		line("Mean "+short+" (ms):", two(s.Mean))
		line("Median "+short+" (ms):", two(s.P50))
		for _, p := range b.Percentiles {
			line("P"+Percentile(p)+" "+short+" (ms):", two(at(s, p)))
		}
	}
	if m.Speculation != nil {
		benchSpeculation(&out, line, m.Speculation)
	}
	out.WriteString(strings.Repeat("=", benchWidth) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

const benchWidth = 50

func benchTitle(name string) string {
	switch name {
	case "ttft":
		return "Time to First Token"
	case "tpot":
		return "Time per Output Token (excl. 1st token)"
	case "itl":
		return "Inter-token Latency"
	}
	return "End-to-end Latency"
}

// failed counts what vLLM's client would have seen as errors.
func failed(m *metrics.Report) int {
	return m.Requests.Rejected + m.Requests.Aborted + m.Requests.Unfinished
}

// at returns a percentile; those beyond the usual ones are there if they were asked for before the run.
func at(s *metrics.Stats, p float64) float64 {
	return statOf(s, "p"+Percentile(p)).Amount
}

func two(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// Percentile prints a percentile as vLLM does: 99, 99.9.
func Percentile(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// centred sets a title in the middle of a line as Python's "{:^50}" does: an odd blank goes to the right.
func centred(title, fill string) string {
	space := max(0, benchWidth-len(title))
	return strings.Repeat(fill, space/2) + title + strings.Repeat(fill, space-space/2)
}
