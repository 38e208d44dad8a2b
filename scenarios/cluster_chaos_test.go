package scenarios

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/sim/cluster"
)

// Whatever a cluster is made of, nothing is lost, every request has its row, and the same run gives the same bytes.
func TestRandomClustersKeepTheInvariants(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(r, what) }
		settings := []string{
			"workload.requests=" + pick("requests", "1", "20", "60"),
			"workload.rate=" + pick("rate", "5", "50", "inf"),
			"workload.prompt=" + pick("prompt", "50", "{mean: 400, p99: 3000}"),
			"workload.output=" + pick("output", "1", "{mean: 40, p99: 300}"),
			"workload.prefix=" + pick("prefix", "none", "{groups: 3, tokens: 300}"),
			"workload.timeout=" + pick("timeout", "none", "300ms", "3s"),
			"workload.max_concurrency=" + pick("concurrency", "none", "5"),
			"workload.horizon=" + pick("horizon", "none", "none", "1s"),
			"engine.num_gpu_blocks_override=" + pick("blocks", "40", "300", "3000"),
			"engine.max_num_seqs=" + pick("seqs", "2", "32"),
			"engine.async_scheduling=" + pick("async", "true", "false"),
			"cluster.router=" + pick("router", cluster.Names()...),
			"cluster.hop=" + pick("hop", "0s", "7ms"),
			"cluster." + pick("replicas", "replicas=2", "replicas=5",
				"groups=[{replicas: 2}, {gpu: a100, engine: {pipeline_parallel_size: 2, max_num_seqs: 8}}]",
				"autoscale={max: 4, startup: 300ms, cooldown: 500ms, interval: 100ms, target: 1}",
				"autoscale={min: 2, max: 3, startup: 0s, cooldown: 0s, interval: 70ms, metric: ttft, target: 60ms}",
				"autoscale={max: 3, startup: 100ms, cooldown: 0s, interval: 50ms, metric: kv, target: 0.1}"),
		}
		var reports, rows [2]bytes.Buffer
		for i := range reports {
			x, err := build("name: chaos\n", settings...)
			if err != nil {
				r.Fatal(err)
			}
			result, err := x.Run(t.Context(), Options{Check: true, Requests: &rows[i]})
			if err != nil {
				r.Fatalf("%v\n%q", err, settings)
			}
			reports[i].Write(reportBytes(t, result))
			q, served := result.Requests, 0
			for _, one := range result.Replicas {
				served += one.Requests
			}
			if n := bytes.Count(rows[i].Bytes(), []byte("\n")) - 1; n != q.Submitted || served != q.Submitted {
				r.Fatalf("%d rows, %d requests on the replicas, %+v\n%q", n, served, q, settings)
			}
			if sum := q.Completed + q.Rejected + q.Aborted + q.Unfinished; sum != q.Submitted {
				r.Fatalf("requests do not add up: %+v\n%q", q, settings)
			}
			w := result.Attribution.WallTime
			if sum := w.Compute + w.Weights + w.KVRead + w.Network + w.Overhead + w.Idle; fmt.Sprintf("%.9f", sum) != "1.000000000" {
				r.Fatalf("wall time adds up to %v\n%q", sum, settings)
			}
		}
		if !bytes.Equal(reports[0].Bytes(), reports[1].Bytes()) || !bytes.Equal(rows[0].Bytes(), rows[1].Bytes()) {
			r.Fatalf("two runs differ: %s\n%q", firstDifference(reports[1].Bytes(), reports[0].Bytes()), settings)
		}
	})
}
