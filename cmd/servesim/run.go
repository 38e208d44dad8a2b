package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/scenarios"
)

// runFlags are those flags of `run` that do not change the scenario: what to show, and what to demand of it.
type runFlags struct {
	scenario *scenarioFlags

	format, output         string
	requestsOut            string
	steps, check           bool
	engine                 string
	asserts                []string
	metrics, percentiles   string
	saveResult, saveDetail bool
	resultFile, resultDir  string
}

func newRun(e *env) *cobra.Command {
	var r runFlags
	c := &cobra.Command{
		Use:   "run [SCENARIO]",
		Short: "Simulate one scenario and report what happened",
		Long: "Simulate one scenario and report what happened. SCENARIO is the name of an embedded one (servesim scenarios) or a\n" +
			"YAML file; without it, chat. Flags of `vllm serve` and `vllm bench serve` keep their names and meanings; a switch such\n" +
			"as --enable-prefix-caching is turned off by --no-enable-prefix-caching.",
		Example: "  servesim run\n" +
			"  servesim run chat --request-rate 30 --quantization fp8\n" +
			"  servesim run --model Qwen/Qwen2.5-7B-Instruct --gpu L40S --random-input-len 1024 --random-output-len 256 --request-rate 4\n" +
			"  servesim run conversation --assert 'ttft.p99 < 500ms' --assert 'goodput >= 95%'",
		Args: arguments(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return described(embedded()), cobra.ShellCompDirectiveDefault // then files
		},
		RunE: func(c *cobra.Command, args []string) error {
			name := "chat"
			if len(args) == 1 {
				name = args[0]
			}
			return r.run(c, e, name)
		},
	}
	r.scenario = addScenarioFlags(c)
	f := c.Flags()
	f.StringVar(&r.format, "format", "table", "`table`, json, csv, markdown or vllm (the table of vllm bench serve)")
	f.StringVarP(&r.output, "output", "o", "", "write the report to `FILE` instead of standard output")
	f.StringVar(&r.requestsOut, "requests-out", "", "write one CSV row a request to `FILE`; it can be replayed with --dataset-path")
	f.BoolVar(&r.steps, "steps", false, "print one line a step before the report")
	f.StringArrayVar(&r.asserts, "assert", nil, "fail unless `EXPR` holds, e.g. 'ttft.p99 < 500ms' (repeatable)")
	f.StringVar(&r.engine, "engine", "fast", "`fast`, or reference: the deliberately simple scheduler and memory that it is tested against")
	f.BoolVar(&r.check, "check", false, "check every invariant after every step")
	f.StringVar(&r.metrics, "percentile-metrics", "ttft,tpot,itl", "metrics that --format vllm and --save-result show: `LIST` of ttft, tpot, itl, e2el")
	f.StringVar(&r.percentiles, "metric-percentiles", "99", "percentiles that they show, and that every report adds: `LIST`")
	f.BoolVar(&r.saveResult, "save-result", false, "write the JSON of vllm bench serve to a file")
	f.BoolVar(&r.saveDetail, "save-detailed", false, "the same, with every request and token in it")
	f.StringVar(&r.resultFile, "result-filename", "", "`NAME` of that file")
	f.StringVar(&r.resultDir, "result-dir", "", "`DIRECTORY` of that file")
	complete(c)
	return c
}

func formats() []string { return []string{"table", "json", "csv", "markdown", "vllm"} }

func (r *runFlags) run(c *cobra.Command, e *env, name string) error {
	if err := checkFormat(r.format, formats()...); err != nil {
		return err
	}
	if r.engine != "fast" && r.engine != "reference" {
		return usagef("--engine %s is unknown; allowed: fast, reference", r.engine)
	}
	bench, err := report.ParseBench(r.metrics, r.percentiles)
	if err != nil {
		return usagef("--percentile-metrics %s, --metric-percentiles %s: %w", r.metrics, r.percentiles, err)
	}
	demands, err := conditions(r.asserts)
	if err != nil {
		return err
	}
	for _, w := range e.warnings {
		e.warn(w)
	}
	experiment, err := r.experiment(c, name)
	if err != nil {
		return err
	}
	result, details, err := r.simulate(c, e, experiment, further(bench, demands))
	if err != nil {
		return err
	}
	for _, w := range result.Report.Warnings {
		e.warn(w)
	}
	if err := r.write(e, result, bench); err != nil {
		return err
	}
	if err := r.save(result, bench, details); err != nil {
		return err
	}
	return check(demands, result)
}

// conditions reads every --assert.
func conditions(texts []string) ([]report.Condition, error) {
	var list []report.Condition
	for _, text := range texts {
		c, err := report.ParseCondition(text)
		if err != nil {
			return nil, usagef("--assert %w", err)
		}
		list = append(list, c)
	}
	return list, nil
}

