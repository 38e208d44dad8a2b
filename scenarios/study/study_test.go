package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/scenarios"
)

// small is a scenario of a few requests; %s is more of its workload.
const small = `
name: small
workload: {requests: 40, rate: 20, prompt: {dist: uniform, mean: 200, range_ratio: 0.5}, output: {dist: uniform, mean: 20, range_ratio: 0.5}%s}
`

func experiment(t testing.TB, shared *scenarios.Shared, text string) *scenarios.Experiment {
	t.Helper()
	d, err := scenarios.Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	x, err := shared.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// several returns n runs of two configurations that use one engine and one trace.
func several(t testing.TB, n int) []Run {
	t.Helper()
	shared := new(scenarios.Shared)
	kinds := []*scenarios.Experiment{
		experiment(t, shared, fmt.Sprintf(small, "")),
		experiment(t, shared, fmt.Sprintf(small, ", max_concurrency: 4")),
	}
	var runs []Run
	for i := range n {
		runs = append(runs, Run{Name: fmt.Sprintf("run-%d", i), Experiment: kinds[i%2], Seed: uint64(i / 2)})
	}
	return runs
}

// text plays the runs and returns the lines.
func text(t *testing.T, runs []Run, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Each(t.Context(), runs, o, NewLines(&b, runs, o).Write); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBytesDoNotDependOnHowManyRunAtOnce(t *testing.T) {
	runs := several(t, 12)
	before := runtime.GOMAXPROCS(1)
	one := text(t, runs, Options{})
	runtime.GOMAXPROCS(2)
	two := text(t, runs, Options{})
	runtime.GOMAXPROCS(before)
	if one != two || one != text(t, runs, Options{Parallel: 7}) {
		t.Error("the same study has other bytes when more of its runs go at once")
	}
	if n := strings.Count(one, "\n"); n != 12 {
		t.Errorf("%d lines, want 12", n)
	}
}

func TestARunInAStudyIsTheRunAlone(t *testing.T) {
	d, err := scenarios.Parse("small.yaml", []byte(fmt.Sprintf(small, "")+"seed: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	alone, err := x.Run(t.Context(), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := Play(t.Context(), several(t, 12), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := errors.Join(NewLines(&a, nil, Options{}).Write(Outcome{Result: alone}),
		NewLines(&b, nil, Options{}).Write(Outcome{Result: outcomes[6].Result})); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("alone:\n%s\nin a study:\n%s", a.String(), b.String())
	}
}

// broken returns an experiment that builds and does not run.
func broken(t *testing.T) *scenarios.Experiment {
	x := *experiment(t, new(scenarios.Shared), fmt.Sprintf(small, ""))
	x.Workload.Rate = -1
	return &x
}

func TestAFailingRunNamesItselfAndLosesNoOther(t *testing.T) {
	runs := several(t, 5)
	runs[3].Experiment = broken(t)
	runs[1].Experiment = nil // a bug: the run panics
	outcomes, err := Play(t.Context(), runs, Options{})
	if err == nil || !strings.Contains(err.Error(), "run 3 (run-3): workload.rate: must ") || !strings.Contains(err.Error(), "run 1 (run-1): a bug of the simulator") {
		t.Errorf("error is %v", err)
	}
	var failure *Failure
	if !errors.As(outcomes[3].Err, &failure) || failure.Index != 3 || outcomes[3].Result != nil {
		t.Errorf("outcome of the failing run: %+v", outcomes[3])
	}
	for i, out := range outcomes {
		if good := out.Result != nil && out.Err == nil; good != (i != 1 && i != 3) || out.Index != i || out.Name != runs[i].Name {
			t.Errorf("outcome %d: %+v", i, out)
		}
	}
}

func TestCancellationStopsTheStudyAndKeepsTheFirstOutcomes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	// One at a time: beside others, a slow first run may be cut short after the third has ended, and holds all back.
	outcomes, err := Play(ctx, several(t, 50), Options{Parallel: 1, Progress: func(done, total int) {
		if done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the context's", err)
	}
	if len(outcomes) < 3 || len(outcomes) > 4 {
		t.Errorf("%d of 50 outcomes after cancelling at the third", len(outcomes))
	}
	for i, out := range outcomes {
		if out.Index != i || out.Result == nil {
			t.Errorf("outcome %d: %+v", i, out)
		}
	}
}

func TestAnErrorOfTheTakerStopsTheStudy(t *testing.T) {
	full := errors.New("disk full")
	taken := 0
	err := Each(t.Context(), several(t, 50), Options{}, func(Outcome) error {
		if taken++; taken == 3 {
			return full
		}
		return nil
	})
	if !errors.Is(err, full) || taken != 3 {
		t.Errorf("error is %v after %d outcomes", err, taken)
	}
}

func TestProgressCountsEveryRun(t *testing.T) {
	var seen []int
	if _, err := Play(t.Context(), several(t, 6), Options{Progress: func(done, total int) { seen = append(seen, done*10+total) }}); err != nil {
		t.Fatal(err)
	}
	if want := []int{16, 26, 36, 46, 56, 66}; !slices.Equal(seen, want) {
		t.Errorf("progress %v, want %v", seen, want)
	}
}
