package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tide writes a trace of so many requests per second in each of a few spans of 100 s.
func tide(t *testing.T, rates ...int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("arrival_s,prompt_tokens,output_tokens\n")
	for span, rate := range rates {
		for i := range 100 * rate {
			fmt.Fprintf(&b, "%.4f,%d,%d\n", 100*float64(span)+float64(i)/float64(rate), 200+37*i%400, 50+13*i%200)
		}
	}
	file := filepath.Join(t.TempDir(), "tide.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return "workload={arrivals: {name: trace, file: " + file + "}}"
}

func TestAutoscalingFollowsABurstAndPaysLessGPUTime(t *testing.T) {
	long(t)
	s := setup{"engine.max_num_seqs=32", tide(t, 2, 2, 60, 60, 2, 2, 2)}
	few, many := s.routed(1, "least-requests"), s.routed(6, "least-requests")
	low, high := few.run(t), many.run(t)
	for _, metric := range []string{"queue", "ttft", "kv, target: 0.02"} {
		t.Run(metric, func(t *testing.T) {
			x := s.with("cluster={router: least-requests, autoscale: {max: 6, startup: 20s, cooldown: 30s, metric: " + metric + "}}").experiment(t)
			r := mustRun(t, x, Options{})
			checkIdentities(t, r)
			noNaN(t, reportBytes(t, r))
			above(t, "replica-seconds of a fixed number and a changing one", high.Fleet.ReplicaSeconds, r.Fleet.ReplicaSeconds, 0.3)
			above(t, "mean TTFT of one replica and of several", low.Latency.TTFT.Mean, r.Latency.TTFT.Mean, 1)
			if f := r.Fleet; f.Started == 0 || f.Stopped == 0 || f.PeakReplicas < 3 || f.PeakReplicas > 6 || r.GPU.Count != f.PeakReplicas {
				t.Errorf("the number of replicas did not follow: %+v, %d GPUs", f, r.GPU.Count)
			}
			up, served := 0.0, 0
			for _, one := range r.Replicas {
				up, served = up+one.UpS, served+one.Requests
			}
			if served != r.Requests.Submitted || up-r.Fleet.ReplicaSeconds > 1e-6 || r.Fleet.ReplicaSeconds-up > 1e-6 {
				t.Errorf("%d requests served of %d, %v s of %v", served, r.Requests.Submitted, up, r.Fleet.ReplicaSeconds)
			}
			above(t, "energy", high.GPU.EnergyJ, r.GPU.EnergyJ, 0)
		})
	}
}

func TestAutoscalingKeepsTheInvariants(t *testing.T) {
	long(t)
	s := setup{"engine.max_num_seqs=4", tide(t, 1, 8, 1), "cluster={router: prefix-affinity, autoscale: {max: 4, startup: 5s, cooldown: 10s, target: 1}}"}
	r := mustRun(t, s.experiment(t), Options{Check: true})
	checkIdentities(t, r)
	if f := r.Fleet; f.Started < 2 || f.Stopped < 2 || r.Requests.Completed != 1000 {
		t.Errorf("got %+v and %+v", f, r.Requests)
	}
}

func TestAutoscalingWithNothingToDoStaysAtItsMinimum(t *testing.T) {
	r := setup{"workload={requests: 300, rate: 1, prompt: 100, output: 20}"}.with("cluster.autoscale={min: 2, max: 6}").run(t)
	if f := r.Fleet; f.Started+f.Stopped != 0 || f.PeakReplicas != 2 {
		t.Errorf("got %+v, want two replicas from begin to end", f)
	}
}

// An autoscaler that looks at times to first token takes its target from the SLO: the tighter that is, the more engines.
func TestAutoscalingByTTFTFollowsTheSLO(t *testing.T) {
	s := setup{"engine.max_num_seqs=32", tide(t, 2, 40, 40, 2), "cluster={router: least-requests, autoscale: {max: 6, startup: 10s, cooldown: 30s, metric: ttft}}"}
	tight, loose := s.with("slo.ttft=300ms").run(t), s.with("slo.ttft=20s").run(t)
	above(t, "replica-seconds under a tight and a loose target", tight.Fleet.ReplicaSeconds, loose.Fleet.ReplicaSeconds, 0.1)
	same := s.with("slo.ttft=300ms", "cluster.autoscale.target=150ms").run(t)
	alike(t, "replica-seconds when half of it is said", same.Fleet.ReplicaSeconds, tight.Fleet.ReplicaSeconds, 0)
}

func TestMistakesInAutoscaling(t *testing.T) {
	for text, want := range map[string]string{ // order does not matter: each is checked by itself
		"{min: 2}":                          "cluster.autoscale.min: needs cluster.autoscale.max",
		"{min: 3, max: 2}":                  "cluster.autoscale.max: must be at least cluster.autoscale.min, 3, got 2",
		"{max: 2, target: 0}":               "cluster.autoscale.target: must be a number of requests waiting",
		"{max: 2, metric: ttft, target: 3}": "cluster.autoscale.target: must be a mean time to first token, such as 500ms, got 3",
		"{max: 2, metric: kv, target: 2}":   "cluster.autoscale.target: must be a share",
	} {
		if _, err := build("name: x\n", "cluster.autoscale="+text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := build("name: x\n", "cluster={replicas: 2, autoscale: {max: 3}}"); err == nil || !strings.Contains(err.Error(), "has no meaning beside") {
		t.Errorf("got %v", err)
	}
	if x, err := build("name: x\n", "cluster={autoscale: none}"); err != nil || x.Replicas() != 1 {
		t.Errorf("got %v", err)
	}
}
