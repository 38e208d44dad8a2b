package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

const ms = time.Millisecond

// crowdOf draws requests of every kind: short and long, refused, impatient, and of a single token.
func crowdOf(seed uint64, n int, impatient bool) []workload.Request {
	r := rand.New(rand.NewPCG(seed, 9))
	var at time.Duration
	list := make([]workload.Request, n)
	for i := range list {
		at += time.Duration(r.ExpFloat64() * float64(60*ms))
		list[i] = ask(at, 1+r.Int32N(150), 1+r.Int32N(12))
		switch r.IntN(12) {
		case 0:
			list[i].Tokens = 2000
		case 1:
			if impatient {
				list[i].Timeout = time.Duration(1 + r.Int64N(int64(200*ms)))
			}
		case 2:
			list[i].Output, list[i].MaxTokens = 1, 1
		}
	}
	return list
}

func sumsToOne(t *testing.T, name string, shares any) {
	t.Helper()
	v, sum := reflect.ValueOf(shares), 0.0
	for i := range v.NumField() {
		f := v.Field(i).Float()
		if f < 0 || f > 1 {
			t.Errorf("%s.%s = %v", name, v.Type().Field(i).Name, f)
		}
		sum += f
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("%s sums to %v: %+v", name, sum, shares)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1e-12) }

// identities checks what every report must obey.
func identities(t *testing.T, rep Report) {
	t.Helper()
	q := rep.Requests
	if q.Submitted != q.Completed+q.Rejected+q.Aborted+q.Unfinished {
		t.Errorf("requests are lost: %+v", q)
	}
	refused := 0
	for _, r := range rep.Rejections {
		refused += r.Count
	}
	if refused != q.Rejected {
		t.Errorf("%d refusals have a reason, %d requests were rejected", refused, q.Rejected)
	}
	warm := Requests{}
	if w := rep.Warmup; w != nil {
		warm = w.Requests
		if w.Measured.minus(q.minus(warm)) != (Requests{}) || !near(rep.Throughput.RequestsPerS*w.DurationS, float64(w.Measured.Completed)) {
			t.Errorf("of %+v, %+v are the warm-up's and %+v measured over %v s: %v requests/s", q, warm, w.Measured, w.DurationS, rep.Throughput.RequestsPerS)
		}
	}
	if !near(rep.GPU.EnergyJ, rep.GPU.MeanPowerW*rep.DurationS) {
		t.Errorf("%v J in %v s are not %v W", rep.GPU.EnergyJ, rep.DurationS, rep.GPU.MeanPowerW)
	}
	l := rep.Latency
	done := int64(q.Completed - warm.Completed)
	if l.TTFT.Count != done || l.E2EL.Count != done || l.Queue.Count != done || l.TPOT.Count > done {
		t.Errorf("%d measured requests, but latencies of %d, %d, %d, %d", done, l.TTFT.Count, l.E2EL.Count, l.Queue.Count, l.TPOT.Count)
	}
	if !near(rep.Throughput.RequestsPerS*rep.DurationS, float64(done)) ||
		!near(rep.Throughput.OutputTokensPerS*rep.DurationS, float64(rep.Tokens.Output)) {
		t.Errorf("throughput: %+v over %v s", rep.Throughput, rep.DurationS)
	}
	sumsToOne(t, "wall_time", rep.Attribution.WallTime)
	if done > 0 {
		sumsToOne(t, "ttft", rep.Attribution.TTFT)
	} else if rep.Attribution.TTFT != (TTFTShares{}) {
		t.Errorf("shares of no TTFT: %+v", rep.Attribution.TTFT)
	}
	if l.TPOT.Count > 0 {
		sumsToOne(t, "tpot", rep.Attribution.TPOT)
	} else if rep.Attribution.TPOT != (TPOTShares{}) {
		t.Errorf("shares of no TPOT: %+v", rep.Attribution.TPOT)
	}
	if w := rep.Attribution.WallTime; !near(rep.GPU.Busy, 1-w.Idle) {
		t.Errorf("busy %v, idle %v", rep.GPU.Busy, w.Idle)
	}
	if q.Unfinished == 0 && !near(rep.Concurrency.L, rep.Concurrency.Lambda*rep.Concurrency.W) {
		t.Errorf("Little's law: %+v", rep.Concurrency)
	}
	if _, err := json.Marshal(rep); err != nil { // NaN and infinities cannot be marshalled
		t.Error(err)
	}
}

