package scenarios

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/metrics"
)

// apart is a pair of engines, one for prompts and one for answers, on a link of 50 GB/s without any other cost.
var apart = setup{
	"model=llama-3.1-8b", "cluster.prefill.replicas=1", "cluster.decode.replicas=1",
	"cluster.transfer={mode: pull, link: {bandwidth: 50GB/s, latency: 0s}, handover: 0s}",
}

func (s setup) mode(name string) setup { return s.with("cluster.transfer.mode=" + name) }

func TestTransfersCarryTheKVOfPromptsAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      setup
		bytes  int64
		meanMs float64
	}{
		{"1,000 tokens of Llama-3.1-8B", apart, 1008 * 131072, 2.642412},
		{"in 8 bits", apart.with("engine.kv_cache_dtype=fp8"), 1008 * 65536, 1.321206},
		{"blocks of 64 tokens", apart.with("engine.block_size=64"), 1024 * 131072, 2.684355},
		{"two GPUs have two links", apart.tp(2), 1008 * 131072, 1.321206},
		{"the narrower end decides", apart.with("cluster.decode.engine.tensor_parallel_size=4"), 1008 * 131072, 2.642412},
		{"heads that are replicated travel as often", apart.with("engine.tensor_parallel_size=16", "hardware.gpus_per_node=32"), 2 * 1008 * 131072, 2 * 2.642412 / 16},
		{"the latent of DeepSeek goes to every GPU", apart.with("model=deepseek-v3", "engine={quantization: fp8, tensor_parallel_size: 16, block_size: 64}", "hardware={gpu: h200-sxm, gpus_per_node: 32}"), 16 * 1024 * 70272, 1024 * 70272 / 50e6},
	} {
		x := c.s.with("workload={requests: 3, prompt: 1000, output: 10, arrivals: {name: closed, clients: 1}}").experiment(t)
		r := mustRun(t, x, Options{Check: true})
		got := r.Disaggregation.Transfer
		if got.Count != 3 || got.Bytes != 3*c.bytes || math.Abs(got.Time.Mean-c.meanMs) > 2e-6 {
			t.Errorf("%s: %d transfers of %d bytes in %.6f ms, want 3 of %d in %.6f", c.name, got.Count, got.Bytes/3, got.Time.Mean, c.bytes, c.meanMs)
		}
	}
}

// Four prompts that are ready at the same instant take four times as long on the link, or wait for it.
func TestTransfersOfOneStepShareTheLink(t *testing.T) {
	s := apart.with("workload={requests: 4, prompt: 1000, output: 10, arrivals: burst}", "cluster.transfer.link.bandwidth=5GB/s", "frontend={tokenize: 0s}")
	fair, fifo := s.run(t), s.with("cluster.transfer.sharing=fifo").run(t)
	alike(t, "fair: the last", fair.Disaggregation.Transfer.Time.Max, 4*26.42412, 0.001)
	alike(t, "fair: the first", fair.Disaggregation.Transfer.Time.Min, 4*26.42412, 0.001)
	alike(t, "fifo: the last", fifo.Disaggregation.Transfer.Time.Max, 4*26.42412, 0.001)
	alike(t, "fifo: the first", fifo.Disaggregation.Transfer.Time.Min, 26.42412, 0.001)
}

