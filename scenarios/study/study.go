package study

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/servesim/servesim/scenarios"
)

// A Run is one simulation of a study: an experiment under a seed. Runs that differ in their seed alone share the
// experiment.
type Run struct {
	Name       string
	Experiment *scenarios.Experiment
	Seed       uint64 // in place of the scenario's
}

// Options say how a study is played and what its runs are asked for. The zero value plays all of it, on all cores.
type Options struct {
	Shard       Shard                 // the part of the list that is played; the zero value is all of it
	Parallel    int                   // simulations at once; 0: as many as there are cores for this process
	Percentiles []float64             // reported beside the usual ones
	PerToken    bool                  // measure every token
	Check       bool                  // verify every invariant after every step
	Progress    func(done, total int) // hears of every run that has ended; one call at a time
}

// An Outcome is what became of one run: a result, or the reason why there is none.
type Outcome struct {
	Index  int // in the list of runs
	Name   string
	Result *scenarios.Result // nil if the run failed
	Err    error             // a *Failure, or nil
}

// A Failure is the error of one run among many.
type Failure struct {
	Index int
	Name  string
	Err   error
}

// Error returns "run 3 (name): what".
func (f *Failure) Error() string { return fmt.Sprintf("run %d (%s): %v", f.Index, f.Name, f.Err) }

// Unwrap returns the error without its place.
func (f *Failure) Unwrap() error { return f.Err }

// Play plays the runs and returns their outcomes in the order of the list. The error joins the failures of single
// runs, whose outcomes stand among the others; after a cancellation it is the context's, and the outcomes are those
// that can be relied on: the first so many.
func Play(ctx context.Context, runs []Run, o Options) ([]Outcome, error) {
	var outcomes []Outcome
	var failures []error
	err := Each(ctx, runs, o, func(out Outcome) error {
		outcomes = append(outcomes, out)
		if out.Err != nil {
			failures = append(failures, out.Err)
		}
		return nil
	})
	if err != nil {
		return outcomes, err
	}
	return outcomes, errors.Join(failures...)
}

// Each plays the runs and hands over each outcome once those before it in the list have been, one call at a time. So a
// long study can be written down while it goes on, and only what overtook a slow run is held in memory. A failed run
// does not stop the others; an error of take does, and so does the context.
func Each(ctx context.Context, runs []Run, o Options, take func(Outcome) error) error {
	mine := o.Shard.Indices(len(runs))
	line := &queue{take: take, waiting: make([]*Outcome, len(mine)), progress: o.Progress}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(o.parallel())
	for place, index := range mine {
		if within.Err() != nil {
			break
		}
		g.Go(func() error {
			out, err := play(within, runs, index, &o)
			if err != nil {
				return err
			}
			return line.put(place, out)
		})
	}
	if err := g.Wait(); err != nil || line.next == len(mine) {
		return err
	}
	return ctx.Err()
}

func (o *Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// play plays one run. The error is the context's; a failure of the run itself is an outcome, and so is a broken
// invariant, which must not take the other runs' results along.
func play(ctx context.Context, runs []Run, index int, o *Options) (out Outcome, err error) {
	r := &runs[index]
	out = Outcome{Index: index, Name: r.Name}
	defer func() {
		if broken := recover(); broken != nil {
			out.Err = &Failure{index, r.Name, fmt.Errorf("a bug of the simulator, please report it with the scenario: %v", broken)}
		}
	}()
	x := r.Experiment
	if x.Scenario.Seed != r.Seed {
		x = x.WithSeed(r.Seed)
	}
	result, failed := x.Run(ctx, scenarios.Options{Check: o.Check, PerToken: o.PerToken, Percentiles: o.Percentiles})
	if failed != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Err = &Failure{index, r.Name, failed}
		return out, nil
	}
	out.Result = result
	return out, nil
}

// A queue puts outcomes back into the order of the list.
type queue struct {
	mu       sync.Mutex
	take     func(Outcome) error
	progress func(done, total int)
	waiting  []*Outcome // by place; nil: not there yet, or handed over
	next     int        // the place whose turn it is
	done     int
	failed   error // of take
}

func (q *queue) put(place int, out Outcome) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[place] = &out
	q.done++
	for q.failed == nil && q.next < len(q.waiting) && q.waiting[q.next] != nil {
		q.failed = q.take(*q.waiting[q.next])
		q.waiting[q.next] = nil
		q.next++
	}
	if q.progress != nil {
		q.progress(q.done, len(q.waiting))
	}
	return q.failed
}
