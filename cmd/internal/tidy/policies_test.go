package tidy

import (
	"testing"

	"github.com/servesim/servesim/scheduler"
)

// longestPolicy is how many lines a policy or an order may have: it is to be studied beside its paper.
const longestPolicy = 150

// The files of the orders; first come, first served and vLLM's priority are a few lines of order.go.
var orderFiles = []string{"edf", "fair", "fair_line", "lcfs", "mlfq", "paced", "sjf", "slo", "srpt"}

func TestPoliciesAreAFileEachAndShort(t *testing.T) {
	lines := map[string]int{}
	for _, r := range load(t).packages {
		for _, f := range r.code {
			lines[f.path] = f.lines
		}
	}
	names := orderFiles
	for _, p := range scheduler.Policies() {
		names = append(names, p.Name)
	}
	for _, name := range names {
		file := "scheduler/" + name + ".go"
		if n := lines[file]; n == 0 || n > longestPolicy {
			t.Errorf("%s has %d lines, want from 1 to %d", file, n, longestPolicy)
		}
	}
}
