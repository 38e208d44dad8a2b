package scenarios

import "testing"

// A front end that is merely slow holds up everybody alike, and nobody for another.
func TestTheLatencyOfTheFrontEndIsNoQueue(t *testing.T) {
	x := mustBuild(t, "chat", "workload.requests=300", "workload.rate=20", "frontend.latency=10s")
	if v := mustRun(t, x, Options{}).Verdict; v.State != "stable" {
		t.Errorf("%+v", v)
	}
}

// All that arrives at one instant is a burst, also when a trace says so.
func TestATraceOfOneInstantIsABurst(t *testing.T) {
	x := mustBuild(t, "engine: {max_num_seqs: 16}\nworkload: {arrivals: {name: trace, file: testdata/instant.csv}}")
	if v := mustRun(t, x, Options{}).Verdict; v.State != "backlogged" {
		t.Errorf("%+v", v)
	}
}