// TestEveryRequestHasOneRowAndItsFirstTokenComesFirst plays all modes with timeouts, closed loops, prefixes and little
// memory; whatever happens, one request is one row, and its parts add up.
func TestEveryRequestHasOneRowAndItsFirstTokenComesFirst(t *testing.T) {
	long(t)
	base := apart.with("cluster.transfer.handover=5ms", "cluster.prefill.replicas=2", "cluster.decode.replicas=2", "engine.num_gpu_blocks_override=2000", "engine.max_model_len=8192",
		"workload={requests: 200, rate: 30, prompt: {mean: 1500, p99: 6000, max: 7000}, output: {mean: 100, p99: 400, max: 1000}, prefix: {groups: 4, tokens: 300}}")
	for _, mode := range transferModeNames() {
		for _, c := range []setup{
			nil,
			{"workload.timeout=2s"},
			{"workload.arrivals={name: closed, clients: 50}"},
			{"engine.enable_prefix_caching=false"},
			{"engine.async_scheduling=false"},
			{"cluster.remote.policy=length"},
			{"cluster.remote.policy=length-or-load"},
			{"cluster.remote.borrow_above=3000"},
			{"cluster.router=least-tokens"},
			{"cluster.hop=3ms", "workload.timeout=2s"},
			{"cluster.decode.router=prefix-affinity"},
			{"cluster.transfer={lease: 20ms, heartbeats: false}"},
			{"workload.output=1"},
			{"engine.kv_offloading_size=4"},
			{"cluster.transfer.first_token=prefill"},
			{"cluster.transfer.first_token=prefill", "workload.timeout=2s"},
			{"engine.scheduling_policy=priority", "workload.classes=[{name: a, share: 3}, {name: b, priority: -1}]"},
			{"engine.max_num_seqs=8"},
			{"engine.pipeline_parallel_size=2"},
			{"engine.watermark=0.05"},
			{"engine.scheduler_reserve_full_isl=false"},
			{"cluster.prefill.engine.tensor_parallel_size=2"},
		} {
			var rows bytes.Buffer
			s := base.with(c...)
			if len(c) == 0 || !strings.HasPrefix(c[0], "cluster.transfer=") || mode == "pull" {
				s = s.mode(mode)
			} else {
				continue
			}
			r := mustRun(t, s.experiment(t), Options{Check: true, Requests: &rows})
			checkIdentities(t, r)
			noNaN(t, reportBytes(t, r))
			checkRows(t, r, rows.Bytes())
			d := r.Disaggregation
			if share := r.Attribution.TTFT.Transfer; d.TTFT.Handover > 0 && share <= 0 || share > 1 {
				t.Errorf("%s %v: transfers are %g of TTFT", mode, c, share)
			}
			if int(d.Remote+d.Local+d.Whole) != r.Requests.Submitted-r.Requests.Rejected {
				t.Errorf("%s %v: %d + %d + %d of %+v", mode, c, d.Remote, d.Local, d.Whole, r.Requests)
			}
			sum := d.TTFT.Frontend + d.TTFT.PrefillQueue + d.TTFT.Prefill + d.TTFT.Handover + d.TTFT.DecodeMemory + d.TTFT.Transfer + d.TTFT.Decode
			if math.Abs(sum-d.TTFT.Total) > 1e-6 {
				t.Errorf("%s %v: the parts add up to %g ms, not %g", mode, c, sum, d.TTFT.Total)
			}
			if d.Local+d.Whole == 0 && d.Remote > 0 && math.Abs(d.TTFT.Total-r.Latency.TTFT.Mean) > 1e-6 {
				t.Errorf("%s %v: the parts add up to %g ms, mean TTFT is %g", mode, c, d.TTFT.Total, r.Latency.TTFT.Mean)
			}
		}
	}
}

// checkRows checks that there is one row a request, and that no answer ends before it begins.
func checkRows(t *testing.T, r *Result, text []byte) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows)-1 != r.Requests.Submitted {
		t.Errorf("%d rows of %d requests", len(rows)-1, r.Requests.Submitted)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		if row[column["status"]] != "completed" {
			continue
		}
		ttft, _ := strconv.ParseFloat(row[column["ttft_ms"]], 64)
		e2el, _ := strconv.ParseFloat(row[column["e2el_ms"]], 64)
		if ttft <= 0 || e2el < ttft {
			t.Errorf("TTFT %g ms, E2EL %g ms", ttft, e2el)
		}
	}
}

func TestARunThatEndsEarlyLosesNobody(t *testing.T) {
	for _, mode := range transferModeNames() {
		r := apart.mode(mode).with("workload={requests: 300, rate: 100, horizon: 2s, prompt: 3000, output: 100}").run(t)
		checkIdentities(t, r)
		if q := r.Requests; q.Unfinished == 0 || q.Completed == 0 || q.Completed+q.Unfinished != q.Submitted {
			t.Errorf("%s: %+v", mode, q)
		}
	}
}

