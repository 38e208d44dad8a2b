package hardware

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// as15 are the settings of vLLM 0.15: graphs live in what the utilisation leaves.
func as15() MemoryOptions { return MemoryOptions{Utilization: 0.9, SamplerBytes: WholeSort} }

func plan(t *testing.T, d Deployment, o MemoryOptions) Memory {
	t.Helper()
	m, err := PlanMemory(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The two constants of the plan were read off the first four pools: for them the test guards the plan, it does not prove
// it. The RTX 4090's helped to choose between two ways of sorting.
func TestPoolsMatchThoseThatVLLMReports(t *testing.T) {
	for _, c := range []struct {
		model, gpu string
		tp, seqs   int
		sampler    float64
		tokens     float64
	}{
		// vLLM 0.15.1, gpu_memory_utilization 0.9, max_num_batched_tokens 2048, max_num_seqs 128.
		{"llama-2-7b", "h100-sxm", 1, 128, WholeSort, 119_408},
		{"llama-2-70b", "h100-sxm", 4, 128, WholeSort, 501_712},
		{"mixtral-8x7b", "h100-sxm", 2, 128, WholeSort, 440_176},
		{"codellama-34b", "h100-sxm", 2, 128, WholeSort, 425_648},
		// vLLM 0.19, the same with max_num_seqs 256.
		{"llama-3.1-8b", "rtx-4090", 1, 256, SegmentedSort, 41_408},
	} {
		d := on(t, c.model, c.gpu, c.tp)
		d.MaxNumBatchedTokens, d.MaxNumSeqs = 2048, c.seqs
		m := plan(t, d, MemoryOptions{Utilization: 0.9, SamplerBytes: c.sampler})
		t.Logf("%s on %s: %d tokens, reported %.0f", c.model, c.gpu, m.Tokens(), c.tokens)
		near(t, c.model, float64(m.Tokens()), c.tokens, 0.005)
	}
}

// What vLLM's logs call "peak activation", in GiB: with 256 sequences or more it is the sampler's, whatever the number of GPUs.
func TestPeaksMatchThoseThatVLLMLogs(t *testing.T) {
	for _, c := range []struct {
		model             string
		tp, tokens, seqs  int
		sampler, reported float64
	}{
		{"llama-3-8b", 1, 8192, 256, WholeSort, 1.26}, // vLLM 0.6.5
		{"llama-3-8b", 2, 8192, 256, WholeSort, 1.26},
		{"llama-3-8b", 1, 8192, 256, WholeSort, 1.19},       // 0.6
		{"qwen3-8b", 1, 2048, 256, WholeSort, 1.40},         // 0.15
		{"qwen2.5-0.5b", 1, 8192, 256, SegmentedSort, 1.06}, // 0.26
	} {
		d := on(t, c.model, "h100-sxm", c.tp)
		d.MaxNumBatchedTokens, d.MaxNumSeqs = c.tokens, c.seqs
		got := gib(newShard(d).activationBytes(d, c.sampler))
		t.Logf("%s: %.2f GiB, logged %.2f", c.model, got, c.reported)
		near(t, c.model, got, c.reported, 0.06)
	}
}

func TestKVBytesPerToken(t *testing.T) {
	for _, c := range []struct {
		model string
		want  int64
	}{
		{"llama-2-7b", 524_288},
		{"llama-3-8b", 131_072},
		{"llama-3-70b", 327_680},
		{"qwen3-32b", 262_144},
		{"deepseek-v3", 70_272},
		{"mixtral-8x7b", 131_072},
	} {
		d := on(t, c.model, "h100-sxm", 1)
		s := newShard(d)
		if got := s.kvBytes(d, 1, s.layers); got != c.want {
			t.Errorf("%s: %d bytes per token, want %d", c.model, got, c.want)
		}
	}
}

func TestKVHeadsAreReplicatedBeyondTheirNumber(t *testing.T) {
	for _, c := range []struct{ tp, want int }{{1, 8}, {4, 2}, {8, 1}, {16, 1}} {
		d := on(t, "llama-3-70b", "h100-sxm", c.tp)
		s := newShard(d)
		if s.kvHeads != c.want || s.kvBytes(d, 1, 80) != int64(80*2*c.want*128*2) {
			t.Errorf("tp %d: %d KV heads, %d bytes per token", c.tp, s.kvHeads, s.kvBytes(d, 1, 80))
		}
	}
	// Replicated heads cost weights as well: with 16 GPUs each keeps a whole head, so K and V weigh twice their share.
	eight, sixteen := on(t, "llama-3-70b", "h100-sxm", 8), on(t, "llama-3-70b", "h100-sxm", 16)
	if a, b := newShard(eight).weightBytes(eight), newShard(sixteen).weightBytes(sixteen); 2*b <= a {
		t.Errorf("16 GPUs keep %d bytes each, 8 keep %d", b, a)
	}
}

func TestLatentCachesAreNotDividedByTensorParallelism(t *testing.T) {
	for _, tp := range []int{1, 8} {
		d := on(t, "deepseek-v3", "h200-sxm", tp)
		if got := newShard(d).kvBytes(d, 1, 61); got != 70_272 {
			t.Errorf("tp %d: %d bytes per token", tp, got)
		}
	}
}

func TestABiggerTokenBudgetLeavesFewerBlocks(t *testing.T) {
	// Qwen3-8B on an RTX 4090 lost 3,744 tokens of cache when the budget went from 2048 to 8192.
	d := on(t, "qwen3-8b", "rtx-4090", 1)
	d.MaxNumBatchedTokens, d.MaxNumSeqs = 2048, 256
	as20 := MemoryOptions{Utilization: 0.9, SamplerBytes: NoSort}
	small := plan(t, d, as20)
	d.MaxNumBatchedTokens = 8192
	large := plan(t, d, as20)
	near(t, "tokens lost", float64(small.Tokens()-large.Tokens()), 3744, 0.05)

	// Yi-34B on four A10: the fall is linear in the budget.
	d = on(t, "yi-34b", "a10", 4)
	d.Weights = AWQ
	var blocks []int
	for _, d.MaxNumBatchedTokens = range []int{20480, 35240, 50000} {
		blocks = append(blocks, plan(t, d, as15()).Blocks)
	}
	first, second := blocks[0]-blocks[1], blocks[1]-blocks[2]
	if first <= 0 || second <= 0 || math.Abs(float64(first-second)) > 2 {
		t.Errorf("blocks %v do not fall linearly", blocks)
	}
}

func TestMoreSequencesCostMemory(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	d.MaxNumSeqs = 128
	few := plan(t, d, as15())
	d.MaxNumSeqs = 1024
	if many := plan(t, d, as15()); many.Blocks >= few.Blocks {
		t.Errorf("%d blocks with 1024 sequences, %d with 128", many.Blocks, few.Blocks)
	}
}

func TestGraphsTakeBlocksOnlyWhereTheyAreSubtracted(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	old, subtracted := plan(t, d, as15()), as15()
	subtracted.GraphsSubtracted = true
	now := plan(t, d, subtracted)
	if old.Graphs <= 0 || now.KV != old.KV-old.Graphs || now.Blocks >= old.Blocks {
		t.Errorf("graphs of %d bytes: %d bytes of cache before, %d after", old.Graphs, old.KV, now.KV)
	}
	d.Eager = true
	if eager := plan(t, d, subtracted); eager.Graphs != 0 || eager.Blocks != old.Blocks {
		t.Errorf("eager: %+v", eager)
	}
}

func TestUtilizationIsOfTheTotal(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	a, b := plan(t, d, MemoryOptions{Utilization: 0.8}), plan(t, d, MemoryOptions{Utilization: 0.9})
	if got, want := b.KV-a.KV, b.Requested-a.Requested; got != want || a.Requested != int64(math.Ceil(0.8*float64(a.Total))) {
		t.Errorf("a tenth of the total is %d bytes of cache, want %d", got, want)
	}
}

func TestAnFP8CacheHoldsTwiceTheTokens(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	wide := plan(t, d, as15())
	d.KV = FP8
	near(t, "tokens", float64(plan(t, d, as15()).Tokens()), 2*float64(wide.Tokens()), 1e-3)
}

func TestOverridesWin(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 1) // which does not fit
	m := plan(t, d, MemoryOptions{Utilization: 0.9, NumGPUBlocksOverride: 1000})
	if m.Blocks != 1000 || m.KV != 1000*m.BlockBytes {
		t.Errorf("got %d blocks in %d bytes", m.Blocks, m.KV)
	}
	m = plan(t, d, MemoryOptions{KVCacheBytes: 1 << 30})
	if m.KV != 1<<30 || m.Blocks != int((1<<30)/m.BlockBytes) {
		t.Errorf("got %d blocks in %d bytes", m.Blocks, m.KV)
	}
}

func TestAModelThatDoesNotFitNamesWhatWould(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 1)
	d.MaxModelLen = 131072
	_, err := PlanMemory(d, MemoryOptions{Utilization: 0.92, GraphsSubtracted: true})
	var e *DoesNotFitError
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	t.Log(err)
	if e.TP != 4 {
		t.Errorf("the smallest size that fits is %d, want 4", e.TP)
	}
	if !slices.Contains(e.Devices, "b300-sxm") || slices.Contains(e.Devices, "h200-sxm") {
		t.Errorf("devices that fit: %v", e.Devices)
	}
	if e.Devices[0] != "b300-sxm" || e.Missing != e.Needed-e.Room {
		t.Errorf("the smallest card of the same vendor comes first, and the numbers add up: %+v", e)
	}
	for _, want := range []string{"llama-3.1-70b in bfloat16 needs 131.4 GiB", "tensor_parallel_size that fits is 4", "missing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	d.TP = e.TP
	plan(t, d, MemoryOptions{Utilization: 0.92, GraphsSubtracted: true})
}

func TestASamplerThatDoesNotFitNamesHowManySequencesDo(t *testing.T) {
	d := on(t, "qwen2.5-0.5b", "l4", 1)
	d.MaxNumBatchedTokens, d.MaxNumSeqs = 8192, 8192
	_, err := PlanMemory(d, as15())
	var e *DoesNotFitError
	if !errors.As(err, &e) || e.FittingSeqs == 0 || !strings.Contains(err.Error(), "sampling max_num_seqs 8192 needs") {
		t.Fatalf("got %v", err)
	}
	d.MaxNumSeqs = e.FittingSeqs
	plan(t, d, as15())
	if d.MaxNumSeqs++; d.fits(as15()) {
		t.Errorf("%d sequences fit too", d.MaxNumSeqs)
	}
}

func TestAPoolTooSmallForOneSequenceNamesTheLongest(t *testing.T) {
	d := on(t, "llama-3.1-8b", "l4", 1)
	d.MaxModelLen = 131072
	_, err := PlanMemory(d, as15())
	var e *ContextTooLongError
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	d.MaxModelLen = e.Longest
	if m := plan(t, d, as15()); m.MaxConcurrency < 1 {
		t.Errorf("max_model_len %d gives %g sequences", e.Longest, m.MaxConcurrency)
	}
	d.MaxModelLen += d.BlockSize
	if _, err := PlanMemory(d, as15()); err == nil {
		t.Errorf("max_model_len %d fits too", d.MaxModelLen)
	}
}

func TestHybridsAreCutIntoEqualGroups(t *testing.T) {
	full := func(n int) KVGroup { return KVGroup{Layers: n} }
	window := func(w, n int) KVGroup { return KVGroup{Window: w, Layers: n} }
	for _, c := range []struct {
		model string
		want  []KVGroup
	}{
		{"llama-3.1-8b", []KVGroup{full(32)}},
		{"mistral-7b-v0.1", []KVGroup{window(4096, 32)}},
		{"gemma-2-9b", []KVGroup{full(21), window(4096, 21)}},
		{"gpt-oss-20b", []KVGroup{full(12), window(128, 12)}},
		{"gemma-3-12b", []KVGroup{full(8), window(1024, 8), window(1024, 8), window(1024, 8), window(1024, 8), window(1024, 8)}},
		{"gemma-3-27b", []KVGroup{full(10), window(1024, 10), window(1024, 10), window(1024, 10), window(1024, 10), window(1024, 10), window(1024, 2)}},
	} {
		d := on(t, c.model, "b200-sxm", 1)
		m := plan(t, d, as15())
		if !slices.Equal(m.Groups, c.want) {
			t.Errorf("%s: groups %v, want %v", c.model, m.Groups, c.want)
		}
		s := newShard(d)
		if want := s.kvBytes(d, d.BlockSize, c.want[0].Layers); m.BlockBytes != want {
			t.Errorf("%s: a block takes %d bytes, want %d", c.model, m.BlockBytes, want)
		}
	}
}

func TestWindowsRaiseConcurrency(t *testing.T) {
	d := on(t, "gemma-3-27b", "b200-sxm", 1)
	d.MaxModelLen, d.MaxNumBatchedTokens = 100_000, 2048
	hybrid := plan(t, d, as15())
	d.Model.Window = 0
	if plain := plan(t, d, as15()); hybrid.MaxConcurrency < 3*plain.MaxConcurrency {
		t.Errorf("%g sequences with windows, %g without", hybrid.MaxConcurrency, plain.MaxConcurrency)
	}
}

func TestStagesDivideWeightsAndCache(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 2)
	one := divide(d, as15())
	d.PP = 4
	four := divide(d, as15())
	if four.BytesPerToken*4 != one.BytesPerToken {
		t.Errorf("a stage keeps %d bytes per token of %d", four.BytesPerToken, one.BytesPerToken)
	}
	near(t, "weights", float64(four.Weights), float64(one.Weights)/4, 0.04) // and a table on one side
}

