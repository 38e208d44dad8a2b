package scenarios

import (
	"testing"

	"github.com/servesim/servesim/sim/cluster"
)

// BenchmarkConversation is a whole run: an hour of a real chat service, 19,366 requests, all metrics.
func BenchmarkConversation(b *testing.B) {
	x := mustBuild(b, "conversation")
	for b.Loop() {
		mustRun(b, x, Options{})
	}
	b.ReportMetric(19_366*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkCluster is 200,000 requests with shared prefixes on 64 replicas.
func BenchmarkCluster(b *testing.B) {
	for _, router := range cluster.Names() {
		b.Run(router, func(b *testing.B) {
			x := mustBuild(b, "name: cluster\nmodel: llama-3.1-8b\n", "cluster={replicas: 64, router: "+router+"}",
				"workload={requests: 200000, rate: 1500, prompt: {mean: 512, p99: 2048}, output: {mean: 256, p99: 900}, prefix: {groups: 200, tokens: 1000}}")
			for b.Loop() {
				mustRun(b, x, Options{})
			}
			b.ReportMetric(200_000*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