// Pools of different GPUs have memory of different sizes.
func TestEachPoolHasItsOwnGPUAndMemory(t *testing.T) {
	r := apart.with("hardware.gpu=h100-sxm", "cluster.prefill={replicas: 2, gpu: a100-sxm-80g, engine: {max_num_seqs: 16}}", "cluster.decode={replicas: 1, engine: {tensor_parallel_size: 2}}",
		"workload={requests: 50, prompt: 1000, output: 10}").run(t)
	alone := func(s ...string) int {
		return setup{"model=llama-3.1-8b"}.with(s...).experiment(t).Memory.Blocks - 1
	}
	var got []string
	for _, one := range r.Replicas {
		got = append(got, fmt.Sprint(one.Name, " ", one.GPU, " ", one.GPUs, " ", one.KV.Blocks))
	}
	prefill, decode := alone("hardware.gpu=a100-sxm-80g", "engine.max_num_seqs=16"), alone("hardware.gpu=h100-sxm", "engine.tensor_parallel_size=2")
	want := fmt.Sprintf("[prefill-0 a100-sxm-80g 1 %d prefill-1 a100-sxm-80g 1 %d decode-0 h100-sxm 2 %d]", prefill, prefill, decode)
	if r.Provenance.ErrorBandPct != 25 {
		t.Errorf("an error of %g %%", r.Provenance.ErrorBandPct)
	}
	if fmt.Sprint(got) != want || r.GPU.Count != 4 || prefill == decode {
		t.Errorf("got %v, want %s; %d GPUs", got, want, r.GPU.Count)
	}
}

func TestTheConfigurationOfPoolsRunAgainGivesTheSameBytes(t *testing.T) {
	for _, s := range []setup{
		apart,
		{"scheduler=disaggregated", "cluster.replicas=5"},
		apart.with("hardware.gpu=h100-sxm", "cluster.prefill={replicas: 2, gpu: a100-sxm-80g, engine: {enable_prefix_caching: false}}", "engine.max_num_batched_tokens=4096"),
		apart.with("cluster.prefill={replicas: 2, engine: {api_server_count: 2}}", "frontend.per_request=3ms", "cluster.decode.engine.profile=vllm-0.19"),
		apart.mode("layerwise").with("cluster.remote={policy: length, borrow_above: 9000}", "cluster.decode.gpu={name: h100-sxm, mem_bw_tbs: 2}"),
	} {
		s = s.with("workload={requests: 60, rate: 30, prompt: 1000, output: 20}")
		first := mustRun(t, s.experiment(t), Options{})
		again := mustRun(t, mustBuild(t, string(first.Config.JSON())), Options{})
		a, b := reportBytes(t, first), reportBytes(t, again)
		if !bytes.Equal(a, b) {
			t.Errorf("%v: %s", s, firstDifference(b, a))
		}
	}
}

func TestTheSchedulerDisaggregatedHalvesTheReplicas(t *testing.T) {
	for _, c := range []struct {
		s               setup
		prefill, decode int
	}{
		{setup{"scheduler=disaggregated"}, 1, 1},
		{setup{"scheduler=disaggregated", "cluster.replicas=4"}, 2, 2},
		{setup{"scheduler=disaggregated", "cluster.replicas=5"}, 2, 3},
		{setup{"scheduler=disaggregated", "cluster.prefill.replicas=3"}, 3, 1},
		{setup{"cluster.decode.replicas=3"}, 1, 3},
		{setup{"cluster.prefill={engine: {max_num_seqs: 4}}"}, 1, 1},
	} {
		x := c.s.experiment(t)
		if got := x.Scenario.Cluster; got.Prefill.Replicas != c.prefill || got.Decode.Replicas != c.decode || x.Replicas() != c.prefill+c.decode || len(x.Warnings) > 0 {
			t.Errorf("%v: %d and %d engines; %q", c.s, got.Prefill.Replicas, got.Decode.Replicas, x.Warnings)
		}
	}
	for _, s := range []setup{{"cluster.prefill=none"}, {"cluster.prefill.replicas=0", "cluster.decode.replicas=0"}} {
		if x := s.experiment(t); x.Replicas() != 1 || x.split != nil {
			t.Errorf("%v: %d engines", s, x.Replicas())
		}
	}
}