func TestExpertsAreDividedEitherWay(t *testing.T) {
	d := on(t, "mixtral-8x7b", "h100-sxm", 4)
	sliced := newShard(d).weightBytes(d)
	d.ExpertParallel = true
	if whole := newShard(d).weightBytes(d); whole != sliced {
		t.Errorf("%d bytes of whole experts, %d of slices", whole, sliced)
	}
}

func TestIncompletePlansAreRefused(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	if _, err := PlanMemory(d, MemoryOptions{}); err == nil || !strings.Contains(err.Error(), "gpu_memory_utilization") {
		t.Errorf("got %v", err)
	}
	d.BlockSize, d.MaxNumSeqs = 0, 0
	_, err := PlanMemory(d, as15())
	for _, want := range []string{"block_size", "max_num_seqs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
}

func TestActivationsAreBlamedWhereTheyAreTheLargest(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	d.MaxNumBatchedTokens = 1_000_000_000
	_, err := PlanMemory(d, as15())
	var e *DoesNotFitError
	if !errors.As(err, &e) || e.Activations <= e.Needed || !strings.Contains(err.Error(), "GiB of activations") {
		t.Fatalf("got %v", err)
	}
	d.MaxNumBatchedTokens = e.FittingTokens
	plan(t, d, as15())
	d.MaxNumBatchedTokens++
	if _, err := PlanMemory(d, as15()); err == nil {
		t.Errorf("%d tokens fit, too", d.MaxNumBatchedTokens)
	}
	d.MaxNumSeqs, d.MaxNumBatchedTokens = 1_000_000, 1_000_000
	if _, err := PlanMemory(d, as15()); err == nil || !strings.Contains(err.Error(), "lower max_num_batched_tokens and max_num_seqs") {
		t.Errorf("got %v", err)
	}
}

func TestALowUtilizationIsToldWhatWouldBeEnough(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	_, err := PlanMemory(d, MemoryOptions{Utilization: 0.1})
	var e *DoesNotFitError
	if !errors.As(err, &e) || e.Enough == 0 || !strings.Contains(err.Error(), "raise gpu_memory_utilization to at least 0.") {
		t.Fatalf("got %v", err)
	}
	plan(t, d, MemoryOptions{Utilization: e.Enough})
	if _, err := PlanMemory(d, MemoryOptions{Utilization: e.Enough - 0.01}); err == nil {
		t.Errorf("%g is not the smallest", e.Enough)
	}
}
