package scenarios

import (
	"math"
	"testing"

	"github.com/servesim/servesim/sim/metrics"
)

// TestTheSplitByClassAndClientHoldsOnSeveralEngines: however many engines a request passes, it is one request of one class and
// one client, and Jain's index is that of what the clients were given.
func TestTheSplitByClassAndClientHoldsOnSeveralEngines(t *testing.T) {
	load := "workload={requests: 300, rate: 30, timeout: 4s, prompt: {dist: lognormal, mean: 800, p99: 4000, max: 6000}, clients: {shares: [6, 2, 1, 1]}, " +
		"classes: [{name: short, share: 3, output: 40, slo: {ttft: 500ms}}, {name: long, share: 1, output: 400, slo: {tpot: 30ms}}]}"
	for _, engines := range []string{
		"cluster.replicas=1", "cluster={replicas: 3, router: least-requests}", "cluster={prefill: {replicas: 2}, decode: {replicas: 2}}",
		"cluster={prefill: {replicas: 1}, decode: {replicas: 2}, transfer: layerwise, remote: length}", "cluster.autoscale={max: 3, startup: 1s}",
	} {
		r := mustRun(t, setup{"model=llama-3.1-8b", "engine.max_model_len=8192", load, engines}.experiment(t), Options{Check: true})
		var classes, clients [6]int64
		for i := range r.Classes {
			c := &r.Classes[i]
			countUp(&classes, c.Requests, c.Tokens)
			if c.Goodput.Attainment == nil || (c.Name == "short") != (c.Goodput.ByMetric.TTFT != nil) {
				t.Errorf("%s: class %s has the targets %+v", engines, c.Name, c.Goodput)
			}
		}
		var given []float64
		for i := range r.Clients.Served {
			c := &r.Clients.Served[i]
			countUp(&clients, c.Requests, c.Tokens)
			given = append(given, float64(c.Tokens.Input)+2*float64(c.Tokens.Output))
		}
		var all [6]int64
		countUp(&all, r.Requests, r.Tokens)
		if classes != all || clients != all || r.Clients.Count != 4 {
			t.Errorf("%s: classes %v, clients %v, all %v", engines, classes, clients, all)
		}
		if want := jain(given...); math.Abs(r.Clients.JainService-want) > 1e-12 || want > 0.9 || !(r.Clients.JainSpeed > want && r.Clients.JainSpeed <= 1) {
			t.Errorf("%s: Jain's index %g of what they were given, want %g; %g of speed", engines, r.Clients.JainService, want, r.Clients.JainSpeed)
		}
	}
}

// countUp adds requests and tokens to sums.
func countUp(sums *[6]int64, q metrics.Requests, n metrics.Tokens) {
	for i, v := range []int64{int64(q.Submitted), int64(q.Completed), int64(q.Aborted), int64(q.Rejected + q.Unfinished), n.Input, n.Output} {
		sums[i] += v
	}
}
