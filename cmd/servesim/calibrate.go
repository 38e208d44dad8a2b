package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/scenarios/measured"
)

// calibrateFlags are those that do not describe the server.
type calibrateFlags struct {
	server       *scenarioFlags
	name         string // of the scenario
	output       string
	format, call string
}

func newCalibrate(e *env) *cobra.Command {
	var k calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate RESULT.json...",
		Short: "Fit the constants of your own machine to benchmarks of it",
		Long: "Fit at most six physical numbers of a machine to results of `vllm bench serve --save-result` and write them to a\n" +
			"profile for `servesim run --profile`: host time per step and per sequence that nothing hides, latency of the front\n" +
			"end, what the kernels reach of bandwidth and of arithmetic relative to other cards of the kind, and KV blocks.\n" +
			"\n" +
			"Measure at four different loads or more: from one sequence at a time to near saturation, with short and long prompts.\n" +
			"With fewer, fewer numbers are fitted. Give the flags that the server was started with.\n" +
			"Give each benchmark its own --seed, or start the server with --no-enable-prefix-caching: the same prompts again are\n" +
			"answered from the prefix cache. With --save-detailed each request is replayed as it was; without, all have the mean length.",
		Example: "  servesim calibrate c1.json c8.json c32.json c128.json --gpu L40S --max-num-seqs 128 -o mine.yaml\n" +
			"  servesim run --profile mine.yaml --request-rate 12",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("calibrate needs the results of vllm bench serve --save-result, at best four at different loads")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return k.run(c, e, args) },
	}
	k.server = addScenarioFlags(c)
	f := c.Flags()
	f.StringVar(&k.name, "scenario", "", "`SCENARIO` that describes the server; its workload does not matter")
	f.StringVarP(&k.output, "output", "o", "", "write the profile to `FILE` instead of standard output")
	f.StringVar(&k.format, "format", "table", "of what is printed about the fit: `table` or json")
	f.StringVar(&k.call, "name", "", "`NAME` of the machine, for messages")
	complete(c)
	return c
}

func (k *calibrateFlags) run(c *cobra.Command, e *env, files []string) error {
	if err := checkFormat(k.format, "table", "json"); err != nil {
		return err
	}
	for _, w := range e.warnings {
		e.warn(w)
	}
	results, err := readResults(files)
	if err != nil {
		return err
	}
	server := func() (*scenarios.Document, error) { return k.document(c, results[0].Model, files[0]) }
	fit, err := measured.Calibrate(c.Context(), server, results)
	if err != nil {
		return blamed(err)
	}
	if k.call != "" {
		fit.Overlay.Name = k.call
	}
	var page bytes.Buffer
	switch {
	case k.format == "json":
		out := json.NewEncoder(&page)
		out.SetIndent("", "  ")
		err = out.Encode(struct {
			*measured.Calibration
			Profile string `json:"profile"` // as it is written to a file
		}{fit, string(fit.Overlay.YAML())})
	default:
		err = k.page(&page, fit)
	}
	if err != nil {
		return err
	}
	if k.output != "" {
		if err := os.WriteFile(k.output, fit.Overlay.YAML(), 0o644); err != nil {
			return err
		}
	}
	_, err = e.stdout.Write(page.Bytes())
	return err
}

// readResults reads every file and tells of all mistakes.
func readResults(files []string) ([]measured.Benchmark, error) {
	var all []measured.Benchmark
	var faults []error
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: cannot be read: %w", name, unwrapped(err)))
			continue
		}
		results, err := measured.ReadBenchmarks(name, bytes.NewReader(text))
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, results...)
	}
	return all, errors.Join(faults...)
}

// document describes the server. Without a scenario it runs the model that the first result names.
func (k *calibrateFlags) document(c *cobra.Command, model, origin string) (*scenarios.Document, error) {
	d, err := scenarios.Parse("calibrate", nil)
	if k.name != "" {
		d, err = scenarios.Open(k.name)
	}
	if err != nil {
		return nil, blamed(err)
	}
	if k.name == "" && model != "" {
		if err := d.Set("model", model, origin); err != nil {
			return nil, err
		}
	}
	return d, k.server.apply(c.Flags(), d)
}

// page writes what was found, and the profile unless it goes to a file.
func (k *calibrateFlags) page(w io.Writer, fit *measured.Calibration) error {
	fmt.Fprintf(w, "%s: fitted to %d results in %d simulations\n\n", fit.Overlay.Name, len(fit.Results), fit.Simulations)
	if err := constantsTable(fit).Text(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := resultsTable(fit).Text(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nerror (root mean square)  %.1f%% before, %.1f%% after", fit.BeforePct, fit.AfterPct)
	if fit.LeftOutPct > 0 {
		fmt.Fprintf(w, ", %.1f%% for a result left out of the fit", fit.LeftOutPct)
	}
	s := fit.Overlay.Fitted
	fmt.Fprintf(w, "\nfitted range of loads     %.3g to %.3g requests in the system, prompts of %.4g to %.4g tokens, answers of %.4g to %.4g\n",
		s.Requests[0], s.Requests[1], s.PromptTokens[0], s.PromptTokens[1], s.OutputTokens[0], s.OutputTokens[1])
	for _, n := range fit.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	if k.output == "" {
		fmt.Fprintf(w, "\n%s", fit.Overlay.YAML())
	} else {
		fmt.Fprintf(w, "\n%s written; use it with: servesim run --profile %s\n", k.output, k.output)
	}
	return nil
}

func constantsTable(fit *measured.Calibration) report.Table {
	t := report.Table{Header: []string{"constant", "default", "fitted", "±", "remark"}, Left: []int{0, 4}}
	for _, k := range fit.Constants {
		fitted, deviation := "–", ""
		if k.Fitted {
			fitted, deviation = k.Constant.Format(k.Value), k.Constant.Format(k.Deviation)
		}
		t.Rows = append(t.Rows, []string{k.Name, k.Constant.Format(k.Default), fitted, deviation, k.Why})
	}
	return t
}

// resultsTable shows the errors of each result: before → after, and when it is left out.
func resultsTable(fit *measured.Calibration) report.Table {
	t := report.Table{Header: []string{"result", "load", "metric", "before", "after", "left out"}, Left: []int{0, 1, 2}}
	for _, r := range fit.Results {
		for i, metric := range r.Metrics {
			row := []string{r.Name, r.Load, metric, signed(r.BeforePct[i]), signed(r.AfterPct[i]), "–"}
			if i > 0 {
				row[0], row[1] = "", ""
			}
			if r.LeftOutPct != nil {
				row[5] = signed(r.LeftOutPct[i])
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// signed writes a percentage with its sign; nothing is neither more nor less.
func signed(pct float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f%%", pct), "-0.0%", "+0.0%", 1)
}
