package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/servesim/servesim/cmd/internal/report"
)

// rates returns how much was done per second: requests, tokens of answers, steps.
func (s *speed) rates() (requests, tokens, steps float64) {
	return float64(s.requests) / s.seconds, float64(s.tokens) / s.seconds, float64(s.steps) / s.seconds
}

func writeSpeeds(w io.Writer, format string, measured []speed) error {
	switch format {
	case "json":
		return speedJSON(w, measured)
	case "bench":
		return speedLines(w, measured)
	}
	return speedTable(w, measured)
}

// speedTable writes a table, and what its numbers are.
func speedTable(w io.Writer, measured []speed) error {
	t := report.Table{
		Header: []string{"requests", "load", "prefix cache", "running", clock + " time", "requests/s", "output tokens/s", "steps/s", "peak memory"},
		Left:   []int{1, 2},
	}
	for i := range measured {
		s := &measured[i]
		requests, tokens, steps := s.rates()
		t.Rows = append(t.Rows, []string{
			sizeName(s.requests), s.load, onOff(s.caching), fmt.Sprintf("%.1f", s.running), report.Span(s.seconds * 1e3),
			short(requests), short(tokens), short(steps), fmt.Sprintf("%d MB", (s.peak+500_000)/1_000_000),
		})
	}
	if err := t.Text(w); err != nil {
		return err
	}
	what := "per second of CPU time, garbage collection included"
	if clock != "cpu" {
		what = "per second that passed: this system does not tell the CPU time"
	}
	_, err := fmt.Fprintf(w, "\nrates %s; running: sequences in a step, on average\n", what)
	return err
}

// sizeName writes a round number of requests: 10k, 1M.
func sizeName(n int) string {
	if n%1_000_000 == 0 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1_000)
}

// short writes a rate to three digits: 1.23 M.
func short(v float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.from*0.9995 {
			return digits(v/unit.from) + unit.name
		}
	}
	return digits(v)
}

func digits(v float64) string {
	decimals := 0
	for limit := 100.0; v < limit*0.9995 && decimals < 2; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// speedJSON writes the machine and all measurements.
func speedJSON(w io.Writer, measured []speed) error {
	rows := make([]map[string]any, len(measured))
	for i := range measured {
		s := &measured[i]
		requests, tokens, steps := s.rates()
		rows[i] = map[string]any{
			"requests": s.requests, "load": s.load, "rate_per_s": s.rate, "prefix_caching": s.caching,
			"runs": s.runs, clock + "_s": s.seconds, "output_tokens": s.tokens, "steps": s.steps, "mean_running": s.running,
			"requests_per_" + clock + "_s": requests, "output_tokens_per_" + clock + "_s": tokens, "steps_per_" + clock + "_s": steps,
			"peak_memory_bytes": s.peak,
		}
	}
	all := maps.Clone(machine())
	all["measurements"] = rows
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(all)
}

// speedLines writes what `go test -bench` would, for benchstat: an operation is one run.
func speedLines(w io.Writer, measured []speed) error {
	m := machine()
	fmt.Fprintf(w, "goos: %v\ngoarch: %v\npkg: github.com/servesim/servesim/cmd/servesim\n", m["os"], m["arch"])
	for _, unit := range []string{"requests", "output-tokens", "steps"} {
		fmt.Fprintf(w, "Unit %s/%s-s better=higher\n", unit, clock)
	}
	for i := range measured {
		s := &measured[i]
		requests, tokens, steps := s.rates()
		if _, err := fmt.Fprintf(w, "Benchmark%s \t%d\t%.0f %s-ns/op\t%.0f requests/%s-s\t%.0f output-tokens/%s-s\t%.0f steps/%s-s\t%d peak-B\n",
			s.name(), s.runs, s.seconds*1e9, clock, requests, clock, tokens, clock, steps, clock, s.peak); err != nil {
			return err
		}
	}
	return nil
}