// pooledGaps checks that the gaps add up to the time from first to last tokens, to the nanosecond.
func pooledGaps(t *testing.T, r *Recorder) {
	t.Helper()
	var want int64
	for _, c := range r.records.chunks {
		for i, ns := range c.column(e2el) {
			want += int64(ns - c.column(ttft)[i])
		}
	}
	count := r.tokens.Output - int64(r.records.n)
	if r.gaps.sum != want || r.gaps.count != count {
		t.Errorf("%d gaps sum to %d ns; E2EL − TTFT sums to %d ns over %d", r.gaps.count, r.gaps.sum, want, count)
	}
}

func TestReportsObeyTheirIdentities(t *testing.T) {
	for seed := range uint64(6) {
		for _, c := range []struct {
			name      string
			run       run
			impatient bool
			inexact   bool // ITL pools gaps of requests that did not complete
		}{
			{name: "plain"},
			{name: "async", run: run{async: true}},
			{name: "pipeline", run: run{stages: 3}},
			{name: "frontend", run: run{frontend: engine.Frontend{Ingress: 3 * ms, PerChunk: ms}}},
			{name: "impatient", impatient: true, inexact: true},
			{name: "impatient per token", impatient: true, run: run{config: Config{PerToken: true}}},
			{name: "warm-up", impatient: true, run: run{config: Config{Warmup: sim.Time(2 * time.Second)}}},
			{name: "all warm-up", run: run{config: Config{Warmup: sim.Time(time.Hour)}}},
			{name: "cut", run: run{until: sim.Time(3 * time.Second), config: Config{PerToken: true}}},
			{name: "evictions", run: run{seats: seats{evict: map[int64]int32{3: 2, 8: 1, 20: 4}}}},
			{name: "async evictions", run: run{async: true, seats: seats{evict: map[int64]int32{3: 2, 8: 1, 20: 4}}}},
		} {
			t.Run(fmt.Sprint(c.name, seed), func(t *testing.T) {
				c.run.requests = crowdOf(seed, 100, c.impatient)
				c.run.config.SLO = SLO{TTFT: 300 * ms, TPOT: 20 * ms}
				rep, rec := play(t, c.run)
				identities(t, rep)
				if !c.inexact {
					pooledGaps(t, rec)
				}
				if rep.Requests.Submitted == 0 || rep.Requests.Rejected == 0 || rep.Requests.Completed == 0 {
					t.Errorf("the test shows nothing: %+v", rep.Requests)
				}
			})
		}
	}
}

func TestARunWithoutRequestsStillReports(t *testing.T) {
	rep := New(Config{SLO: SLO{TTFT: ms}}).Report(0)
	identities(t, rep)
	if rep.Attribution.WallTime.Idle != 1 || *rep.Goodput.Attainment != 0 || rep.Verdict.State != Stable {
		t.Errorf("%+v", rep)
	}
}

func TestARunInWhichNothingCompletesStillReports(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 2000, 5), ask(ms, 90, 5)}, until: sim.Time(20 * ms), config: Config{SLO: SLO{TTFT: ms}}})
	identities(t, rep)
	if rep.Requests != (Requests{Submitted: 2, Rejected: 1, Unfinished: 1}) || len(rep.Warnings) == 0 {
		t.Errorf("%+v %v", rep.Requests, rep.Warnings)
	}
	if *rep.Goodput.Attainment != 0 || *rep.Goodput.ByMetric.TTFT != 0 {
		t.Errorf("targets are met by requests that did not complete: %+v", rep.Goodput)
	}
}

func TestGoodputIsNullWithoutTargets(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 5)}})
	b, err := json.Marshal(rep.Goodput)
	if want := `{"requests_per_s":null,"attainment":null,"by_metric":{}}`; err != nil || string(b) != want {
		t.Errorf("goodput is %s, want %s", b, want)
	}
}

func TestGoodputCountsWhateverDidNotCompleteAsAMiss(t *testing.T) {
	// Alone, a request of 10 tokens has its first after 14 ms and each further one after 4.1 ms.
	rep, _ := play(t, run{
		requests: []workload.Request{ask(0, 10, 1), ask(time.Second, 10, 5), ask(2*time.Second, 40, 5), ask(3*time.Second, 2000, 5)},
		config:   Config{SLO: SLO{TTFT: 20 * ms, TPOT: 4 * ms, E2EL: 45 * ms, ITL: 5 * ms}},
	})
	g := rep.Goodput
	// The first has no TPOT and meets it; the third is too slow to start.
	if *g.ByMetric.TTFT != 0.5 || *g.ByMetric.TPOT != 0.25 || *g.ByMetric.E2EL != 0.5 || *g.ByMetric.ITL != 0.75 || *g.Attainment != 0.25 {
		t.Errorf("attainment %v: ttft %v, tpot %v, e2el %v, itl %v", *g.Attainment, *g.ByMetric.TTFT, *g.ByMetric.TPOT, *g.ByMetric.E2EL, *g.ByMetric.ITL)
	}
}

