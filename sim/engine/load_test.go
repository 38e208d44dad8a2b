package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// A step takes 1000 ns, a block of 16 tokens 100 ns on the link, a load 50 ns beside it.
func hostBench(s scheduler.Scheduler, copied hardware.Cost) *bench {
	b := &bench{k: sim.New(1)}
	b.e = engine.New(b.k, engine.Config{
		Scheduler: s, Cost: metronome{Device: 1000}, Check: true,
		Host: engine.Host{Block: 100, Latency: 50, Copy: copied},
		Hooks: engine.Hooks{
			Finished: func(_ sim.Time, l *engine.Life) { b.lives = append(b.lives, *l) },
			Ran:      func(r *engine.Ran) { b.ran = append(b.ran, *r) },
		},
	})
	return b
}

func tiered(blocks int) scheduler.Scheduler {
	pool := kvcache.New(kvcache.Config{Blocks: blocks, BlockSize: 16, PrefixCaching: true})
	return scheduler.Chunked(scheduler.Limits{MaxNumBatchedTokens: 8192, MaxNumSeqs: 8, MaxModelLen: 8192, EnableChunkedPrefill: true},
		kvcache.Over(pool, kvcache.Tiers{Host: 1000}))
}

func prompt(label uint64, tokens int32) workload.Request {
	return workload.Request{Prompt: kvcache.Prompt{{Label: label, Len: tokens}}, Tokens: tokens, Output: 1, Answer: label | 1<<62}
}

// Two prompts of 64 tokens take turns in a pool of 4 blocks. The first comes back when the engine is idle: 3 blocks (the
// last is computed) take 3 × 100 + 50 ns, and its step 1000.
func TestALoadTakesItsBlocksTimeAndTheLatency(t *testing.T) {
	b := hostBench(tiered(4), hardware.Cost{})
	b.send(0, prompt(1, 64))
	b.send(10_000, prompt(2, 64))
	b.send(20_000, prompt(1, 64))
	b.run(t)
	l := b.lives[2]
	if l.Scheduled != 20_350 || l.First != 21_350 {
		t.Errorf("scheduled at %d ns, first token at %d ns; want 20350 and 21350", l.Scheduled, l.First)
	}
	if n := len(b.ran); n != 3 {
		t.Errorf("%d steps, want 3: a load alone is none", n)
	}
}

// While the load is on its way a step runs; that it has arrived is seen when the step is over.
func TestAnArrivalIsSeenBetweenSteps(t *testing.T) {
	b := hostBench(tiered(8), hardware.Cost{})
	b.send(0, prompt(1, 64))
	b.send(10_000, prompt(2, 128))
	b.send(20_000, prompt(3, 48))
	b.send(20_100, prompt(1, 64)) // its load begins with the next plan, at 21000, and would be there at 21350
	b.send(20_200, prompt(4, 16)) // in that plan
	b.run(t)
	if l := b.lives[4]; l.Seq.Prompt != 64 || l.Scheduled != 22_000 || l.First != 23_000 {
		t.Errorf("a prompt of %d tokens scheduled at %d ns, first token at %d ns; want 64, 22000 and 23000", l.Seq.Prompt, l.Scheduled, l.First)
	}
}

func TestLoadsFollowEachOtherOnTheLink(t *testing.T) {
	b := hostBench(tiered(8), hardware.Cost{})
	b.send(0, prompt(1, 64))
	b.send(5_000, prompt(2, 64))
	b.send(10_000, prompt(3, 128))
	b.send(20_000, prompt(1, 64))
	b.send(20_000, prompt(2, 64))
	b.run(t)
	if l := b.lives[3]; l.Scheduled != 20_350 {
		t.Errorf("the first is scheduled at %d ns, want 20350", l.Scheduled)
	}
	if l := b.lives[4]; l.Scheduled != 21_350 { // there at 20650, during the step of the first
		t.Errorf("the second is scheduled at %d ns, want 21350", l.Scheduled)
	}
}

func TestCopyingInTheBackgroundTakesALittle(t *testing.T) {
	b := hostBench(tiered(8), hardware.Cost{Device: 3, Exposed: 7, By: hardware.Causes{KVRead: 3}, Bytes: 5})
	b.send(0, prompt(1, 64))
	b.run(t)
	r := b.ran[0]
	if r.End.Sub(r.Start) != 1000+4*10 || r.Cost.Bytes != 4*5 || r.Cost.By.KVRead != 4*3 {
		t.Errorf("a step that stores 4 blocks takes %v: %+v", r.End.Sub(r.Start), r.Cost)
	}
}

func TestWhoGivesUpDuringItsLoadIsNotToldOfItsEnd(t *testing.T) {
	b := hostBench(tiered(4), hardware.Cost{})
	b.send(0, prompt(1, 64))
	b.send(10_000, prompt(2, 64))
	r := prompt(1, 64)
	r.Timeout = 100
	b.send(20_000, r)
	b.send(20_200, prompt(2, 64)) // takes over its slot
	b.run(t)
	if l := b.lives[2]; l.Outcome.Status != workload.Aborted {
		t.Errorf("it ended as %v", l.Outcome.Status)
	}
	// The pool still has its first block. Two follow behind the load of the other, which goes on until 20300.
	if l := b.lives[3]; l.First != 20_300+200+50+1000 {
		t.Errorf("the next has its first token at %d ns, want 21550", l.First)
	}
}

// 4 and 5 blocks in a pool of 9: the second is swapped out, 5 × 100 ns, when the first needs another block, and comes back
// when that has its last token.
func TestSwappingHoldsUpTheStep(t *testing.T) {
	pool := kvcache.New(kvcache.Config{Blocks: 9, BlockSize: 16})
	b := hostBench(scheduler.Continuous(scheduler.Limits{MaxNumBatchedTokens: 512, MaxNumSeqs: 8, MaxModelLen: 512, SwapBlocks: 9}, pool), hardware.Cost{})
	first, second := prompt(1, 64), prompt(2, 70)
	first.Output, second.Output = 3, 2
	b.send(0, first)
	b.send(0, second)
	if err := b.k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for _, r := range b.ran {
		took = append(took, r.End.Sub(r.Start))
	}
	want := []time.Duration{1000, 1500, 1000, 1500}
	if len(took) != len(want) {
		t.Fatalf("steps took %v, want %v", took, want)
	}
	for i := range want {
		if took[i] != want[i] {
			t.Fatalf("steps took %v, want %v", took, want)
		}
	}
}
