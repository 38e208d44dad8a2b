package scenarios

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/workload"
)

// routed is a load on three replicas that makes all routers work.
var routed = setup{
	"workload={requests: 300, rate: 60, prompt: {mean: 300, p99: 900}, output: {mean: 60, p99: 200}, prefix: {groups: 5, tokens: 400}}",
	"engine.num_gpu_blocks_override=1500",
}

func (s setup) routed(replicas int, router string) setup {
	return s.with(fmt.Sprintf("cluster.replicas=%d", replicas), "cluster.router="+router)
}

func TestEveryRouterLosesNothing(t *testing.T) {
	for _, name := range cluster.Names() {
		t.Run(name, func(t *testing.T) {
			var rows bytes.Buffer
			r := mustRun(t, mustBuild(t, "chat", routed.routed(3, name)...), Options{Check: true, Requests: &rows})
			checkIdentities(t, r)
			noNaN(t, reportBytes(t, r))
			lines := strings.Split(strings.TrimSpace(rows.String()), "\n")
			if !strings.HasSuffix(lines[0], ",replica") || len(lines)-1 != r.Requests.Submitted {
				t.Errorf("%d rows of %d requests under %s", len(lines)-1, r.Requests.Submitted, lines[0])
			}
			sum, steps := 0, int64(0)
			for _, one := range r.Replicas {
				sum += one.Requests
				steps += one.Steps
				if n := strings.Count(rows.String(), ","+one.Name+"\n"); n != one.Requests {
					t.Errorf("%s served %d requests, and %d rows name it", one.Name, one.Requests, n)
				}
			}
			if sum != r.Requests.Submitted || steps != r.Engine.Steps || len(r.Replicas) != 3 || r.GPU.Count != 3 {
				t.Errorf("replicas %+v do not add up to %+v", r.Replicas, r.Requests)
			}
		})
	}
}

func TestOneReplicaIsTheEngineItself(t *testing.T) {
	one := mustRun(t, mustBuild(t, "agent", "workload.requests=100"), Options{})
	same := mustRun(t, mustBuild(t, "agent", "workload.requests=100", "cluster.replicas=1"), Options{})
	same.Config = one.Config
	if a, b := reportBytes(t, one), reportBytes(t, same); !bytes.Equal(a, b) {
		t.Errorf("reports differ: %s", firstDifference(b, a))
	}
}

func TestAClusterGivesTheSameBytesOnAnyNumberOfProcessors(t *testing.T) {
	x := mustBuild(t, "chat", routed.routed(3, "power-of-two")...)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := reportBytes(t, mustRun(t, x, Options{}))
	runtime.GOMAXPROCS(2)
	if two := reportBytes(t, mustRun(t, x, Options{})); !bytes.Equal(one, two) {
		t.Errorf("reports differ: %s", firstDifference(two, one))
	}
}

// alternate is a router from outside: even requests to the first, odd ones to the second.
type alternate struct{}

func (alternate) Route(r *workload.Request, _ []*cluster.Replica) cluster.Choice {
	return cluster.Choice{Replica: int(r.ID % 2)}
}

func TestARouterFromOutsideIsAValue(t *testing.T) {
	x := mustBuild(t, "chat", routed.routed(2, "random")...)
	r := mustRun(t, x, Options{Router: func(*sim.Kernel) cluster.Router { return alternate{} }})
	if a, b := r.Replicas[0].Requests, r.Replicas[1].Requests; a != 150 || b != 150 {
		t.Errorf("got %d and %d requests, want 150 each", a, b)
	}
}
