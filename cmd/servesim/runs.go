package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/scenarios/study"
)

// runsFlags are those of `runs` that do not change a scenario.
type runsFlags struct {
	scenario *scenarioFlags
	vary     words
	seeds    int
	shard    shardFlag
	output   string
	check    bool
}

func newRuns(e *env) *cobra.Command {
	var r runsFlags
	c := &cobra.Command{
		Use:   "runs [SCENARIO...]",
		Short: "Simulate many scenarios, variants and seeds, on all cores or a cluster",
		Long: "Simulate every scenario with every variant of --vary and every seed, on all cores, and write one JSON line a run:\n" +
			"\n" +
			`  {"study": FINGERPRINT, "index": 0, "runs": 4, "name": "chat workload.rate=10 seed=1", "report": {…}}` + "\n" +
			"\n" +
			"with the report of `servesim run --format json`. A run that fails has an \"error\" in its place, and the others go on.\n" +
			"The bytes do not depend on the number of cores.\n" +
			"\n" +
			"Several machines share the work with --shard INDEX/COUNT: 0/4, 1/4, 2/4 and 3/4 are the four quarters. Without it, the\n" +
			"shard is taken from Slurm (SLURM_ARRAY_TASK_ID and _COUNT of an array) or Kubernetes (JOB_COMPLETION_INDEX of an\n" +
			"Indexed Job, whose manifest must set JOB_COMPLETIONS); --shard 0/1 plays everything there, too.\n" +
			"`servesim merge` puts the files together: the bytes are those of one machine.",
		Example: "  servesim runs chat summarize --seeds 5 -o results.jsonl\n" +
			"  servesim runs chat --vary workload.rate=10,20,30 --vary engine.max_num_seqs=64,256 -o sweep.jsonl\n" +
			"  servesim runs chat --seeds 100 --shard 0/4 -o part-0.jsonl",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, s := range scenarios.Names() {
				names = append(names, cobra.CompletionWithDesc(s.Name, s.Summary))
			}
			return names, cobra.ShellCompDirectiveDefault // then files
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"chat"}
			}
			return r.run(c, e, args)
		},
	}
	f := c.Flags()
	r.vary.kind = "PATH=V1,V2..."
	f.Var(&r.vary, "vary", "run with each of these values of a field, e.g. workload.rate=10,20 (repeatable: all combinations)")
	f.IntVar(&r.seeds, "seeds", 1, "run with `N` seeds each, from the scenario's on")
	f.Var(&r.shard, "shard", "play this part only: 0/4 is the first of four")
	f.StringVarP(&r.output, "output", "o", "", "write to `FILE` instead of standard output")
	f.BoolVar(&r.check, "check", false, "check every invariant after every step")
	r.scenario = addScenarioFlags(c)
	return c
}

func (r *runsFlags) run(c *cobra.Command, e *env, names []string) error {
	if r.seeds < 1 {
		return usagef("--seeds must be at least 1, got %d", r.seeds)
	}
	shard, err := r.shard.find(e)
	if err != nil {
		return err
	}
	for _, w := range e.warnings {
		e.warn(w)
	}
	runs, warnings, err := r.list(c, names)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		e.warn(w)
	}
	out, done, err := create(e, r.output)
	if err != nil {
		return err
	}
	return errors.Join(r.play(c.Context(), e, runs, study.Options{Shard: shard, Check: r.check}, out), done())
}

// create opens the file of -o; standard output has nothing to be closed.
func create(e *env, name string) (io.Writer, func() error, error) {
	if name == "" || name == "-" {
		return e.stdout, func() error { return nil }, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, nil, fmt.Errorf("-o: %w", err)
	}
	return file, file.Close, nil
}

