package scheduler_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// The numbers of these tests were seen on vLLM's own scheduler, or follow from its rules by hand.

func TestASecondPromptGetsWhatTheFirstLeaves(t *testing.T) {
	w := chunked(t, 1000, nil)
	a, b := w.add(6000, 3), w.add(6000, 3)
	w.expect("0: 6000@0+!  1: 2192@0+")
	if a.Out != 1 || b.Out != 0 {
		t.Errorf("after step 1: %d and %d tokens, want 1 and 0", a.Out, b.Out)
	}
	w.expect("0: 1@6000!  1: 3808@2192!", "0: 1@6001!  1: 1@6000!", "1: 1@6001!", "empty")
}

func TestTheThresholdLetsPromptsShareAStepAndSlowsALoneOne(t *testing.T) {
	threshold := func(l *scheduler.Limits, _ *kvcache.Config) { l.LongPrefillTokenThreshold = 1024 }
	w := chunked(t, 1000, threshold)
	w.add(6000, 1)
	w.add(6000, 1)
	steps := w.finish()
	if len(steps) != 6 || steps[5] != "0: 880@5120!  1: 880@5120!" {
		t.Errorf("two prompts took %d steps, the last %q", len(steps), steps[len(steps)-1])
	}
	w = chunked(t, 1000, threshold)
	w.add(6000, 1)
	if n := len(w.finish()); n != 6 {
		t.Errorf("a lone prompt took %d steps, want 6", n)
	}
}

func TestWithoutChunkingAPromptWaitsForAStepOfItsOwn(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.EnableChunkedPrefill = false })
	w.add(6000, 3)
	w.add(6000, 3)
	w.expect("0: 6000@0+!", "0: 1@6000!  1: 6000@0+!")
}

func TestTheLastAdmittedIsPreemptedAndRecomputesAllItKnows(t *testing.T) {
	w := chunked(t, 100, nil)
	w.add(784, 100)
	b := w.add(784, 40)
	w.expect("0: 784@0+!  1: 784@0+!")
	for range 16 {
		w.step()
	}
	w.expect("-1  0: 1@800!") // step 18: the first needs block 51
	if b.State != scheduler.Preempted || b.Out != 17 || b.Preemptions != 1 {
		t.Fatalf("the second is %v with %d tokens after %d preemptions", b.State, b.Out, b.Preemptions)
	}
	steps := w.finish()
	if steps[82] != "1: 801@0+!" {
		t.Errorf("it comes back with %q, want one prefill of 801 tokens", steps[82])
	}
	if c := w.sched.Counters(); c.Preemptions != 1 || c.RecomputedTokens != 801 {
		t.Errorf("counters %+v", c)
	}
}

func TestWithAPrefixCacheRecomputationIsNearlyFree(t *testing.T) {
	w := chunked(t, 100, func(_ *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching = true })
	w.add(784, 60)
	w.add(784, 40)
	w.finish()
	if n := w.sched.Counters().RecomputedTokens; n != 49 {
		t.Errorf("%d tokens recomputed, want 49 of 801", n)
	}
}

func TestNobodyOvertakesAHeadThatDoesNotFit(t *testing.T) {
	w := chunked(t, 20, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 320 })
	w.add(160, 4)
	w.expect("0: 160@0+!")
	w.add(200, 1) // 13 blocks, 10 are free
	w.add(16, 1)  // one block
	w.expect("0: 1@160!", "0: 1@161!", "0: 1@162!", "1: 200@0+!  2: 16@0+!")
}

func TestAStepWithAPreemptionAdmitsNobody(t *testing.T) {
	w := chunked(t, 20, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 320 })
	w.add(160, 50)
	w.add(160, 50)
	w.expect("0: 160@0+!  1: 160@0+!")
	w.add(16, 1)
	w.expect("-1  0: 1@160!") // nine blocks are free now, yet the small one waits a step
	if !strings.HasPrefix(w.step(), "0: 1@161!") {
		t.Error("the first is not served")
	}
}