func TestWhatPoolsCannotDoIsRefused(t *testing.T) {
	for _, c := range []struct{ setting, want string }{
		{"scheduler=static", "must be chunked"},
		{"cluster.prefill.replicas=0", "must be at least 1"},
		{"cluster.decode.engine.kv_cache_dtype=fp8", "must be that of the engines that prefill"},
		{"cluster.prefill.engine.block_size=32", "must be that of the engines that prefill, 32"},
		{"model=gpt-oss-20b", "not supported for models with sliding-window layers"},
		{"cluster.groups=[{name: a}]", "does not go together"},
		{"cluster.autoscale.max=3", "does not go together"},
		{"cluster.decode.engine.profile=vllm-v0", "scheduler: must be chunked where prefill and decode have engines of their own, got continuous"},
		{"cluster.decode.gpu=H1000", "cluster.decode.gpu"},
		{"cluster.decode.engine.max_model_len=1000000", "cluster.decode.engine.max_model_len"},
		{"cluster.prefill.engine.tensor_parallel_size=3", "cluster.prefill.engine.tensor_parallel_size"},
		{"cluster.transfer.link=smoke", "cluster.transfer.link.name: must be one of"},
	} {
		_, err := build("name: refused\n", apart.with(c.setting)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.setting, err, c.want)
		}
	}
	_, err := build("name: refused\n", apart.with("hardware.gpu=l40s", "cluster.transfer.link=nvlink")...)
	if err == nil || !strings.Contains(err.Error(), "use pcie") {
		t.Errorf("NVLink on an L40S: %v", err)
	}
	x := apart.experiment(t)
	if _, err := x.Run(context.Background(), Options{Naive: true}); err == nil {
		t.Error("the reference engine plays what it cannot")
	}
}

func TestTheLinkFollowsFromWhereTheGPUsAre(t *testing.T) {
	for _, c := range []struct{ setting, want string }{
		{"hardware.gpu=h100-sxm", "nvlink, 450 GB/s"},
		{"hardware.gpu=l40s", "ib-ndr, 50 GB/s"},
		{"hardware={gpu: h100-sxm, gpus_per_node: 1}", "ib-ndr, 50 GB/s"},
		{"hardware={gpu: h100-sxm, gpus_per_node: 1, internode: eth-100}", "eth-100, 12.5 GB/s"},
		{"cluster.decode.gpu=h200-sxm", "ib-ndr, 50 GB/s"},
		{"cluster.transfer.link=pcie", "pcie, 64 GB/s"},
		{"cluster.transfer.link=roce-200", "roce-200, 25 GB/s"},
		{"cluster.transfer.link={bandwidth: 10GB/s, latency: 3us}", "own link, 10 GB/s per GPU and direction, 3µs"},
		{"cluster.transfer.link={name: ib-hdr, bandwidth: 10GB/s}", "ib-hdr, 10 GB/s per GPU and direction, 5µs"},
	} {
		x := setup{"model=llama-3.1-8b", "scheduler=disaggregated"}.with(c.setting).experiment(t)
		if got := x.split.about.Link; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.setting, got, c.want)
		}
	}
}

