package measured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scenarios"
)

// Validate runs the rows that the filter keeps and compares. All groups run at once, on as many processors as there are;
// the report does not depend on how many. It fails only when the context ends.
func (t *Table) Validate(ctx context.Context, keep Filter) (*Report, error) {
	outcomes := make([]outcome, len(t.Rows))
	groups := t.groups(keep)
	err := inParallel(ctx, len(groups), func(i int) error { return t.runGroup(ctx, groups[i], outcomes) })
	if err != nil {
		return nil, err
	}
	b := newBuilder(t.embedded)
	for i := range t.Rows {
		if keep.Keeps(&t.Rows[i]) {
			b.add(&t.Rows[i], &outcomes[i])
		}
	}
	return b.report(), nil
}

// An outcome is what became of a row.
type outcome struct {
	skipped       string // why there is no result
	result        *scenarios.Result
	device        string
	planned       int64   // tokens of KV that the memory plan finds room for
	amplification float64 // see amplification; 0: does not apply
}

// groups lists, for each server that a kept row ran on, the rows to run: a phase needs those before it.
func (t *Table) groups(keep Filter) [][]int {
	at := make(map[string]int)
	var groups [][]int
	for i := range t.Rows {
		g, seen := at[t.Rows[i].Group]
		if !seen {
			g = len(groups)
			at[t.Rows[i].Group] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	needed := groups[:0]
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b int) int { return t.Rows[a].Phase - t.Rows[b].Phase })
		for len(g) > 0 && !keep.Keeps(&t.Rows[g[len(g)-1]]) {
			g = g[:len(g)-1]
		}
		if len(g) > 0 {
			needed = append(needed, g)
		}
	}
	return needed
}

// runGroup runs the rows of one group in turn: each starts when all answers of the one before are there, and finds what it
// has left in the cache, on the GPUs and in the host's memory.
func (t *Table) runGroup(ctx context.Context, rows []int, outcomes []outcome) error {
	var memory scenarios.Memory
	var served int64
	first := &t.Rows[rows[0]]
	for _, i := range rows {
		r, o := &t.Rows[i], &outcomes[i]
		if !slices.Equal(r.server(), first.server()) {
			o.skipped = fmt.Sprintf("its settings differ from those of %s, which ran on the same server before", first.ID)
			continue
		}
		x, err := r.experiment()
		if err != nil {
			o.skipped = err.Error()
			continue
		}
		if memory == nil {
			memory = x.Cold()
		}
		x.Workload.First = served
		served += int64(r.Requests)
		if o.result, err = x.Run(ctx, scenarios.Options{Memory: memory}); err != nil {
			if ctx.Err() != nil {
				return err
			}
			o.skipped = err.Error()
			continue
		}
		o.note(r, x)
	}
	return nil
}

// note keeps what the report needs beside the result.
func (o *outcome) note(r *Row, x *scenarios.Experiment) {
	o.device, o.planned = x.Deployment.Device.Name, x.Memory.Tokens()
	q := o.result.Report.Requests
	lost := q.Submitted - q.Completed
	if r.patience() != "" {
		lost -= q.Aborted // the clients of the measured run gave up, too
	}
	if lost > 0 || q.Completed == 0 {
		o.skipped = fmt.Sprintf("%d of %d requests were not answered", lost, q.Submitted)
		if rejections := o.result.Report.Rejections; len(rejections) > 0 {
			o.skipped += ": " + rejections[0].Reason
		}
		return
	}
	if r.open() {
		o.amplification = amplification(x, o.result)
	}
}

// mostAmplified stands for everything beyond: the load is past what the server can take.
const mostAmplified = 100

// amplification tells by what factor an error of the step time grows into one of end-to-end time under an open load: the
// number of sequences n = λ·E2E follows the step time T, which itself grows with n. With T′ = dT/dn
//
//	d ln E2E / d ln T = 1/(1 − T′·n/T)
//
// The slope is taken over n ± n/4, wider than the steps of CUDA graph sizes.
func amplification(x *scenarios.Experiment, result *scenarios.Result) float64 {
	cost, err := hardware.NewRoofline(x.Deployment)
	n := result.Report.Engine.Batch.MeanRunning
	if err != nil || n < 1 || result.Report.Requests.Completed == 0 {
		return 1
	}
	tokens := result.Report.Tokens
	context := float64(tokens.Input+tokens.Output/2) / float64(result.Report.Requests.Completed)
	step := func(n float64) float64 {
		rows := int(math.Ceil(n))
		c := cost.Cost(hardware.Step{Tokens: rows, Seqs: rows, Decodes: rows, Sampled: rows, KVRead: int64(n * context)})
		return (c.Device + c.Exposed).Seconds()
	}
	growth := (step(1.25*n) - step(0.75*n)) / (0.5 * step(n))
	if growth >= 1-1.0/mostAmplified {
		return mostAmplified
	}
	return 1 / (1 - growth)
}

// inParallel calls do for 0…n−1 on all processors and returns the first error in order.
func inParallel(ctx context.Context, n int, do func(int) error) error {
	next := make(chan int)
	errs := make([]error, n)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			errs[i] = ctx.Err()
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}