func TestQueueWaitIsInsideTTFT(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 1000), ask(0, 10, 2)}, seats: seats{max: 1}})
	if first := 14 + 999*4.1; rep.Latency.TTFT.Max < first || rep.Latency.Queue.Max < first {
		t.Errorf("the second request waited %v ms and had its first token after %v ms", rep.Latency.Queue.Max, rep.Latency.TTFT.Max)
	}
}

func TestPeaksAreCountedInSecondsFromTheFirstRequest(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(1500*ms, 10, 3), ask(2200*ms, 10, 4), ask(2600*ms, 10, 9)}})
	if p := rep.Throughput; p.PeakOutputTokensPerS != 9 || p.PeakConcurrentRequests != 2 {
		t.Errorf("%+v", p)
	}
}

func TestTheWarmupIsLeftOutOfWhatIsMeasured(t *testing.T) {
	rep, _ := play(t, run{
		requests: []workload.Request{ask(0, 90, 2), ask(time.Second, 10, 2), ask(2*time.Second, 10, 2)},
		config:   Config{Warmup: sim.Time(time.Second)},
	})
	if rep.Requests.Completed != 3 || rep.Warmup.Completed != 1 || rep.Latency.TTFT.Count != 2 || rep.Tokens.Input != 20 {
		t.Errorf("%+v %+v %+v", rep.Requests, rep.Warmup, rep.Latency.TTFT)
	}
	if rep.Latency.TTFT.Max != 14 || rep.Engine.Steps != 4 || !near(rep.DurationS, 1.0181) {
		t.Errorf("ttft %v ms, %d steps, %v s", rep.Latency.TTFT.Max, rep.Engine.Steps, rep.DurationS)
	}
	if busy := 2 * 0.0181 / rep.DurationS; !near(rep.GPU.Busy, busy) {
		t.Errorf("busy %v, want %v", rep.GPU.Busy, busy)
	}
}

func TestTheWarmupIsLeftOutOfTotalsAndPeaks(t *testing.T) {
	// Three early requests, two of which lose their memory; one of the two late ones does.
	rep, _ := play(t, run{
		requests: []workload.Request{ask(0, 10, 9), ask(0, 10, 9), ask(0, 10, 9), ask(5*time.Second, 10, 5), ask(5*time.Second, 10, 5)},
		seats:    seats{evict: map[int64]int32{0: 3, 1: 4, 3: 2}},
		config:   Config{Warmup: sim.Time(5 * time.Second)},
	})
	identities(t, rep)
	if e, p := rep.Engine, rep.Throughput; e.Preemptions != 1 || e.Batch.PeakRunning != 2 || !near(e.KV.PeakUsage, 0.2) || p.PeakOutputTokensPerS != 10 {
		t.Errorf("%+v; at most %d tokens/s", e, p.PeakOutputTokensPerS)
	}
	if w := rep.Warmup; w.Completed != 3 || w.Measured != (Requests{Submitted: 2, Completed: 2}) || w.DurationS != rep.DurationS {
		t.Errorf("%+v", w)
	}
}

func TestAWarmupThatNobodyOutlastsIsToldApartFromARunWithoutAnswers(t *testing.T) {
	for _, c := range []struct {
		requests []workload.Request
		want     string
	}{
		{nil, "no request arrived: "},
		{[]workload.Request{ask(0, 10, 3)}, "no request arrived after the warm-up, which lasts 1 s: "},
		{[]workload.Request{ask(0, 10, 3), ask(time.Second, 2000, 3)}, "no request that arrived after the warm-up completed: "},
	} {
		rep, _ := play(t, run{requests: c.requests, config: Config{Warmup: sim.Time(time.Second)}})
		identities(t, rep)
		if !strings.Contains(strings.Join(rep.Warnings, "; "), c.want) {
			t.Errorf("%d requests: %q, want %q", len(c.requests), rep.Warnings, c.want)
		}
	}
}