func TestPoolsGiveTheSameBytesOnAnyNumberOfProcessors(t *testing.T) {
	x := apart.mode("layerwise").with("workload={requests: 200, rate: 20, prompt: {mean: 2000, p99: 8000}, output: 60}", "cluster.router=power-of-two").experiment(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := reportBytes(t, mustRun(t, x, Options{}))
	runtime.GOMAXPROCS(2)
	if two := reportBytes(t, mustRun(t, x, Options{})); !bytes.Equal(one, two) {
		t.Errorf("reports differ: %s", firstDifference(two, one))
	}
}

// At concurrency 1 two engines only add to the way to the first token, whose definition stands in the report.
func TestAPairIsSlowerToTheFirstTokenThanOneEngine(t *testing.T) {
	load := []string{"model=llama-3.1-8b", "workload={requests: 20, prompt: 4000, output: 20, arrivals: {name: closed, clients: 1}}"}
	one := setup(load).run(t)
	for _, mode := range transferModeNames() {
		two := setup(load).with("scheduler=disaggregated").mode(mode).run(t)
		above(t, mode+" TTFT", two.Latency.TTFT.Min, one.Latency.TTFT.Max, 0)
		alike(t, mode+" TPOT", two.Latency.TPOT.Mean, one.Latency.TPOT.Mean, 0.02)
		want := map[string]string{"pull": metrics.FirstTokenDecoded}[mode]
		if want == "" {
			want = metrics.FirstTokenHanded
		}
		if two.Disaggregation.TTFTDefinition != want {
			t.Errorf("%s: %q", mode, two.Disaggregation.TTFTDefinition)
		}
	}
}

// A request that asks for one token never enters the decode pool, and nothing travels.
func TestAnswersOfOneTokenNeverEnterTheDecodePool(t *testing.T) {
	r := apart.with("workload={requests: 20, prompt: 1000, output: 1}").run(t)
	if d := r.Disaggregation; d.Whole != 20 || d.Transfer.Count != 0 || r.Replicas[1].Steps != 0 || r.Requests.Completed != 20 {
		t.Errorf("%+v", d)
	}
}

// longerThan is a rule from outside.
type longerThan int

func (n longerThan) Remote(q cluster.Question) bool { return q.Tokens > int(n) }

func TestARuleFromOutsideIsAValue(t *testing.T) {
	x := apart.with("workload={requests: 100, rate: 10, prompt: {dist: uniform, mean: 1000, range_ratio: 0.5}, output: 10}").experiment(t)
	d := mustRun(t, x, Options{Remote: longerThan(1000)}).Disaggregation
	if d.Remote < 30 || d.Local < 30 || d.Remote+d.Local != 100 {
		t.Errorf("%d and %d requests", d.Remote, d.Local)
	}
}

func TestAnAnswerOfOneTokenFromThePrefillHasAQueueInItsRow(t *testing.T) {
	var rows bytes.Buffer
	s := apart.mode("layerwise").with("workload={requests: 20, rate: 30, prompt: 1000, output: 1, max_tokens: 50}")
	mustRun(t, s.experiment(t), Options{Requests: &rows})
	lines := strings.Split(strings.TrimSpace(rows.String()), "\n")
	queue := slices.Index(strings.Split(lines[0], ","), "queue_ms")
	for _, line := range lines[1:] {
		if cells := strings.Split(line, ","); cells[queue] == "" {
			t.Fatalf("no queue_ms in %s", line)
		}
	}
}

// A first token from the prefill may be with its client, and the whole answer complete, before the rest of the KV is there
// and before the decoding engine has scheduled anything.
func TestNothingAfterTheFirstTokenIsPartOfTheWayToIt(t *testing.T) {
	for more, longest := range map[string]int{ // order does not matter: each is a run of its own
		"cluster.decode.engine.max_num_seqs=1":                                                   20,
		"cluster.transfer={mode: push-chunks, first_token: prefill, link: {bandwidth: 100MB/s}}": 2,
	} {
		s := apart.mode("push-chunks").with("cluster.transfer.reserved_decode_tokens=0", more)
		r := s.with(fmt.Sprintf("workload={requests: 20, rate: 100, prompt: 500, output: {min: 1, max: %d}, max_tokens: 20}", longest)).run(t)
		if q, first := r.Latency.Queue, r.Latency.TTFT; q.Max > first.Max || q.Mean > first.Mean {
			t.Errorf("%s: queue %.1f ms on average and %.1f at most, TTFT %.1f and %.1f", more, q.Mean, q.Max, first.Mean, first.Max)
		}
		if tr := r.Disaggregation.Transfer; tr.Count == 0 || tr.Time.Min <= 0 {
			t.Errorf("%s: %d transfers, the shortest of %g ms", more, tr.Count, tr.Time.Min)
		}
	}
}

// A first token that the prefill has streamed comes at a time at which the decoding engine may long have been idle.
func TestAPreemptionAfterAnEarlyFirstTokenTakesNoNegativeTime(t *testing.T) {
	s := setup{
		"seed=527", "model=deepseek-v2-lite", "hardware.gpu=A100-SXM-80G",
		"engine={max_num_seqs: 1, max_num_batched_tokens: 64, enable_prefix_caching: false, enforce_eager: true, scheduling_policy: mlfq}",
		"cluster.prefill={replicas: 3, engine: {max_num_batched_tokens: 2048, async_scheduling: false}}", "cluster.decode={replicas: 3, gpu: H200-SXM}",
		"cluster.transfer={mode: layerwise, link: nvlink, handover: 50ms, first_token: prefill}",
		"cluster.remote={policy: length, max_local_prefill_length: 100, max_prefill_queue_size: 3}",
	}
	r := s.with("workload={requests: 150, rate: 1, prompt: {dist: lognormal, mean: 25, p99: 100, max: 200}, output: {min: 1, max: 120}}").run(t)
	checkIdentities(t, r)
	if share := r.Attribution.TPOT.Preemption; r.Engine.Preemptions == 0 || share < 0 {
		t.Errorf("%d preemptions took %g of the time per token", r.Engine.Preemptions, share)
	}
}