func TestWithoutTheGateALongPromptThrashes(t *testing.T) {
	run := func(gate bool) int64 {
		w := chunked(t, 40, func(l *scheduler.Limits, _ *kvcache.Config) {
			l.MaxNumBatchedTokens, l.MaxModelLen, l.SchedulerReserveFullISL = 128, 512, gate
		})
		w.add(300, 100)
		w.add(200, 90)
		w.add(300, 20)
		w.finish()
		return w.sched.Counters().Preemptions
	}
	if with, without := run(true), run(false); with > 2 || without < 5*max(with, 1) {
		t.Errorf("%d preemptions with the gate, %d without", with, without)
	}
}

func TestAWatermarkKeepsBlocksFreeUnlessNobodyRuns(t *testing.T) {
	w := chunked(t, 100, func(l *scheduler.Limits, _ *kvcache.Config) { l.Watermark = 0.1 })
	w.add(1500, 2) // 94 blocks: alone, it may use the reserve of floor(0.1 × 101) = 10
	w.expect("0: 1500@0+!")
	w.finish()
	w.add(1296, 5) // 81 blocks
	w.add(144, 1)  // 9: leaves 10
	w.expect("1: 1296@0+!  2: 144@0+!")
	w.add(160, 1)
	w.add(16, 1)
	w.expect("1: 1@1296!")
}

func TestPriorityDoesNotInterruptButChoosesTheVictim(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.Priority, l.MaxNumSeqs = true, 1 })
	prompt := func(label uint64) kvcache.Prompt { return kvcache.Prompt{{Label: 1000 + label, Len: 32}} }
	w.send(prompt(0), 3, 5)
	w.expect("0: 32@0+!")
	w.send(prompt(1), 1, 5)
	w.send(prompt(2), 1, 0)
	w.expect("0: 1@32!", "0: 1@33!", "2: 32@0+!", "1: 32@0+!")

	w = chunked(t, 20, func(l *scheduler.Limits, _ *kvcache.Config) { l.Priority, l.MaxModelLen = true, 320 })
	ten := kvcache.Prompt{{Label: 7, Len: 160}}
	w.send(ten, 20, 5)
	w.send(ten, 20, 1)
	w.expect("1: 160@0+!  0: 160@0+!", "-0  1: 1@160!")
}

func TestAVictimThatWasServedInThisStepGivesItsTokensBack(t *testing.T) {
	w := chunked(t, 12, func(l *scheduler.Limits, _ *kvcache.Config) { l.Priority, l.MaxModelLen = true, 192 })
	a := w.send(kvcache.Prompt{{Label: 9, Len: 80}}, 40, 5) // five blocks
	w.expect("0: 80@0+!")
	w.send(kvcache.Prompt{{Label: 8, Len: 94}}, 40, 1) // six
	w.expect("0: 1@80!  1: 94@0+!")                    // and the sixth of the first: twelve
	w.expect("0: 1@81!  1: 1@94!", "0: 1@82!  1: 1@95!")
	w.expect("-0  1: 1@96!") // served as number 0 of the step, then evicted for the other's seventh block
	if a.Computed != 0 || a.InFlight != 0 || a.Out != 4 {
		t.Errorf("the victim has computed %d, in flight %d, out %d", a.Computed, a.InFlight, a.Out)
	}
	w.finish()
}

func TestTokensGivenBackAreUsedInTheSameStep(t *testing.T) {
	w := chunked(t, 15, func(l *scheduler.Limits, _ *kvcache.Config) {
		l.Priority, l.MaxNumBatchedTokens, l.SchedulerReserveFullISL, l.MaxModelLen = true, 40, false, 240
	})
	w.send(kvcache.Prompt{{Label: 9, Len: 80}}, 40, 5)
	for range 2 {
		w.step()
	}
	w.send(kvcache.Prompt{{Label: 8, Len: 95}}, 40, 1)
	for range 3 {
		w.step()
	}
	w.send(kvcache.Prompt{{Label: 7, Len: 200}}, 1, 1)
	w.expect("0: 1@83!  1: 1@95!  2: 38@0+", "-0  1: 1@96!  2: 39@38")
}

