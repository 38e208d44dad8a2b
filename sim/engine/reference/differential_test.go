package reference_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/engine/reference"
	"github.com/servesim/servesim/sim/workload"
)

// fast plays the requests of w against the fast engine, over a given scheduler and cache, and logs what Run would.
func fast(t *testing.T, w wild, s scheduler.Scheduler, cache kvcache.Cache) reference.Log {
	t.Helper()
	var log reference.Log
	log.Outcomes = make([]workload.Outcome, len(w.reqs))
	var planned []reference.Step // plans with work in flight
	hooks := engine.Hooks{
		TokenOut: func(_ sim.Time, l *engine.Life) {
			log.Tokens = append(log.Tokens, reference.Token{Request: int(l.Request.ID), Index: int(l.Emitted) - 1, At: l.Last})
		},
		Preempted: func(now sim.Time, l *engine.Life) {
			log.Preemptions = append(log.Preemptions, reference.Preemption{Request: int(l.Request.ID), At: now})
		},
		Planned: func(_ sim.Time, p *scheduler.Plan) {
			if !p.Empty() {
				planned = append(planned, itemize(w.reqs, p, cache))
			}
		},
		Ran: func(r *engine.Ran) {
			planned[0].Start, planned[0].End = r.Start, r.End
			log.Steps = append(log.Steps, planned[0])
			planned = planned[1:]
		},
	}
	k := sim.New(1)
	e := engine.New(k, engine.Config{
		Scheduler: s, Cost: w.config.Cost, InFlight: w.config.InFlight, Async: w.config.Async, Stages: w.config.Stages,
		MaxModelLen: w.config.MaxModelLen, Blocks: w.config.Blocks, BlockSize: w.config.BlockSize,
		Frontend: engine.Frontend{
			PerRequest: w.config.PerRequest, PerToken: w.config.PerToken, Ingress: w.config.Ingress,
			PerChunk: w.config.PerChunk, Interval: w.config.Interval,
		},
		Hooks: hooks, Check: true,
	})
	for i, r := range w.reqs {
		k.At(r.Arrival, sim.Arrive, func() { e.Submit(r, func(o workload.Outcome) { log.Outcomes[i] = o }) })
	}
	if err := k.Run(context.Background(), sim.Never); err != nil || e.Err() != nil {
		t.Fatalf("%+v: kernel: %v, engine: %v", w.limits, err, e.Err())
	}
	return log
}

// itemize writes down a plan as Run does. Its sequences are told apart by their order of arrival.
func itemize(reqs []*workload.Request, p *scheduler.Plan, cache kvcache.Cache) reference.Step {
	byArrival := inOrder(reqs)
	step := reference.Step{Free: cache.Usage().Available()}
	for _, s := range p.Preempted {
		step.Preempted = append(step.Preempted, byArrival[s.Order])
	}
	for _, w := range p.Work {
		step.Work = append(step.Work, reference.Item{
			Request: byArrival[w.Seq.Order], Tokens: int(w.Tokens), Past: int(w.Past), Decode: w.Decode, Samples: w.Samples,
		})
	}
	return step
}

// differ reports the first difference between two logs.
func differ(t *testing.T, seed uint64, w wild, got, want reference.Log) {
	t.Helper()
	for i := range min(len(got.Steps), len(want.Steps)) {
		if !reflect.DeepEqual(got.Steps[i], want.Steps[i]) {
			t.Fatalf("seed %d, step %d:\nfast      %+v\nreference %+v\n%+v", seed, i, got.Steps[i], want.Steps[i], w.limits)
		}
	}
	for i := range want.Outcomes {
		got.Outcomes[i].Reason, want.Outcomes[i].Reason = "", ""
		if got.Outcomes[i] != want.Outcomes[i] {
			t.Fatalf("seed %d, request %d:\nfast      %+v\nreference %+v\n%+v", seed, i, got.Outcomes[i], want.Outcomes[i], w.limits)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("seed %d: tokens, preemptions or the number of steps differ\n%+v", seed, w.limits)
	}
}

// newBusy is newWild with a front end that may be too slow for its engine, and with chunks of several tokens.
func newBusy(seed uint64) wild {
	w := newWild(seed)
	w.config.Interval = int(1 + seed%3)
	w.config.PerRequest, w.config.PerToken = time.Duration(seed%7)*ms, time.Duration(seed%5)*ms/100
	w.config.PerChunk += time.Duration(seed%4) * ms * 3 / 2
	return w
}

func TestTheFastLoopGivesTheSameAnswers(t *testing.T) {
	for seed := range uint64(40) {
		w := newBusy(seed)
		want := reference.Run(w.reqs, w.config)
		other := newBusy(seed)
		differ(t, seed, w, fast(t, other, other.config.Scheduler, other.pool), want)
	}
}

func TestTheFastEngineGivesTheSameAnswers(t *testing.T) {
	for seed := range uint64(40) {
		w := newBusy(seed)
		if w.config.Stages > 1 {
			continue // the loops are compared above; the schedulers, with one stage
		}
		want := reference.Run(w.reqs, w.config)
		other := newBusy(seed)
		cache := kvcache.New(kvcache.Config{Blocks: w.config.Blocks, BlockSize: 16, PrefixCaching: w.caching})
		differ(t, seed, w, fast(t, other, scheduler.Chunked(w.limits, cache), cache), want)
	}
}