// play plays the runs and writes each as soon as those before it are written.
func (r *runsFlags) play(ctx context.Context, e *env, runs []study.Run, o study.Options, out io.Writer) error {
	bar := newProgress(e)
	bar.what = "runs"
	o.Progress = bar.show
	lines := study.NewLines(out, runs, o)
	var failed []string
	err := study.Each(ctx, runs, o, func(outcome study.Outcome) error {
		if outcome.Err != nil {
			failed = append(failed, outcome.Err.Error())
		}
		return lines.Write(outcome)
	})
	bar.close()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %d of %d runs had ended", bar.done, len(o.Shard.Indices(len(runs))))
	}
	return errors.Join(err, failures(failed))
}

// failures tells of runs that failed; their lines are written.
func failures(failed []string) error {
	const shown = 8
	if len(failed) == 0 {
		return nil
	}
	text := failed
	if len(text) > shown {
		text = append(slices.Clone(text[:shown]), fmt.Sprintf("%d more runs failed", len(failed)-shown))
	}
	return errors.New(strings.Join(text, "\nservesim: "))
}

// list makes the runs: scenario by scenario, variant by variant, seed by seed. All of them are checked before the first
// begins. It returns the distinct warnings, too.
func (r *runsFlags) list(c *cobra.Command, names []string) (runs []study.Run, warnings []string, err error) {
	variants, err := variantsOf(r.vary.list)
	if err != nil {
		return nil, nil, err
	}
	shared := new(scenarios.Shared)
	for _, name := range names {
		for _, v := range variants {
			x, err := r.experiment(c, shared, name, v)
			if err != nil {
				return nil, nil, err
			}
			for _, w := range x.Warnings {
				if !slices.Contains(warnings, w) {
					warnings = append(warnings, w)
				}
			}
			for i := range r.seeds {
				run := study.Run{Name: name + v.name(), Experiment: x, Seed: x.Scenario.Seed + uint64(i)}
				if r.seeds > 1 {
					run.Name += fmt.Sprintf(" seed=%d", run.Seed)
				}
				runs = append(runs, run)
			}
		}
	}
	return runs, warnings, nil
}

// experiment builds one variant of one scenario.
func (r *runsFlags) experiment(c *cobra.Command, shared *scenarios.Shared, name string, v variant) (*scenarios.Experiment, error) {
	d, err := scenarios.Open(name)
	if err != nil {
		return nil, blamed(err)
	}
	if err := r.scenario.apply(c.Flags(), d); err != nil {
		return nil, err
	}
	for _, x := range v {
		if err := d.Set(x.path, x.value, x.origin); err != nil {
			return nil, usageError{err}
		}
	}
	s, err := d.Scenario()
	if err != nil {
		return nil, blamed(err)
	}
	x, err := shared.Build(s)
	if err != nil {
		return nil, blamed(err)
	}
	return x, nil
}

// A variant is one value for each field that varies.
type variant []setting

// name returns " path=value" for each field.
func (v variant) name() string {
	var b strings.Builder
	for _, x := range v {
		fmt.Fprintf(&b, " %s=%s", x.path, x.value)
	}
	return b.String()
}

// variantsOf returns all combinations of the values of --vary; the last field varies fastest. Without --vary there is
// one, which changes nothing.
func variantsOf(vary []string) ([]variant, error) {
	all := []variant{nil}
	for _, text := range vary {
		path, list, ok := strings.Cut(text, "=")
		path = strings.TrimSpace(path)
		if !ok || path == "" || list == "" {
			return nil, usagef("--vary %s: want PATH=V1,V2, e.g. --vary workload.rate=10,20", text)
		}
		var longer []variant
		for _, v := range all {
			for _, value := range splitValues(list) {
				longer = append(longer, append(slices.Clone(v), setting{path, value, "--vary " + path}))
			}
		}
		all = longer
	}
	return all, nil
}

// splitValues splits at commas, but not within brackets or quotes: a value may be a mapping.
func splitValues(list string) []string {
	var values []string
	depth, from := 0, 0
	var quote rune
	for i, c := range list {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			values = append(values, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return append(values, strings.TrimSpace(list[from:]))
}
