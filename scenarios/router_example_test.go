package scenarios_test

import (
	"context"
	"fmt"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/workload"
)

// byLength keeps long prompts away from the others: they have the last replica for themselves.
type byLength struct {
	others cluster.Router
}

// Route implements cluster.Router.
func (b byLength) Route(r *workload.Request, replicas []*cluster.Replica) cluster.Choice {
	last := len(replicas) - 1
	if r.Tokens > 1000 {
		return cluster.Choice{Replica: last}
	}
	return b.others.Route(r, replicas[:last])
}

// A router of one's own is a value; nothing has to be registered.
func ExampleOptions_router() {
	doc, _ := scenarios.Open("chat")
	_ = doc.Set("cluster.replicas", "3", "example")
	s, _ := doc.Scenario()
	x, _ := s.Build()
	least, _ := cluster.Find("least-requests")
	report, err := x.Run(context.Background(), scenarios.Options{
		Router: func(k *sim.Kernel) cluster.Router { return byLength{others: least.New(k)} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	long, short := report.Replicas[2], report.Replicas[0]
	fmt.Println("the last replica serves fewer requests:", long.Requests < short.Requests/2)
	// Output: the last replica serves fewer requests: true
}
