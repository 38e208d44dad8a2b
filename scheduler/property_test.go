package scheduler_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// anyScheduler draws a policy with settings, and a pool for it that holds at least one sequence of 120 tokens.
func anyScheduler(t *rapid.T) *world {
	var caching, hybrid bool
	l, pool := setting(rapid.IntRange(31, 60).Draw(t, "blocks"), func(l *scheduler.Limits, c *kvcache.Config) {
		c.BlockSize = 4
		caching, hybrid = rapid.Bool().Draw(t, "caching"), rapid.Bool().Draw(t, "hybrid")
		c.PrefixCaching = caching
		if hybrid {
			c.Groups, c.Blocks, l.NumGPUBlocks = []kvcache.Group{{}, {Window: 10}}, 2*c.Blocks, 2*c.Blocks+1
		}
		l.MaxNumBatchedTokens = rapid.SampledFrom([]int{5, 64, 200}).Draw(t, "budget")
		l.MaxNumSeqs = rapid.IntRange(1, 6).Draw(t, "seats")
		l.LongPrefillTokenThreshold = rapid.SampledFrom([]int{0, 7}).Draw(t, "threshold")
		l.SchedulerReserveFullISL = rapid.Bool().Draw(t, "gate")
		l.Watermark = rapid.SampledFrom([]float64{0, 0.02}).Draw(t, "watermark")
		l.Order = anyOrder(t)
		l.AsyncScheduling = rapid.Bool().Draw(t, "async")
		l.PipelineStages = rapid.IntRange(0, 2).Draw(t, "stages")
		l.Named = rapid.Bool().Draw(t, "named")
	})
	policy := rapid.SampledFrom(scheduler.Policies()).Draw(t, "policy")
	settings := anySettings(t)
	var cache kvcache.Cache = pool
	switch policy.Name {
	case "chunked":
		if caching && !hybrid && rapid.Bool().Draw(t, "offload") {
			cache = kvcache.Over(pool, kvcache.Tiers{
				Host: rapid.IntRange(1, 100).Draw(t, "host"), Far: kvcache.NewStore(rapid.IntRange(1, 300).Draw(t, "far")),
				Selective: rapid.Bool().Draw(t, "selective"),
			})
		}
	case "continuous":
		l.MaxNumBatchedTokens = 200 // it does not split prompts
		l.SwapBlocks = rapid.SampledFrom([]int{0, 8, 100}).Draw(t, "swap")
	case "trtllm":
		if l.EnableChunkedPrefill = rapid.Bool().Draw(t, "chunks"); !l.EnableChunkedPrefill {
			l.MaxNumBatchedTokens = 200
		}
	}
	w := newWorld(t, policy.New(l, settings, cache), pool)
	w.law = lawOf(policy.Name, settings)
	w.depth, w.lag = max(1, l.PipelineStages), rapid.IntRange(0, 2).Draw(t, "lag")
	if l.AsyncScheduling {
		w.depth++
	}
	return w
}

// lawOf returns what a policy never does: it says what is wrong with a plan, or "".
func lawOf(policy string, settings scheduler.Settings) func(*scheduler.Plan) string {
	never := func(wrong bool, what string) string {
		if wrong {
			return policy + " " + what
		}
		return ""
	}
	return func(p *scheduler.Plan) string {
		decodes, chunks, tokens, cut := p.Members, 0, p.Members, false
		for _, k := range p.Work {
			tokens += int(k.Tokens)
			if k.Decode {
				decodes++
			} else {
				chunks++
				cut = cut || !k.Samples || k.Past > 0
			}
		}
		switch policy {
		case "continuous":
			return never(decodes > 0 && chunks > 0, "mixes prompts with decodes")
		case "sglang":
			return never(decodes > 0 && chunks > 0 && !settings.SGLang.EnableMixedChunk, "mixes prompts with decodes")
		case "static":
			return never(decodes > 0 && chunks > 0 || len(p.Preempted) > 0, "lets somebody join a batch, or preempts")
		case "orca":
			return never(cut || len(p.Preempted) > 0, "cuts a prompt, or preempts")
		case "sarathi":
			return never(tokens > scheduler.Tiled(settings.ChunkSize), "makes a step of more than a chunk")
		case "trtllm":
			return never(len(p.Preempted) > 0 && !settings.MaxUtilization, "preempts")
		}
		return ""
	}
}

// anySettings draws what single policies may be told.
func anySettings(t *rapid.T) scheduler.Settings {
	return scheduler.Settings{
		Batch: scheduler.Batch{
			MaxBatch: rapid.IntRange(1, 4).Draw(t, "batch"), EarlyExit: rapid.Bool().Draw(t, "exit"),
			PadTo: rapid.IntRange(0, 40).Draw(t, "pad"), Preferred: rapid.SampledFrom([][]int{nil, {2}, {3, 2}}).Draw(t, "preferred"),
		},
		ChunkSize: rapid.IntRange(1, 80).Draw(t, "chunk"),
		SGLang: scheduler.SGLangRules{
			ChunkedPrefillSize: rapid.SampledFrom([]int{0, 5, 64}).Draw(t, "prefill chunk"), MaxPrefillTokens: rapid.SampledFrom([]int{5, 100}).Draw(t, "prefill tokens"),
			Conservativeness: rapid.SampledFrom([]float64{0, 0.3, 1, 2}).Draw(t, "conservativeness"), LongestPrefixMatch: rapid.Bool().Draw(t, "lpm"),
			EnableMixedChunk: rapid.Bool().Draw(t, "mixed"),
		},
		MaxUtilization: rapid.Bool().Draw(t, "max utilization"),
	}
}

