package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

func TestGroupsOfOtherProfilesKeepTheirSchedulerWhenRunAgain(t *testing.T) {
	s := setup{"workload={requests: 40, rate: 40, prompt: 2000}", "cluster={replicas: 2, groups: [{engine: {profile: vllm-v0}}]}"}
	first := mustRun(t, s.experiment(t), Options{})
	again := mustRun(t, mustBuild(t, string(first.Config.JSON())), Options{})
	if a, b := reportBytes(t, first), reportBytes(t, again); !bytes.Equal(a, b) {
		t.Errorf("reports differ: %s", firstDifference(b, a))
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

// rowsOf runs an experiment and returns the header of its rows, and the rows.
func rowsOf(t *testing.T, x *Experiment, o Options) (header string, rows []string) {
	t.Helper()
	var b bytes.Buffer
	o.Requests = &b
	mustRun(t, x, o)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	return lines[0], lines[1:]
}

// Replicas do not know of each other: what each of them did is what it would have done alone with its part of the load.
func TestReplicasAreAsManyIndependentRunsOfTheSplitLoad(t *testing.T) {
	long(t)
	for _, c := range []struct {
		name string
		o    Options
		more setup
	}{
		{"fast", Options{}, nil},
		{"reference", Options{Naive: true}, nil},
		{"timeouts", Options{}, setup{"workload.timeout=700ms"}},
		{"horizon", Options{}, setup{"workload.horizon=3s"}},
		{"unlike", Options{}, setup{"cluster.groups=[{gpu: a100, engine: {max_num_seqs: 16}}]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := mustBuild(t, "chat", routed.routed(3, "round-robin").with(c.more...)...)
			header, rows := rowsOf(t, x, c.o)
			for i, name := range []string{"replica-0", "replica-1", "replica-2"} {
				settings := append(slices.Clone(routed), "cluster.replicas=1")
				if c.name == "unlike" && i == 2 {
					name = "group0-0"
					settings = append(settings, "hardware.gpu=a100", "engine.max_num_seqs=16")
				}
				var mine []string
				for _, row := range rows {
					if own, ok := strings.CutSuffix(row, ","+name); ok {
						mine = append(mine, own)
					}
				}
				file := filepath.Join(t.TempDir(), "part.csv")
				text := strings.TrimSuffix(header, ",replica") + "\n" + strings.Join(mine, "\n") + "\n"
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				settings = append(settings, "workload={arrivals: {name: trace, file: "+file+"}}")
				if c.name == "horizon" {
					settings = append(settings, c.more...)
				}
				_, alone := rowsOf(t, mustBuild(t, "chat", settings...), c.o)
				if mine, alone = unnumbered(mine), unnumbered(alone); len(mine) < 20 || !slices.Equal(alone, mine) {
					t.Errorf("%s served %d requests; alone it does otherwise: %s", name, len(mine), firstDifference([]byte(strings.Join(alone, "\n")), []byte(strings.Join(mine, "\n"))))
				}
			}
		})
	}
}

// unnumbered returns the rows without their first column, the number of the request in its run.
func unnumbered(rows []string) []string {
	cut := make([]string, len(rows))
	for i, row := range rows {
		_, cut[i], _ = strings.Cut(row, ",")
	}
	return cut
}

// The simple engine and the fast one agree behind every router, to the nanosecond and the replica.
func TestTheReferenceEngineAgreesBehindARouter(t *testing.T) {
	long(t)
	for _, router := range []string{"least-requests", "vllm-dp", "prefix-affinity"} {
		x := mustBuild(t, "chat", routed.routed(3, router).with("engine.num_gpu_blocks_override=300", "workload.requests=150")...)
		_, fast := rowsOf(t, x, Options{})
		if _, naive := rowsOf(t, x, Options{Naive: true}); !slices.Equal(fast, naive) {
			t.Errorf("%s: rows differ: %s", router, firstDifference([]byte(strings.Join(fast, "\n")), []byte(strings.Join(naive, "\n"))))
		}
	}
}

func TestAClosedLoopGoesThroughTheRouter(t *testing.T) {
	r := mustRun(t, mustBuild(t, "chat", routed.routed(4, "least-requests").with("workload.arrivals={name: closed, clients: 8}")...), Options{Check: true})
	checkIdentities(t, r)
	for _, one := range r.Replicas {
		if one.Batch.PeakRunning > 2 {
			t.Errorf("%s ran %d at once: eight clients on four replicas make two each", one.Name, one.Batch.PeakRunning)
		}
	}
}

func hitRate(r *Result) float64 {
	p := r.Engine.PrefixCache
	return float64(p.HitTokens) / float64(p.QueriedTokens)
}

// Forty long prefixes are more than one cache holds, and ten per cache are not.
func TestPrefixAffinityRaisesTheHitRate(t *testing.T) {
	s := setup{
		"engine={num_gpu_blocks_override: 8000, max_model_len: 16384}",
		"workload={requests: 1500, rate: 24, prompt: {mean: 200, p99: 800}, output: {mean: 60, p99: 200}, prefix: {groups: 40, tokens: 4000}}",
	}
	spread, kept := s.routed(4, "round-robin").run(t), s.routed(4, "prefix-affinity").run(t)
	above(t, "share of prompt tokens found", hitRate(kept), hitRate(spread), 0.3)
	above(t, "TTFT", spread.Latency.TTFT.Mean, kept.Latency.TTFT.Mean, 0.2)
}

// M. Mitzenmacher, 2001: the second choice makes the longest queue exponentially shorter.
func TestTwoChoicesBeatOne(t *testing.T) {
	long(t)
	s := setup{"engine={max_num_seqs: 16}", "workload={requests: 3000, rate: 75, prompt: {mean: 300, p99: 1200}, output: {mean: 150, p99: 600}}"}
	one, two, all := s.routed(8, "random").run(t), s.routed(8, "power-of-two").run(t), s.routed(8, "least-requests").run(t)
	above(t, "p99 of the queue, one choice and two", one.Latency.Queue.P99, two.Latency.Queue.P99, 1)
	above(t, "p99 of the queue, two choices and all", two.Latency.Queue.P99, all.Latency.Queue.P99, 0)
}

// A constant load keeps its spacing: everything happens later by the hop, and the front end gets the blame.
func TestAHopShiftsEverythingByItself(t *testing.T) {
	s := setup{"workload={requests: 90, rate: 9, arrivals: constant, prompt: 200, output: 20}"}.routed(3, "least-requests")
	here, there := s.run(t), s.with("cluster.hop=30ms").run(t)
	alike(t, "mean TTFT", there.Latency.TTFT.Mean, here.Latency.TTFT.Mean+30, 1e-9)
	alike(t, "p99 of E2EL", there.Latency.E2EL.P99, here.Latency.E2EL.P99+30, 1e-9)
	frontend := func(r *Result) float64 { return r.Attribution.TTFT.Frontend * r.Latency.TTFT.Mean }
	alike(t, "the front end's part", frontend(there), frontend(here)+30, 1e-6)
	r := mustRun(t, s.with("cluster.hop=300ms", "workload.timeout=200ms").experiment(t), Options{Check: true})
	if checkIdentities(t, r); r.Requests.Aborted != 90 {
		t.Errorf("clients with less patience than the hop takes: %+v", r.Requests)
	}
}
