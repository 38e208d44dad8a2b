package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
)

// A letter is a request of a trace made for a test.
type letter struct {
	at             float64 // seconds
	prompt, output int
	client, class  int
}

// mail returns the settings that replay the letters.
func mail(t *testing.T, letters []letter) setup {
	t.Helper()
	rows := []string{"arrival_s,prompt_tokens,output_tokens,max_tokens,client,class"}
	for _, l := range letters {
		rows = append(rows, fmt.Sprintf("%.6f,%d,%d,4000,%d,%d", l.at, l.prompt, l.output, l.client, l.class))
	}
	file := filepath.Join(t.TempDir(), "letters.csv")
	if err := os.WriteFile(file, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return setup{
		"engine={profile: vllm-v1, max_model_len: 8192, max_num_seqs: 16}",
		"workload.arrivals={name: trace, file: " + file + "}",
	}
}

// bimodal draws letters at a Poisson rate: nine of ten have short answers, the others long ones.
func bimodal(n int, rate float64) (letters []letter) {
	r := rand.New(rand.NewPCG(1, 1))
	at := 0.0
	for range n {
		at += r.ExpFloat64() / rate
		l := letter{at: at, prompt: 100 + r.IntN(400), output: 10 + r.IntN(60)}
		if r.IntN(10) == 0 {
			l.output, l.class = 1000+r.IntN(1000), 1
		}
		letters = append(letters, l)
	}
	return letters
}

// under returns the settings with an order of the queue.
func (s setup) under(policy string) setup { return s.with("engine.scheduling_policy=" + policy) }

// Short answers overtake the long: mean times fall, and the long, who are one in ten, wait for longer.
func TestShortestFirstLowersTheMeanAndStarvesTheLong(t *testing.T) {
	s := mail(t, bimodal(1500, 13))
	fcfs, sjf, srpt := s.run(t), s.under("sjf").run(t), s.under("srpt").run(t)
	above(t, "mean E2EL, fcfs over sjf", fcfs.Latency.E2EL.Mean, sjf.Latency.E2EL.Mean, 0.5)
	above(t, "mean E2EL, sjf over srpt", sjf.Latency.E2EL.Mean, srpt.Latency.E2EL.Mean, 0)
	above(t, "p99 E2EL, sjf over fcfs", sjf.Latency.E2EL.P99, fcfs.Latency.E2EL.P99, 0.1)
	above(t, "p99 E2EL, srpt over fcfs", srpt.Latency.E2EL.P99, fcfs.Latency.E2EL.P99, 0.3)
}

func TestAWorsePredictorGainsLess(t *testing.T) {
	s := mail(t, bimodal(1500, 13))
	last := s.under("sjf").with("scheduler.predictor=oracle").run(t).Latency.E2EL.Mean
	for _, sigma := range []string{"1.5", "4"} {
		mean := s.under("sjf").with("scheduler.predictor={name: noisy, error: " + sigma + "}").run(t).Latency.E2EL.Mean
		above(t, "mean E2EL with an error of "+sigma, mean, last, 0.02)
		last = mean
	}
	above(t, "mean E2EL, fcfs", s.run(t).Latency.E2EL.Mean, last, 0.1)
}

// FastServe: long answers hold the seats, and whoever comes behind them waits under first come, first served.
func TestFeedbackQueuesFreeTheHeadOfTheLine(t *testing.T) {
	long(t)
	s := mail(t, bimodal(1500, 9))
	for _, more := range [][]string{{}, {"scheduler=continuous"}, {"engine.enable_prefix_caching=false"}} {
		fcfs, mlfq := s.with(more...).run(t), s.under("mlfq").with(more...).run(t)
		above(t, fmt.Sprint("mean TTFT ", more), fcfs.Latency.TTFT.Mean, mlfq.Latency.TTFT.Mean, 2)
		if fcfs.Requests != mlfq.Requests {
			t.Errorf("%+v, under fcfs %+v", mlfq.Requests, fcfs.Requests)
		}
	}
}

// service is what clients were given: prompt tokens computed and output tokens, with VTC's weights of 1 and 2.
type service struct {
	got    map[int32]float64 // by client
	apart  float64           // the most by which the service of clients 0 and 1 has drifted apart since a moment at which both had requests waiting
	low    float64
	high   float64
	within func() bool
}

func (v *service) ran(r *engine.Ran) {
	for _, w := range r.Plan.Work {
		if end := min(w.Past+w.Tokens, w.Seq.Prompt); end > w.Past {
			v.got[w.Seq.Client] += float64(end - w.Past)
		}
		if w.Samples {
			v.got[w.Seq.Client] += 2
		}
	}
	if v.within() {
		d := v.got[0] - v.got[1]
		v.low, v.high = min(v.low, d), max(v.high, d)
		v.apart = v.high - v.low
	}
}

// jain returns Jain's index of fairness, (Σx)² / (n·Σx²): 1 when all are equal, 1/n when one has everything.
func jain(x ...float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// VTC: a client that sends ten times as much gets no more than the other, as long as both have requests waiting; and what
// they have been given differs by no more than the paper's bound.
func TestAFloodDoesNotDrownTheOtherClient(t *testing.T) {
	long(t)
	var letters []letter
	for i := range 2200 {
		l := letter{at: float64(i) * 0.01, prompt: 200 + 37*i%300, output: 50 + 53*i%200}
		if i%11 == 0 {
			l.client = 1
		}
		letters = append(letters, l)
	}
	s := mail(t, letters)
	fairness := func(policy string) (index, apart, bound float64) {
		x := s.under(policy).with("workload.horizon=21s").experiment(t)
		var only *cluster.Replica
		waiting := map[int32]int{}
		v := &service{got: map[int32]float64{}, low: math.Inf(1), high: math.Inf(-1)}
		v.within = func() bool { _, n := only.Scheduler.Load(); return n > 0 && waiting[0] > 0 && waiting[1] > 0 }
		mustRun(t, x, Options{
			Check: true, Step: v.ran,
			Each: []func(*cluster.Replica) engine.Hooks{func(r *cluster.Replica) engine.Hooks { only = r; return engine.Hooks{} }},
			Hooks: engine.Hooks{
				Arrived:  func(_ sim.Time, l *engine.Life) { waiting[l.Request.Client]++ },
				Admitted: func(_ sim.Time, l *engine.Life) { waiting[l.Request.Client]-- },
			},
		})
		m := float64((x.Memory.Blocks - 1) * x.Deployment.BlockSize)
		return jain(v.got[0], v.got[1]), v.apart, 2 * max(500, 2*min(m, 16*750))
	}
	fair, apart, bound := fairness("fair")
	fcfs, drift, _ := fairness("fcfs")
	t.Logf("Jain's index %.4f, under fcfs %.4f; apart by %.0f, under fcfs %.0f, bound %.0f", fair, fcfs, apart, drift, bound)
	if !(fair > 0.99 && fcfs < 0.7) {
		t.Errorf("Jain's index %.3f, under fcfs %.3f", fair, fcfs)
	}
	if !(apart <= bound && drift > bound) {
		t.Errorf("service apart by %.0f, under fcfs %.0f, the bound is %.0f", apart, drift, bound)
	}
}

// inTime returns the share of requests whose first token kept the target of their class.
func inTime(t *testing.T, s setup, o Options, ttft ...time.Duration) float64 {
	t.Helper()
	kept, n := 0, 0
	o.Hooks = engine.Hooks{Finished: func(_ sim.Time, l *engine.Life) {
		n++
		if l.First.Sub(l.Request.Arrival) <= ttft[l.Request.Class] {
			kept++
		}
	}}
	mustRun(t, s.experiment(t), o)
	return float64(kept) / float64(n)
}

// Two classes, one in a hurry: just over what the engine can take, their deadlines sort them better than their arrivals.
func TestDeadlinesSortUnlikeRequestsBetterThanArrivals(t *testing.T) {
	letters := bimodal(1500, 9)
	for i := range letters {
		letters[i].class = i % 2
	}
	s := mail(t, letters)
	targets := []time.Duration{500 * time.Millisecond, 10 * time.Second}
	of := func(s *scheduler.Seq) scheduler.Targets { return scheduler.Targets{TTFT: targets[s.Class]} }
	x := s.experiment(t)
	fcfs := inTime(t, s, Options{}, targets...)
	edf := inTime(t, s, Options{Order: func() scheduler.Order { return scheduler.EDF(of) }}, targets...)
	slo := inTime(t, s, Options{Order: func() scheduler.Order { return scheduler.SLO(x.cost, of) }}, targets...)
	above(t, "in time, edf", edf, fcfs, 0.1)
	above(t, "in time, slo", slo, edf, 0)
}

// Under a load that outgrows the engine everybody is late under fcfs; who gives up on the hopeless keeps the others in time.
func TestGivingUpOnTheHopelessKeepsTheOthersInTime(t *testing.T) {
	s := mail(t, bimodal(1500, 12)).with("slo.ttft=1s")
	fcfs, slo, lcfs := s.run(t), s.under("slo").run(t), s.under("lcfs").run(t)
	above(t, "attainment, slo", *slo.Goodput.Attainment, *fcfs.Goodput.Attainment, 1)
	above(t, "attainment, slo over lcfs", *slo.Goodput.Attainment, *lcfs.Goodput.Attainment, 0)
	above(t, "attainment, lcfs", *lcfs.Goodput.Attainment, *fcfs.Goodput.Attainment, 1)
	above(t, "p99 TTFT, lcfs", lcfs.Latency.TTFT.P99, fcfs.Latency.TTFT.P99, 0.2)
}

// TestTheReportSaysWhatAnOrderRestsOn checks the notes that are no fault of the setting, only limits of what it promises.
func TestTheReportSaysWhatAnOrderRestsOn(t *testing.T) {
	for _, c := range []struct{ settings, note string }{
		{"engine.scheduling_policy=sjf", "is told the true lengths of answers, which no server knows: choose a scheduler.predictor"},
		{"engine.scheduling_policy=srpt scheduler.predictor=oracle", "is told the true lengths of answers, which no server knows (scheduler.predictor oracle)"},
		{"engine.scheduling_policy=sjf scheduler.predictor=prompt", "every client asks for exactly the tokens that it will get"},
		{"engine.scheduling_policy=sjf scheduler.predictor=prompt workload.max_tokens=2000", ""},
		{"engine.scheduling_policy=sjf scheduler.predictor=noisy scheduler.predictor.error=0.1", ""},
		{"engine.scheduling_policy=sjf scheduler.predictor.error=0.1", "scheduler.predictor.error has no effect without the predictor noisy"},
		{"engine.scheduling_policy=edf slo.ttft=1s", "as under fcfs"},
		{"engine.scheduling_policy=edf workload.classes=[{\"name\":\"a\",\"slo\":{\"ttft\":\"2s\"}},{\"name\":\"b\"}]", ""},
		{"engine.scheduling_policy=mlfq scheduler.name=static", "takes no seats under static batching"},
		{"engine.scheduling_policy=srpt scheduler.name=trtllm scheduler.predictor.name=noisy", "takes no seats under TensorRT-LLM"},
		{"engine.scheduling_policy=mlfq scheduler.name=trtllm scheduler.capacity_policy=max-utilization", ""},
		{"engine.scheduling_policy=mlfq", ""},
	} {
		x := mustBuild(t, "engine: {max_model_len: 4096}", strings.Fields(c.settings)...)
		if got := strings.Join(x.Warnings, "\n"); c.note == "" && got != "" || !strings.Contains(got, c.note) {
			t.Errorf("%s: %q, want %q in it", c.settings, got, c.note)
		}
	}
}

// TestEveryOrderPlaysEverySchedulerToTheEnd runs all of them with little memory, all invariants checked. Nobody is preempted
// where nobody may be.
func TestEveryOrderPlaysEverySchedulerToTheEnd(t *testing.T) {
	long(t)
	letters := bimodal(30, 20)
	for i := range letters {
		letters[i].client, letters[i].class = i%3, i%2
	}
	s := mail(t, letters).with("engine.num_gpu_blocks_override=300", "slo.ttft=1s")
	for _, policy := range orderNames {
		for _, scheduler := range SchedulerNames() {
			for _, more := range []string{"seed=1", "engine.preemption_mode=swap"} {
				if more != "seed=1" && scheduler != "continuous" {
					continue // only there does it act
				}
				x := s.under(policy).with("scheduler="+scheduler, more).experiment(t)
				r := mustRun(t, x, Options{Check: true})
				if r.Requests.Completed+r.Requests.Rejected != len(letters) || r.Requests.Rejected > 0 && !x.Scenario.neverPreempts() {
					t.Errorf("%s under %s, %s: %+v", policy, scheduler, more, r.Requests)
				}
				if r.Engine.Preemptions > 0 && x.Scenario.neverPreempts() {
					t.Errorf("%s under %s: %d preemptions", policy, scheduler, r.Engine.Preemptions)
				}
			}
		}
	}
}

// TestTheScenarioOrdersShowsWhatItSays follows the advice that stands above the scenario.
func TestTheScenarioOrdersShowsWhatItSays(t *testing.T) {
	of := func(policy string) *Result {
		return mustRun(t, mustBuild(t, "orders", "engine.scheduling_policy="+policy), Options{})
	}
	fcfs, sjf, srpt, fair := of("fcfs"), of("sjf"), of("srpt"), of("fair")
	above(t, "mean E2EL, fcfs over sjf", fcfs.Latency.E2EL.Mean, sjf.Latency.E2EL.Mean, 1)
	above(t, "mean E2EL, sjf over srpt", sjf.Latency.E2EL.Mean, srpt.Latency.E2EL.Mean, 0.05)
	above(t, "p99 E2EL, sjf over fcfs", sjf.Latency.E2EL.P99, fcfs.Latency.E2EL.P99, 0.3)
	above(t, "mean TTFT, fcfs over mlfq", fcfs.Latency.TTFT.Mean, of("mlfq").Latency.TTFT.Mean, 20)
	for _, c := range fair.Clients.Served[1:] {
		above(t, fmt.Sprintf("mean TTFT of the flooding client over that of client %d", c.Client), fair.Clients.Served[0].MeanTTFT, c.MeanTTFT, 10)
	}
	edf, slo := *of("edf").Goodput.Attainment, *of("slo").Goodput.Attainment
	above(t, "attainment, edf over fcfs", edf, *fcfs.Goodput.Attainment, 1)
	above(t, "attainment, slo over edf", slo, edf, 0.1)
}

// Long prompts in large steps hold up answers that have their deadlines; sized by slack they do not.
func TestChunksSizedBySlackKeepTheTimePerToken(t *testing.T) {
	s := setup{
		"engine={profile: vllm-v1, max_model_len: 32768, scheduling_policy: slo}",
		"workload={requests: 300, rate: 4, prompt: {dist: lognormal, mean: 3000, p99: 16000}, output: 200}", "slo={ttft: 3s, tpot: 25ms, itl: 100ms}",
	}
	plain, paced := s.run(t), s.with("scheduler.chunk_by_slack=true").run(t)
	above(t, "p99 ITL", plain.Latency.ITL.P99, paced.Latency.ITL.P99, 0.2)
	above(t, "attainment", *paced.Goodput.Attainment, *plain.Goodput.Attainment, 0.02)
}
