package scenarios

import (
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/engine/reference"
	"github.com/servesim/servesim/sim/workload"
)

// A ledger is a server that only writes down what it is sent.
type ledger struct{ requests []*workload.Request }

// Submit keeps the request, and with it its prompt, which its sender may use again.
func (l *ledger) Submit(r *workload.Request, done func(workload.Outcome)) {
	c := *r
	c.Prompt = append(c.Prompt[:0:0], r.Prompt...)
	l.requests = append(l.requests, &c)
}

// TestTheNaiveEngineDeliversEveryTokenAtTheSameInstant plays open workloads against both engines.
func TestTheNaiveEngineDeliversEveryTokenAtTheSameInstant(t *testing.T) {
	for _, c := range []struct {
		scenario string
		settings []string
	}{
		{"chat", nil},
		{"agent", nil},
		{"burst", []string{"engine.num_gpu_blocks_override=1200"}},
		{"summarize", []string{"engine.async_scheduling=false"}},
		{"chat", []string{"scheduler=continuous"}},
		{"chat", []string{"scheduler={name: static, max_batch: 4}"}},
		{"chat", []string{"engine.pipeline_parallel_size=2"}},
		{"chat", []string{"model=gemma-3-27b"}},
		{"chat", []string{"engine={scheduling_policy: srpt, max_num_seqs: 8}", "scheduler.predictor=noisy"}},
		{"chat", []string{"engine={scheduling_policy: mlfq, max_num_seqs: 8}", "scheduler=continuous"}},
		{"chat", []string{"engine={scheduling_policy: slo, max_num_seqs: 8}"}},
	} {
		x := mustBuild(t, c.scenario, append([]string{"workload.requests=120"}, c.settings...)...)
		var fast []reference.Token
		emitted := make(map[int64]int)
		mustRun(t, x, Options{Hooks: engine.Hooks{TokenOut: func(now sim.Time, l *engine.Life) {
			fast = append(fast, reference.Token{Request: int(l.Request.ID), Index: emitted[l.Request.ID], At: l.Last})
			emitted[l.Request.ID]++
		}}})
		slow := naive(t, x)
		if len(fast) != len(slow) || len(fast) == 0 {
			t.Errorf("%s %v: %d tokens, the naive engine delivers %d", c.scenario, c.settings, len(fast), len(slow))
			continue
		}
		for i := range fast {
			if fast[i] != slow[i] {
				t.Errorf("%s %v: token %d is %+v, with the naive engine %+v", c.scenario, c.settings, i, fast[i], slow[i])
				break
			}
		}
	}
}

// naive plays the experiment's workload against the reference engine.
func naive(t *testing.T, x *Experiment) []reference.Token {
	t.Helper()
	k := sim.New(x.Scenario.Seed)
	load, err := workload.New(x.Workload, k.Rand)
	if err != nil {
		t.Fatal(err)
	}
	var sent ledger
	load.Start(k, &sent)
	if err := k.Run(t.Context(), sim.Never); err != nil {
		t.Fatal(err)
	}
	cache := x.Pool()
	front := x.frontend()
	return reference.Run(sent.requests, reference.Config{
		Scheduler: x.scheduler(cache, true, x.order(&Options{})), Cost: x.cost, Cache: cache,
		InFlight: x.inFlight(), Async: x.Limits.AsyncScheduling, Stages: x.Deployment.PP,
		MaxModelLen: x.Deployment.MaxModelLen, Blocks: x.Memory.Blocks - 1, BlockSize: x.Deployment.BlockSize,
		PerRequest: front.PerRequest, PerToken: front.PerToken, Interval: front.Interval, Ingress: front.Ingress, PerChunk: front.PerChunk,
		Shared:  func() int64 { return int64(cache.Again() * x.Deployment.BlockSize) },
		Predict: x.predictor(&Options{}, k.Rand),
	}).Tokens
}