// check tells of every demand that was missed.
func check(demands []report.Condition, result *scenarios.Result) error {
	var missed []string
	for _, c := range demands {
		if err := c.Check(&result.Report); err != nil {
			missed = append(missed, "assertion failed: "+err.Error())
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return errors.New(strings.Join(missed, "\nservesim: "))
}

// further lists the percentiles that were asked for and that a report does not hold anyway.
func further(b report.Bench, demands []report.Condition) []float64 {
	var list []float64
	for _, p := range b.Percentiles {
		if m := (report.Metric{Name: "ttft", Stat: "p" + report.Percentile(p)}); !slices.Contains(list, p) {
			if _, more := m.Percentile(); more {
				list = append(list, p)
			}
		}
	}
	for _, c := range demands {
		if p, more := c.Metric.Percentile(); more && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// experiment reads the scenario, lets the flags change it, and builds it.
func (r *runFlags) experiment(c *cobra.Command, name string) (*scenarios.Experiment, error) {
	d, err := scenarios.Open(name)
	if err != nil {
		return nil, blamed(err)
	}
	if err := r.scenario.apply(c.Flags(), d); err != nil {
		return nil, err
	}
	s, err := d.Scenario()
	if err != nil {
		return nil, blamed(err)
	}
	x, err := s.Build()
	if err != nil {
		return nil, blamed(err)
	}
	return x, nil
}

// simulate runs the experiment under a progress bar.
func (r *runFlags) simulate(c *cobra.Command, e *env, x *scenarios.Experiment, percentiles []float64) (*scenarios.Result, []report.Detail, error) {
	options := scenarios.Options{Check: r.check, Percentiles: percentiles, Naive: r.engine == "reference"}
	var closers []func() error
	if r.requestsOut != "" {
		rows, done, err := r.rowsOut(e)
		if err != nil {
			return nil, nil, err
		}
		options.Requests = rows
		closers = append(closers, done)
	}
	var d details
	if r.saveDetail {
		options.Each = append(options.Each, d.hooks)
	}
	if r.steps {
		log := newStepLog(r.stepsOut(e), x.Replicas())
		options.Each = append(options.Each, log.hooks)
		closers = append(closers, log.close)
	}
	var lost rejections
	lost.watch(&options.Hooks)
	bar := newProgress(e)
	options.Progress = bar.show
	result, err := x.Run(c.Context(), options)
	bar.close()
	for _, done := range closers {
		err = errors.Join(err, done())
	}
	if errors.Is(err, context.Canceled) {
		return nil, nil, errors.New("interrupted: " + bar.so())
	}
	if err != nil {
		return nil, nil, err
	}
	lost.warn(&result.Report, x)
	if !r.saveDetail {
		return result, nil, nil
	}
	return result, d.list(), nil
}

// rowsOut opens what --requests-out names: a file, or standard output where nothing else goes there.
func (r *runFlags) rowsOut(e *env) (io.Writer, func() error, error) {
	if r.requestsOut != "-" {
		file, err := os.Create(r.requestsOut)
		if err != nil {
			return nil, nil, fmt.Errorf("--requests-out: %w", err)
		}
		return file, file.Close, nil
	}
	if r.steps || r.output == "" || r.output == "-" {
		return nil, nil, usagef("--requests-out - would be mixed with the report on standard output: give the report a file with -o FILE (and leave out --steps), or name a file for the rows")
	}
	return e.stdout, func() error { return nil }, nil
}

// stepsOut is where the step log goes: before the page, unless a script reads standard output.
func (r *runFlags) stepsOut(e *env) io.Writer {
	if r.format == "table" || r.output != "" && r.output != "-" {
		return e.stdout
	}
	return e.stderr
}

// write renders the report in the format that was asked for. It is complete before any of it is written.
func (r *runFlags) write(e *env, result *scenarios.Result, bench report.Bench) error {
	var page bytes.Buffer
	var err error
	switch r.format {
	case "table":
		err = report.Page(&page, result)
	case "markdown":
		err = report.Markdown(&page, result)
	case "json":
		err = report.JSON(&page, result)
	case "csv":
		err = report.CSV(&page, result)
	case "vllm":
		err = report.VLLM(&page, result, bench)
	}
	if err != nil {
		return err
	}
	if r.output == "" || r.output == "-" {
		_, err = e.stdout.Write(page.Bytes())
		return err
	}
	return os.WriteFile(r.output, page.Bytes(), 0o644)
}

// save writes vLLM's result file if it was asked for.
func (r *runFlags) save(result *scenarios.Result, bench report.Bench, details []report.Detail) error {
	if !r.saveResult && !r.saveDetail && r.resultFile == "" {
		return nil
	}
	name := r.resultFile
	if name == "" {
		name = report.VLLMFileName(result)
	}
	if r.resultDir != "" {
		if err := os.MkdirAll(r.resultDir, 0o755); err != nil {
			return err
		}
		name = filepath.Join(r.resultDir, name)
	}
	var out bytes.Buffer
	if err := report.VLLMJSON(&out, result, bench, details); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
