package scenarios

import (
	"fmt"
	"testing"
)

// TestEveryPolicyServesEveryScenario runs each embedded scenario under each policy, with all invariants checked. Nobody
// is lost, and what is refused says why.
func TestEveryPolicyServesEveryScenario(t *testing.T) {
	requests := 150
	if testing.Short() {
		requests = 40
	}
	for _, e := range Names() {
		for _, policy := range SchedulerNames() {
			t.Run(e.Name+"/"+policy, func(t *testing.T) {
				x := mustBuild(t, e.Name, "scheduler="+policy, fmt.Sprint("workload.requests=", requests))
				r := mustRun(t, x, Options{Check: true})
				q := r.Requests
				if q.Completed+q.Rejected != requests || q.Aborted+q.Unfinished > 0 {
					t.Errorf("%+v of %d requests", q, requests)
				}
				if q.Rejected > 0 && len(r.Rejections) == 0 {
					t.Errorf("%d were rejected, and nobody says why", q.Rejected)
				}
			})
		}
	}
}