func TestAStepThatOutlastsTheLastAnswerCountsUpToIt(t *testing.T) {
	// The client gives up in the middle of a step of 100 ms that takes 1 J.
	impatient := ask(0, 96, 5)
	impatient.Timeout = 50 * ms
	for _, c := range []struct {
		requests []workload.Request
		joules   float64
	}{{[]workload.Request{impatient}, 0.5}, {[]workload.Request{impatient, ask(time.Second, 10, 2)}, 3}} {
		rep, _ := play(t, run{requests: c.requests})
		identities(t, rep)
		if !near(rep.GPU.EnergyJ, c.joules) || rep.GPU.Busy > 1 || len(c.requests) == 1 && rep.DurationS != 0.05 {
			t.Errorf("%d requests: %v J in %v s, busy %v", len(c.requests), rep.GPU.EnergyJ, rep.DurationS, rep.GPU.Busy)
		}
	}
}

func TestAnswersOfOneTokenHaveNoTPOTToSplit(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 1), ask(time.Second, 10, 1)}})
	identities(t, rep)
	if rep.Requests.Completed != 2 || rep.Latency.TPOT.Count != 0 || rep.Attribution.TPOT != (TPOTShares{}) {
		t.Errorf("%+v %+v", rep.Latency.TPOT, rep.Attribution.TPOT)
	}
}

func TestEnergyIsThatOfStepsAndOfTheIdlenessBetween(t *testing.T) {
	rep, _ := play(t, run{
		requests: []workload.Request{ask(0, 10, 3)},
		config:   Config{Engine: Engine{GPUs: 2, IdleWatts: 100, PeakFLOPs: 1e12, PeakBandwidth: 1e9, WeightBytes: 1000, BlockBytes: 7}},
	})
	g, s := rep.GPU, 0.0222 // 14 ms and twice 4.1 ms, of each of which the host takes 0.5 ms
	if !near(rep.DurationS, s) || !near(g.EnergyJ, 2*(3+100*0.0015)) || !near(g.MeanPowerW, g.EnergyJ/s) || g.MemoryPeakBytes != 1007 {
		t.Errorf("%v s: %+v", rep.DurationS, g)
	}
	if !near(g.MFU, 12e9/(1e12*s)) || !near(g.MBU, 3e6/(1e9*s)) || !near(g.OutputTokensPerJoule, 3/g.EnergyJ) || !near(g.Busy, 1) {
		t.Errorf("%+v", g)
	}
	e := rep.Engine
	if e.Steps != 3 || e.Batch.PeakRunning != 1 || !near(e.Batch.MeanRunning, 1) || !near(e.Batch.MeanStepTokens, 4) || !near(e.KV.MeanUsage, 0.1) || !near(e.KV.PeakUsage, 0.1) {
		t.Errorf("%+v", e)
	}
}

func TestReasonsForRefusalAreBounded(t *testing.T) {
	r := New(Config{})
	h := r.Hooks()
	for i := range 1000 {
		l := engine.Life{Request: &workload.Request{}}
		h.Arrived(0, &l)
		l.Outcome = workload.Outcome{Status: workload.Rejected, Reason: fmt.Sprint("reason ", i)}
		h.Finished(0, &l)
	}
	rep := r.Report(0)
	identities(t, rep)
	if len(rep.Rejections) != refusalKinds+1 || rep.Rejections[0].Reason != "other reasons" {
		t.Errorf("%d reasons, the first %+v", len(rep.Rejections), rep.Rejections[0])
	}
}

