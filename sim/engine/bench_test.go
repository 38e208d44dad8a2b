package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// full is an engine whose seats are all taken by requests that decode for ever.
func full(batch int, named bool) (k *sim.Kernel, e *engine.Engine) {
	pool := kvcache.New(kvcache.Config{Blocks: 1 << 31, BlockSize: 16, PrefixCaching: true})
	k = sim.New(1)
	e = engine.New(k, engine.Config{
		Scheduler: scheduler.Chunked(scheduler.Limits{
			MaxNumBatchedTokens: 1 << 20, MaxNumSeqs: batch, EnableChunkedPrefill: true, AsyncScheduling: true, Named: named,
		}, pool),
		Cost: sums{}, InFlight: 2, Async: true,
	})
	for i := range batch {
		r := &workload.Request{
			Prompt: kvcache.Prompt{{Label: kvcache.Private | uint64(2*i), Len: int32(500 + i%16)}}, Tokens: int32(500 + i%16),
			Answer: kvcache.Private | uint64(2*i+1), Output: 1 << 30,
		}
		e.Submit(r, nil)
	}
	return k, e
}

// run lets the engine take about so many steps.
func run(tb testing.TB, k *sim.Kernel, e *engine.Engine, steps int64) {
	tb.Helper()
	slice := time.Microsecond
	for until := e.Counts().Steps + steps; e.Counts().Steps < until; slice *= 2 {
		if err := k.Run(context.Background(), k.Now().Add(slice)); err != nil || e.Err() != nil {
			tb.Fatal(err, e.Err())
		}
	}
}

func TestASteadyStepAllocatesNothing(t *testing.T) {
	for _, named := range []bool{false, true} {
		k, e := full(64, named)
		run(t, k, e, 40_000) // until the tables have reached their size for a while
		if n := testing.AllocsPerRun(5, func() { run(t, k, e, 20) }); n > 0 {
			t.Errorf("named %v: %v allocations in some 20 steps", named, n)
		}
	}
}

// BenchmarkStep is a decode step of the whole engine. With a cohort it costs the same for any batch.
func BenchmarkStep(b *testing.B) {
	for _, batch := range []int{1, 32, 256, 1024} {
		for _, named := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/named=%v", batch, named), func(b *testing.B) {
				k, e := full(batch, named)
				run(b, k, e, 100)
				b.ReportAllocs()
				b.ResetTimer()
				before := e.Counts().Steps
				run(b, k, e, int64(b.N))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(e.Counts().Steps-before), "ns/step")
			})
		}
	}
}