func TestWhatIsInFlightMayStillReadItsWindow(t *testing.T) {
	for _, c := range []struct {
		async bool
		held  int // blocks when token 49 is planned: 4 of the full group, the rest of the other
	}{{false, 4 + 1}, {true, 4 + 2}} {
		w := chunked(t, 100, func(l *scheduler.Limits, k *kvcache.Config) {
			l.AsyncScheduling, k.Groups = c.async, []kvcache.Group{{}, {Window: 2}}
		})
		w.add(46, 20)
		for range 5 {
			w.step()
		}
		if u := w.pool.Usage(); u.Held != c.held {
			t.Errorf("async %v: %d blocks held, want %d:\n%s", c.async, u.Held, c.held, w.pool.Describe())
		}
	}
}

func TestSeatsBoundTheRunning(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumSeqs = 2 })
	for range 3 {
		w.add(16, 2)
	}
	w.expect("0: 16@0+!  1: 16@0+!", "0: 1@16!  1: 1@16!", "2: 16@0+!")
}

func TestARequestOfTheSameStepIsHit(t *testing.T) {
	w := chunked(t, 1000, func(_ *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching = true })
	shared := kvcache.Run{Label: 1 << 20, Len: 160}
	w.send(kvcache.Prompt{shared, {Label: 1<<20 + 1, Len: 8}}, 1, 0)
	w.send(kvcache.Prompt{shared, {Label: 1<<20 + 2, Len: 8}}, 1, 0)
	w.expect("0: 168@0+!  1: 8@160+!")
}

func TestHitsAreCountedOncePerRequest(t *testing.T) {
	w := chunked(t, 12, func(l *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching, l.MaxModelLen = true, 192 })
	shared := kvcache.Run{Label: 1 << 20, Len: 64}
	w.send(kvcache.Prompt{shared, {Label: 1<<20 + 1, Len: 64}}, 10, 0) // eight blocks, nine later
	w.send(kvcache.Prompt{shared, {Label: 1<<20 + 2, Len: 80}}, 10, 0) // five beside the hit: waits
	w.finish()
	if c := w.sched.Counters(); c.PrefixQueries != 128+144 || c.PrefixHits != 64 {
		t.Errorf("%d of %d tokens hit, want 64 of 272, however often the head was looked at", c.PrefixHits, c.PrefixQueries)
	}
}

func TestTheBudgetIsTheSmallerOfTheTwo(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumScheduledTokens = 512 })
	w.add(100, 1)
	w.add(1000, 1)
	w.expect("0: 100@0+!  1: 412@0+", "1: 512@412", "1: 76@924!")
}

func TestDecodesBeyondTheBudgetWaitTheirTurn(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumBatchedTokens = 3 })
	w.add(2, 3)
	w.add(1, 3)
	w.add(1, 3)
	w.add(1, 3)
	w.expect("0: 2@0+!  1: 1@0+!", "0: 1@2!  1: 1@1!  2: 1@0+!", "0: 1@3!  1: 1@2!  2: 1@1!", "2: 1@2!  3: 1@0+!")
}

func TestAnAsynchronousAnswerWastesAStepOnlyWhenItEndsUnforeseen(t *testing.T) {
	async := func(l *scheduler.Limits, _ *kvcache.Config) { l.AsyncScheduling = true }
	w := chunked(t, 1000, async)
	w.add(16, 3)
	if n := len(w.finish()); n != 3 {
		t.Errorf("max_tokens 3 took %d steps, want 3", n)
	}
	w = chunked(t, 1000, async)
	s := w.add(16, 3)
	s.MaxTokens = 100 // it will stop at 3, and only then be known to
	if n := len(w.finish()); n != 4 {
		t.Errorf("an answer that ends by itself after 3 tokens took %d steps, want 4", n)
	}
	if s.InFlight != 0 {
		t.Errorf("%d tokens are still in flight", s.InFlight)
	}
}