func TestAStepAllocatesNothing(t *testing.T) {
	r := New(Config{Engine: Engine{Cost: prices{}, Usage: func() kvcache.Usage { return kvcache.Usage{Held: 1, Total: 2} }}})
	h := r.Hooks()
	p := &scheduler.Plan{}
	for i := range 64 {
		l := engine.Life{Request: &workload.Request{}, Slot: int32(i), Seq: &scheduler.Seq{ID: kvcache.SeqID(i)}}
		h.Arrived(0, &l)
		w := scheduler.Work{Seq: l.Seq, Tokens: 1, Past: 10, Decode: i < 60, Samples: true}
		p.Work = append(p.Work, w)
		if w.Decode {
			p.Step.AddDecode(10, hardware.Window{})
		} else {
			p.Step.AddChunk(1, 10, true, hardware.Window{})
		}
	}
	now := sim.Time(0)
	var ran engine.Ran
	step := func() {
		c := prices{}.Cost(p.Step)
		start := now
		now = now.Add(c.Device + c.Exposed + c.Host)
		h.Planned(start, p)
		ran = engine.Ran{Start: start, End: now, Busy: now.Sub(start), Plan: p, Cost: c}
		h.Ran(&ran)
		h.Gap(now.Sub(start), 60)
	}
	step()
	y := &r.watches[0].tally // grows once a second, not once a step
	y.seconds = slices.Grow(y.seconds, 1000)
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

func TestTheReportIsTheSameTwice(t *testing.T) {
	var last string
	for range 2 {
		rep, rec := play(t, run{requests: crowdOf(1, 50, true), config: Config{Percentiles: []float64{99.9, 75}}})
		b, _ := json.Marshal(rep)
		again, _ := json.Marshal(rec.Report(0))
		if string(b) != string(again) || last != "" && last != string(b) || !strings.Contains(string(b), `"p99.9":`) {
			t.Errorf("reports differ:\n%s\n%s\n%s", last, b, again)
		}
		last = string(b)
	}
}

func TestSeveralEnginesShareOneReport(t *testing.T) {
	r := New(Config{})
	for i, h := range []engine.Hooks{r.Watch(Engine{GPUs: 2}), r.Watch(Engine{GPUs: 2})} {
		q := ask(0, 10, 2)
		l := engine.Life{Request: &q, Seq: &scheduler.Seq{}}
		c := prices{}.Cost(hardware.Step{Tokens: 10, Seqs: 1})
		p := &scheduler.Plan{Work: []scheduler.Work{{Seq: l.Seq, Tokens: 10, Samples: true}}, Step: hardware.Step{Tokens: 10, Seqs: 1}}
		h.Arrived(0, &l)
		h.Admitted(0, &l)
		l.Started = true
		for n := range 2 {
			end := sim.Time((n + 1) * (i + 1) * 14e6)
			h.Ran(&engine.Ran{Start: l.Last, End: end, Busy: end.Sub(l.Last), Plan: p, Cost: c})
			if n > 0 {
				h.Gap(end.Sub(l.Last), 1)
			}
			l.Emitted, l.Last = int32(n+1), end
			if n == 0 {
				l.First = end
				h.FirstOut(end, &l)
			}
		}
		l.Outcome = workload.Outcome{At: l.Last}
		h.Finished(l.Last, &l)
	}
	rep := r.Report(0)
	identities(t, rep)
	pooledGaps(t, r)
	if rep.GPU.Count != 4 || rep.Requests.Completed != 2 || rep.Throughput.PeakOutputTokensPerS != 4 || rep.DurationS != 0.056 {
		t.Errorf("%+v %+v %v s", rep.GPU, rep.Requests, rep.DurationS)
	}
}

func TestTheReportHasItsKeys(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 5)}, config: Config{SLO: SLO{TTFT: ms, TPOT: ms}}})
	b, _ := json.Marshal(rep)
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	const stats = "count mean std min p50 p90 p95 p99 max"
	for path, keys := range map[string]string{ // order does not matter: each path is checked by itself
		"":         "requests rejections duration_s tokens throughput goodput latency_ms engine gpu attribution verdict warnings",
		"requests": "submitted completed rejected aborted unfinished", "tokens": "input output",
		"throughput": "requests_per_s input_tokens_per_s output_tokens_per_s total_tokens_per_s output_tokens_per_s_per_gpu output_tokens_per_s_per_user",
		"goodput":    "requests_per_s attainment by_metric", "goodput.by_metric": "ttft tpot",
		"latency_ms.ttft": stats, "latency_ms.tpot": stats, "latency_ms.itl": stats, "latency_ms.e2el": stats, "latency_ms.queue": stats,
		"engine": "steps preemptions recomputed_tokens batch kv prefix_cache", "engine.batch": "mean_running peak_running mean_step_tokens",
		"engine.kv": "blocks block_size bytes_per_token mean_usage peak_usage", "engine.prefix_cache": "queried_tokens hit_tokens",
		"gpu":                   "count busy mfu mbu memory_peak_bytes energy_j mean_power_w output_tokens_per_joule output_tokens_per_s_per_watt",
		"attribution.wall_time": "compute weights kv_read network overhead idle",
		"attribution.ttft":      "frontend queue prefill interference transfer overhead",
		"attribution.tpot":      "compute weights kv_read network overhead interference preemption frontend",
		"verdict":               "state why",
	} {
		node := tree
		for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
			node = node.(map[string]any)[step]
		}
		have, ok := node.(map[string]any)
		for k := range strings.FieldsSeq(keys) {
			if _, found := have[k]; !ok || !found {
				t.Errorf("no key %q under %q", k, path)
			}
		}
	}
}
