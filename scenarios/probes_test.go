package scenarios

import (
	"fmt"
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// What has tripped simulators of this kind.

// Every request ends once, and gets its tokens once, however many stages a batch passes and plans are in flight
// (LLMServingSim #62: with several stages requests were completed twice).
func TestWithPipelineStagesEveryRequestEndsOnce(t *testing.T) {
	for _, stages := range []int{2, 3, 4} {
		for _, async := range []bool{false, true} {
			s := setup{
				"model=llama-3.1-8b", "engine={max_model_len: 4096, num_gpu_blocks_override: 700}", fmt.Sprint("engine.pipeline_parallel_size=", stages), fmt.Sprint("engine.async_scheduling=", async),
				"workload={requests: 120, rate: 40, prompt: {dist: lognormal, mean: 400, p99: 2500, max: 3500}, output: {dist: lognormal, mean: 80, p99: 400, max: 500}}",
			}
			ends, tokens := map[int64]int{}, map[int64]int32{}
			r := mustRun(t, s.experiment(t), Options{Check: true, Hooks: engine.Hooks{
				TokenOut: func(_ sim.Time, l *engine.Life) { tokens[l.Request.ID]++ },
				Finished: func(_ sim.Time, l *engine.Life) {
					ends[l.Request.ID]++
					if l.Outcome.Status != workload.Completed || tokens[l.Request.ID] != l.Request.Output || ends[l.Request.ID] != 1 {
						t.Errorf("%d stages, async %v: request %d %v for the %d. time, with %d of %d tokens", stages, async, l.Request.ID, l.Outcome.Status, ends[l.Request.ID], tokens[l.Request.ID], l.Request.Output)
					}
				},
			}})
			if len(ends) != 120 || r.Requests.Completed != 120 {
				t.Errorf("%d stages, async %v: %d ended, %+v", stages, async, len(ends), r.Requests)
			}
		}
	}
}

// What the prefilling engine finds in its prefix cache has to travel all the same; only what the decoding engine has does
// not. The link's latency comes on top of the bytes.
func TestPrefixesTravelUnlessTheyAreWhereTheyAreDecoded(t *testing.T) {
	s := apart.with("workload={requests: 3, prompt: 1000, output: 10, prefix: {distinct: 1}, arrivals: {name: closed, clients: 1}}")
	for _, c := range []struct {
		decode       string
		bytes, saved int64
	}{{"false", 3 * 1008, 0}, {"true", 1008 + 2*16, 2 * 992}} {
		r := s.with("cluster.decode.engine.enable_prefix_caching=" + c.decode).run(t)
		x := r.Disaggregation.Transfer
		if hits := r.Replicas[0].PrefixCache.HitTokens; hits != 2*992 || x.Bytes != c.bytes*131072 || x.SavedBytes != c.saved*131072 {
			t.Errorf("caching where it is decoded %s: %d tokens found where they are prefilled, %d tokens sent, %d saved; want %d, %d, %d",
				c.decode, hits, x.Bytes/131072, x.SavedBytes/131072, 2*992, c.bytes, c.saved)
		}
	}
	late := s.with("cluster.decode.engine.enable_prefix_caching=false", "cluster.transfer.link.latency=40us").run(t)
	alike(t, "milliseconds of a transfer with a latency of 40 µs", late.Disaggregation.Transfer.Time.Mean, 2.642412+0.04, 1e-6)
}
