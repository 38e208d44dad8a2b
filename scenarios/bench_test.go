package scenarios

import "testing"

// BenchmarkConversation is a whole run: an hour of a real chat service, 19,366 requests, all metrics.
func BenchmarkConversation(b *testing.B) {
	x := mustBuild(b, "conversation")
	for b.Loop() {
		mustRun(b, x, Options{})
	}
	b.ReportMetric(19_366*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
