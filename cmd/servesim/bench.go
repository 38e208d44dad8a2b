package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios"
)

// benchFlags are those of `bench`.
type benchFlags struct {
	quick          bool
	count          int
	format, output string
}

func newBench(e *env) *cobra.Command {
	var b benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the simulator is on this machine",
		Long: "Measure how fast the simulator is on this machine: requests, output tokens and steps per second of CPU time, garbage\n" +
			"collection included, and the most memory that the process held.\n" +
			"\n" +
			"The load is always the same: llama-3.1-8b on one H100-SXM with 256 seats, prompts of 512 and answers of 256 tokens\n" +
			"± 50 %, drawn anew; at a third of what the engine can serve, near it, and beyond it; with prefix caching and without.",
		Example: "  servesim bench --quick\n" +
			"  servesim bench --quick --count 10 --format bench >new.txt && benchstat old.txt new.txt",
		Args: arguments(0),
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c.Context(), e) },
	}
	f := c.Flags()
	f.BoolVar(&b.quick, "quick", false, "1,000 and 10,000 requests only, not up to a million")
	f.IntVar(&b.count, "count", 1, "measure everything `N` times")
	f.StringVar(&b.format, "format", "table", "`table`, json, or bench (Go benchmark lines, for benchstat)")
	f.StringVarP(&b.output, "output", "o", "", "write to `FILE` instead of standard output")
	return c
}

func (b *benchFlags) run(ctx context.Context, e *env) error {
	if err := checkFormat(b.format, "table", "json", "bench"); err != nil {
		return err
	}
	if b.count < 1 {
		return usagef("--count must be at least 1, got %d", b.count)
	}
	cells := matrix(b.quick)
	bar := newProgress(e)
	bar.what = "measurements"
	shared := new(scenarios.Shared)
	var measured []speed
	for range b.count {
		for _, c := range cells {
			s, err := c.measure(ctx, shared)
			if errors.Is(err, context.Canceled) {
				bar.close()
				return fmt.Errorf("interrupted after %d of %d measurements", len(measured), b.count*len(cells))
			}
			if err != nil {
				bar.close()
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			measured = append(measured, s)
			bar.show(len(measured), b.count*len(cells))
		}
	}
	bar.close()
	out, done, err := create(e, b.output)
	if err != nil {
		return err
	}
	return errors.Join(writeSpeeds(out, b.format, measured), done())
}

// A cell is one entry of the matrix: how many requests, at which load, with prefix caching or without.
type cell struct {
	requests int
	load     string
	rate     float64 // requests per second
	caching  bool
}

// matrix lists the cells. The engine serves about 34 such requests a second.
func matrix(quick bool) []cell {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if quick {
		sizes = sizes[:2]
	}
	var cells []cell
	for _, n := range sizes {
		for _, caching := range []bool{true, false} {
			cells = append(cells, cell{n, "third", 11.5, caching}, cell{n, "near", 33, caching}, cell{n, "over", 45, caching})
		}
	}
	return cells
}

// name is the cell's as benchstat reads it.
func (c cell) name() string {
	return fmt.Sprintf("Servesim/requests=%d/load=%s/prefix_caching=%s", c.requests, c.load, onOff(c.caching))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// experiment builds the cell's scenario.
func (c cell) experiment(shared *scenarios.Shared) (*scenarios.Experiment, error) {
	const text = `
name: bench
model: llama-3.1-8b
hardware: {gpu: h100-sxm}
engine: {max_num_seqs: 256, enable_prefix_caching: %t}
workload:
  requests: %d
  rate: %v
  arrivals: poisson
  prompt: {dist: uniform, mean: 512, range_ratio: 0.5}
  output: {dist: uniform, mean: 256, range_ratio: 0.5}
slo: {ttft: 1s, tpot: 50ms}
`
	d, err := scenarios.Parse("bench.yaml", fmt.Appendf(nil, text, c.caching, c.requests, c.rate))
	if err != nil {
		return nil, err
	}
	s, err := d.Scenario()
	if err != nil {
		return nil, err
	}
	return shared.Build(s)
}

// enough is how much CPU time a measurement takes at least, in seconds: short runs are repeated.
const enough = 0.2

// A speed is one measurement. Times are CPU time where the system tells it.
type speed struct {
	cell
	runs    int
	seconds float64 // of one run
	tokens  int64   // of the answers
	steps   int64
	running float64 // sequences in a step, mean over time
	peak    uint64  // bytes that the process held
}

// measure plays the cell, the building of it included, often enough to be told from noise.
func (c cell) measure(ctx context.Context, shared *scenarios.Shared) (speed, error) {
	s := speed{cell: c}
	if _, err := c.experiment(shared); err != nil { // the cost model is start-up
		return s, err
	}
	memory := watchMemory()
	begun := cpuSeconds()
	var err error
	for err == nil && (s.runs == 0 || cpuSeconds()-begun < enough) {
		err = s.once(ctx, shared)
	}
	s.seconds = (cpuSeconds() - begun) / float64(s.runs)
	s.peak = memory.stop()
	return s, err
}

// once builds and plays the cell, and keeps what it amounted to.
func (s *speed) once(ctx context.Context, shared *scenarios.Shared) error {
	x, err := s.experiment(shared)
	if err != nil {
		return err
	}
	result, err := x.Run(ctx, scenarios.Options{})
	if err != nil {
		return err
	}
	s.runs++
	s.tokens, s.steps, s.running = result.Tokens.Output, result.Engine.Steps, result.Engine.Batch.MeanRunning
	return nil
}

// machine says what was measured on.
func machine() map[string]any {
	return map[string]any{
		"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.GOMAXPROCS(0), "clock": clock,
		"version": scenarios.Version,
	}
}