// TestEveryPolicyServesEverybody drives the policies through random arrivals and departures: the invariants hold after
// every event, and in the end everybody has been served and all memory is free.
func TestEveryPolicyServesEverybody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyScheduler(t)
		var seqs []*scheduler.Seq
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				w.client = rapid.Int32Range(0, 2).Draw(t, "client")
				prompt := kvcache.Prompt{
					{Label: 1 << 30, Len: rapid.Int32Range(0, 30).Draw(t, "shared")},
					{Label: 1<<30 + uint64(w.next) + 1, Len: rapid.Int32Range(1, 40).Draw(t, "own")},
				}
				s := w.send(prompt, rapid.Int32Range(1, 30).Draw(t, "output"), rapid.Int32Range(0, 2).Draw(t, "priority"))
				if r := w.sched.Refuse(s); r != "" {
					t.Fatalf("refused: %s", r)
				}
				seqs = append(seqs, s)
			},
			"step": func(*rapid.T) { w.step() },
			"drop": func(t *rapid.T) {
				if len(seqs) == 0 {
					t.Skip("nobody came")
				}
				w.sched.Drop(rapid.SampledFrom(seqs).Draw(t, "seq"))
			},
			"": func(*rapid.T) { w.check() },
		})
		w.finish()
		for _, s := range seqs {
			if s.State != scheduler.Gone || s.Out > s.MaxTokens || s.InFlight != 0 {
				t.Fatalf("sequence %d is %v with %d of %d tokens, %d in flight", s.ID, s.State, s.Out, s.MaxTokens, s.InFlight)
			}
		}
	})
}

// TestTheOldestIsNeverStarved runs a synchronous server in a pool that is far too small: under first come, first served
// the oldest sequence loses its memory to nobody, so it advances in every step, and preemptions stay bounded.
func TestTheOldestIsNeverStarved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := chunked(t, rapid.IntRange(32, 50).Draw(t, "blocks"), func(l *scheduler.Limits, c *kvcache.Config) {
			c.BlockSize, l.MaxNumBatchedTokens = 4, 64
			l.SchedulerReserveFullISL = rapid.Bool().Draw(t, "gate")
			c.PrefixCaching = rapid.Bool().Draw(t, "caching")
		})
		var seqs []*scheduler.Seq
		for range rapid.IntRange(2, 12).Draw(t, "requests") {
			seqs = append(seqs, w.add(rapid.Int32Range(1, 60).Draw(t, "prompt"), rapid.Int32Range(1, 60).Draw(t, "output")))
		}
		for steps := 0; len(seqs) > 0; steps++ {
			oldest := seqs[0]
			computed, lost := oldest.Computed, oldest.Preemptions
			w.step()
			if oldest.Preemptions > lost || oldest.State != scheduler.Gone && oldest.Computed <= computed {
				t.Fatalf("step %d: the oldest, %d, went from %d to %d computed tokens, preempted %d times",
					steps, oldest.ID, computed, oldest.Computed, oldest.Preemptions-lost)
			}
			seqs = slices.DeleteFunc(seqs, func(s *scheduler.Seq) bool { return s.State == scheduler.Gone })
		}
	})
}

func TestPreemptionStormsEnd(t *testing.T) {
	w := chunked(t, 500, func(l *scheduler.Limits, _ *kvcache.Config) { l.SchedulerReserveFullISL = false })
	for i := range int32(100) {
		w.add(64+i%50, 300+7*i%200)
	}
	steps := w.finish()
	if n := w.sched.Counters().Preemptions; n < 50 || n > 2000 || len(steps) > 20_000 {
		t.Errorf("%d preemptions in %d steps", n, len(steps))
	}
}

func TestSteadyDecodesAllocateNothingUnderAnyPolicy(t *testing.T) {
	for _, policy := range scheduler.Policies() {
		t.Run(policy.Name, func(t *testing.T) {
			settings := sgl
			settings.ChunkSize, settings.Batch.MaxBatch = 2048, 64
			pool := kvcache.New(kvcache.Config{Blocks: 1 << 17, BlockSize: 16, PrefixCaching: true})
			s := policy.New(scheduler.Limits{MaxNumBatchedTokens: 8192, MaxNumSeqs: 64, EnableChunkedPrefill: true}, settings, pool)
			for i := range 40 {
				s.Add(request(i, int32(100+i%16), 20_000))
			}
			step := func() {
				p := s.Plan(0)
				s.Done(p, 0)
			}
			for range 600 {
				step()
			}
			if n := testing.AllocsPerRun(100, step); n != 0 {
				t.Errorf("%v allocations per step", n)
			}
			if running, _ := s.Load(); running != 40 {
				t.Errorf("%d run", running)
			}
		})
	}
}

func TestSteadyDecodesAllocateNothing(t *testing.T) {
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprintf("async=%v", async), func(t *testing.T) {
			step := decoding(64, async)
			for range 600 { // the block tables reach their size
				step()
			}
			if n := testing.AllocsPerRun(100, step); n != 0 {
				t.Errorf("%v allocations per step", n)
			}
		})
	}
}