func TestWithPipelineStagesASequenceDecodesOncePerRound(t *testing.T) {
	w := chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.PipelineStages = 3 })
	w.depth = 3
	w.add(16, 3)
	w.add(16, 2)
	w.expect("0: 16@0+!  1: 16@0+!", "empty", "empty", "0: 1@16!  1: 1@16!", "empty", "empty", "0: 1@17!")

	w = chunked(t, 1000, func(l *scheduler.Limits, _ *kvcache.Config) { l.PipelineStages, l.AsyncScheduling = 2, true })
	w.depth = 3
	w.add(16, 3)
	w.expect("0: 16@0+!", "empty", "0: 1@16!", "empty", "0: 1@17!", "empty")
}

func TestAnEmptyPlanIsNoStep(t *testing.T) {
	w := chunked(t, 10, nil)
	p := w.sched.Plan(0)
	if !p.Empty() || p.Step.Tokens != 0 || p.Wake != 0 {
		t.Errorf("an idle scheduler plans %s", p.Describe())
	}
	w.sched.Done(p, 0)
	if q := w.sched.Plan(0); !q.Empty() {
		t.Errorf("and then %s", q.Describe())
	}
}

func TestASequenceCanBeDroppedInAnyState(t *testing.T) {
	for _, prio := range []bool{false, true} {
		w := chunked(t, 100, func(l *scheduler.Limits, _ *kvcache.Config) { l.Priority = prio })
		a, b := w.add(784, 100), w.add(784, 100)
		for range 18 {
			w.step()
		}
		c, d, e := w.add(700, 1), w.add(700, 1), w.add(700, 1)
		w.sched.Drop(d)
		w.sched.Drop(b) // preempted
		w.sched.Drop(a) // running
		w.sched.Drop(a)
		w.check()
		if u := w.pool.Usage(); u.Held != 0 {
			t.Errorf("priority %v: %d blocks held", prio, u.Held)
		}
		w.expect("2: 700@0+!  4: 700@0+!")
		if c.State != scheduler.Gone || e.State != scheduler.Gone || d.State != scheduler.Gone {
			t.Errorf("priority %v: states %v %v %v", prio, c.State, d.State, e.State)
		}
	}
}

func TestWhatNeverFitsIsRefusedWithNumbers(t *testing.T) {
	l, pool := setting(100, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 20_000 })
	off := l
	off.EnableChunkedPrefill = false
	marked := l
	marked.Watermark = 0.1
	for _, c := range []struct {
		name      string
		s         scheduler.Scheduler
		prompt    int32
		max       int32
		want, not string
	}{
		{"fits", scheduler.Chunked(l, pool), 1600, 1, "", ""},
		{"larger than the pool", scheduler.Chunked(l, pool), 1601, 1, "1601 tokens need 101 KV blocks, the cache has 100", ""},
		{"longer than the model", scheduler.Chunked(l, pool), 20_000, 1, "max_model_len 20000", ""},
		{"longer than a step, chunked", scheduler.Chunked(l, pool), 9000, 1, "KV blocks", "step"},
		{"longer than a step", scheduler.Chunked(off, pool), 9000, 1, "a step of 9000 tokens, the budget is 8192", ""},
		{"continuous: fits", scheduler.Continuous(marked, pool), 1440, 1, "", ""},
		{"continuous: below the watermark", scheduler.Continuous(marked, pool), 1441, 1, "need 91 KV blocks, the cache has 90", ""},
		{"continuous: longer than a step", scheduler.Continuous(l, pool), 9000, 1, "longer than a step of 8192", ""},
		{"static: fits", scheduler.Static(l, scheduler.Batch{MaxBatch: 1}, pool), 1000, 600, "", ""},
		{"static: reserves", scheduler.Static(l, scheduler.Batch{MaxBatch: 1}, pool), 1000, 601, "101 KV blocks, the cache has 100", ""},
		{"static: pads", scheduler.Static(l, scheduler.Batch{MaxBatch: 1, PadTo: 1024}, pool), 10, 600, "reserves max_tokens 600", ""},
		{"static: no overflow", scheduler.Static(l, scheduler.Batch{MaxBatch: 1}, pool), 10, math.MaxInt32, "KV blocks", ""},
	} {
		got := c.s.Refuse(&scheduler.Seq{Prompt: c.prompt, MaxTokens: c.max})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
