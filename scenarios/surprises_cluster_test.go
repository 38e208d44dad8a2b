package scenarios

import (
	"testing"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
)

// stack returns the most requests that ever waited at one replica while another had none waiting and most of its KV cache
// free, and the report.
func (s setup) stack(t *testing.T) (most int, r *Result) {
	t.Helper()
	var all []*cluster.Replica
	idle := func(r *cluster.Replica) bool {
		_, waiting := r.Scheduler.Load()
		u := r.Cache.Usage()
		return waiting == 0 && 2*u.Held < u.Total
	}
	watch := func(r *cluster.Replica) engine.Hooks {
		all = append(all, r)
		return engine.Hooks{Planned: func(sim.Time, *scheduler.Plan) {
			_, waiting := r.Scheduler.Load()
			for _, other := range all {
				if waiting > most && idle(other) {
					most = waiting
				}
			}
		}}
	}
	r = mustRun(t, s.experiment(t), Options{Each: []func(*cluster.Replica) engine.Hooks{watch}})
	return most, r
}

// vllm-project/vllm#36748: with eight data-parallel ranks requests piled up on a few of them (117 and 108 waiting) while the
// others were free. The report does not give its load. Here a step of long prompts takes longer than the 100 ms between
// two pieces of news, and each of these still shows the rank as it was before the step: a score that counts requests
// sends it more every time. The later score knows what was sent.
func TestCountingWithStaleNewsPilesRequestsUp(t *testing.T) {
	s := setup{
		"model=llama-3.1-8b", "hardware.gpu=a100-sxm-80g", "engine={max_num_batched_tokens: 16384, max_model_len: 65536}",
		"workload={requests: 2000, rate: 25, prompt: {mean: 3000, p99: 40000, max: 60000}, output: {mean: 300, p99: 1500}}",
	}
	before, old := s.routed(8, "vllm-dp-2025").stack(t)
	since, later := s.routed(8, "vllm-dp").stack(t)
	above(t, "requests piled up, before and since", float64(before), float64(since), 0.4)
	above(t, "p99 of the queue, before and since", old.Latency.Queue.P99, later.Latency.Queue.P99, 0.4)
	above(t, "p99 of the queue, before and with news that are never stale", old.Latency.Queue.P99, s.routed(8, "least-requests").run(t).Latency.Queue.P99, 1)
}
