package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// speculating returns a world with so many drafts for each decode, of which accept says how many are right.
func speculating(t tester, blocks, drafts int, accept func(*scheduler.Work) int32, change func(*scheduler.Limits, *kvcache.Config)) *world {
	w := chunked(t, blocks, func(l *scheduler.Limits, c *kvcache.Config) {
		l.Speculation = scheduler.Speculation{Drafts: drafts, Lookahead: drafts}
		if change != nil {
			change(l, c)
		}
	})
	w.accept = accept
	return w
}

func all(w *scheduler.Work) int32   { return w.Drafts }
func none(*scheduler.Work) int32    { return 0 }
func first(w *scheduler.Work) int32 { return min(w.Drafts, 1) }

// Three requests, two drafts each, one of them right. The budget of 20 lets the third prompt in by parts.
//
//	step 1  prompts of 10 and 6, and 4 tokens of 12: the first two get their first tokens, and drafts
//	step 2  1+2 rows each: 12 and 8 computed, one draft right: 2 tokens each, so 12 and 8 stay; the rest of the third prompt
//	step 3  all decode: 1+2 each
func TestThreeRequestsVerifyTheirDraftsBesideAPrompt(t *testing.T) {
	w := speculating(t, 100, 2, first, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumBatchedTokens = 20 })
	a, b, c := w.add(10, 5), w.add(6, 4), w.add(12, 3)
	w.expect("0: 10@0+!  1: 6@0+!  2: 4@0+")
	if a.Out != 1 || b.Out != 1 || c.Out != 0 || a.Computed != 10 {
		t.Fatalf("after the prompts: %d, %d and %d tokens, %d computed", a.Out, b.Out, c.Out, a.Computed)
	}
	w.expect("0: 1+2@10!  1: 1+2@6!  2: 8@4!") // no drafts for a part of a prompt
	if a.Out != 3 || a.Computed != 12 || b.Out != 3 || b.Computed != 8 || c.Out != 1 {
		t.Fatalf("after a verification: %d tokens with %d computed, %d with %d, %d", a.Out, a.Computed, b.Out, b.Computed, c.Out)
	}
	w.expect("0: 1+2@12!  1: 1+2@8!  2: 1+2@12!", "empty") // 5, 4 and 3 tokens: the second has room for none of its drafts
}

func TestDraftsThatAreAllRightYieldOneMoreThanTheirNumber(t *testing.T) {
	w := speculating(t, 100, 3, all, nil)
	w.add(10, 9)
	w.expect("0: 10@0+!", "0: 1+3@10!", "0: 1+3@14!", "empty")
}

func TestDraftsThatAreAllWrongYieldTheTokensOfNoSpeculation(t *testing.T) {
	w := speculating(t, 100, 3, none, nil)
	w.add(10, 4)
	w.expect("0: 10@0+!", "0: 1+3@10!", "0: 1+3@11!", "0: 1+3@12!", "empty")
}

func TestAShortBudgetTrimsDrafts(t *testing.T) {
	w := speculating(t, 100, 4, none, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumBatchedTokens = 7 })
	w.add(3, 9)
	w.add(3, 9)
	w.expect("0: 3@0+!  1: 3@0+!", "0: 1+4@3!  1: 1+1@3!")
	w = speculating(t, 100, 4, none, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumBatchedTokens, l.MaxModelLen = 20, 8 })
	w.add(4, 4)
	w.expect("0: 4@0+!", "0: 1+2@4!", "0: 1+1@5!", "0: 1@6!", "empty") // and so does the end of the model
	w = speculating(t, 100, 4, none, func(l *scheduler.Limits, _ *kvcache.Config) { l.LongPrefillTokenThreshold = 2 })
	w.add(2, 3)
	w.expect("0: 2@0+!", "0: 1+1@2!") // and the threshold
}

func TestADraftModelTakesARowOfTheCapacityForEachSequence(t *testing.T) {
	slots := func(scheduled int) *world {
		return speculating(t, 100, 2, none, func(l *scheduler.Limits, _ *kvcache.Config) {
			l.MaxNumBatchedTokens, l.MaxNumScheduledTokens, l.Speculation.Slots = 10, scheduled, 1
		})
	}
	w := slots(0)
	w.add(5, 3)
	w.add(9, 3)
	w.expect("0: 5@0+!  1: 3@0+", "0: 1+2@5!  1: 5@3") // 5+1 and 3+1 of 10; then 3+1 and 5+1
	w = slots(8)
	w.add(5, 3)
	w.add(9, 3)
	w.expect("0: 5@0+!  1: 3@0+") // the budget of 8 leaves room for two rows
}

func TestAsynchronousPlansHoldDraftsThatAreStillToCome(t *testing.T) {
	w := speculating(t, 100, 2, first, func(l *scheduler.Limits, _ *kvcache.Config) { l.AsyncScheduling = true })
	s := w.add(10, 8)
	w.expect("0: 10@0+!", "0: 1+2@10!", "0: 1+2@13!") // as if all were right: known is 10+1, pending 1+2
	// Two plans are done: 1 and 2 tokens, and the third took back one wrong draft of the second.
	if s.Out != 3 || s.Computed != 15 || s.Pending != 3 {
		t.Fatalf("%d tokens, %d computed, %d pending; want 3, 15, 3", s.Out, s.Computed, s.Pending)
	}
	w.expect("0: 1+2@15!")
	if s.Out != 5 || s.Computed != 17 || s.Pending != 3 {
		t.Fatalf("%d tokens, %d computed, %d pending; want 5, 17, 3", s.Out, s.Computed, s.Pending)
	}
	w.finish()
}

func TestRoomIsTakenForWhatTheDrafterWrites(t *testing.T) {
	// A prompt of 15 and a lookahead of 4 need a second block of 16 at once; the verification of 1+4 does not reach a third.
	w := speculating(t, 100, 4, all, nil)
	w.add(15, 30)
	w.step()
	if held := w.pool.Usage().Held; held != 2 {
		t.Errorf("%d blocks are held for 15 tokens and 4 slots, want 2", held)
	}
	w.step()
	if held := w.pool.Usage().Held; held != 2 {
		t.Errorf("%d blocks are held for 20 tokens and 4 slots, want 2", held)
	}
	w.finish()
	w = speculating(t, 100, 4, all, func(l *scheduler.Limits, _ *kvcache.Config) { l.Speculation.Lookahead = 0 })
	w.add(15, 30)
	w.step()
	if held := w.pool.Usage().Held; held != 1 {
		t.Errorf("%d blocks are held for 15 tokens and drafts without KV, want 1", held)
	}
}

func TestAPreemptedSequenceLosesItsDraftsAndKeepsItsTokens(t *testing.T) {
	for _, async := range []bool{false, true} {
		w := speculating(t, 9, 3, first, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen, l.AsyncScheduling = 144, async })
		a, b := w.add(60, 40), w.add(60, 30)
		steps := w.finish()
		if b.Preemptions == 0 || a.Preemptions > 0 {
			t.Fatalf("async %v: %d and %d preemptions, want the second to be the victim", async, a.Preemptions, b.Preemptions)
		}
		back := slices.IndexFunc(steps, func(s string) bool { return len(s) > 3 && s[:3] == "1: " })
		if back < 0 || a.Out != 40 || b.Out != 30 {
			t.Fatalf("async %v: %d and %d tokens; steps %q", async, a.Out, b.Out, steps)
		}
		if got := steps[back]; got[len(got)-2:] != "+!" || len(got) > len("1: 99@0+!") {
			t.Errorf("async %v: it comes back with %q, want its prompt and tokens without drafts", async, got)
		}
	}
}

func TestAHeadOnTheTargetsStatesComputesTheLastHitBlockAgain(t *testing.T) {
	for _, drop := range []bool{false, true} {
		w := speculating(t, 100, 2, none, func(l *scheduler.Limits, c *kvcache.Config) {
			c.PrefixCaching, l.Speculation.DropLast = true, drop
		})
		prompt := kvcache.Prompt{{Label: 7, Len: 64}}
		w.send(prompt, 1, 0)
		w.finish()
		s := w.send(prompt, 1, 0)
		want := "1: 16@48+!"
		if drop {
			want = "1: 32@32+!"
		}
		w.expect(want)
		if c := w.sched.Counters(); c.PrefixQueries != 128 || int32(c.PrefixHits) != s.Hit {
			t.Errorf("drop %v: %d of %d prompt tokens hit, want %d of 128", drop, c.PrefixHits, c.PrefixQueries, s.Hit)
		}
	}
}

func TestTheBatchDecidesHowManyDraftsThereAre(t *testing.T) {
	w := speculating(t, 100, 3, none, func(l *scheduler.Limits, _ *kvcache.Config) {
		l.Speculation.ByBatch = []scheduler.Tier{{Seqs: 1, Drafts: 3}, {Seqs: 2, Drafts: 1}, {Seqs: 4, Drafts: 0}}
	})
	w.add(4, 9)
	w.expect("0: 4@0+!")
	w.add(4, 9)
	w.expect("0: 1+3@4!  1: 4@0+!") // drafts of a step of one
	w.add(4, 9)
	w.expect("0: 1+1@5!  1: 1+1@4!  2: 4@0+!") // of a step of two
	w.expect("0: 1@6!  1: 1@5!  2: 1@4!")      // of a step of three
}

func TestNoDraftsAreTheStepsOfNoSpeculation(t *testing.T) {
	run := func(speculation scheduler.Speculation) []string {
		w := chunked(t, 30, func(l *scheduler.Limits, c *kvcache.Config) {
			l.MaxNumBatchedTokens, l.MaxModelLen, l.Speculation, c.PrefixCaching = 64, 400, speculation, true
		})
		for i := range int32(8) {
			w.add(20+17*i, 5+9*i)
		}
		return w.finish()
	}
	if a, b := run(scheduler.Speculation{}), run(scheduler.Speculation{Drafts: 0, Lookahead: 5, DropLast: true}); !slices.Equal(a, b) {
		t.Errorf("%d steps without speculation and %d with no drafts differ", len(a), len(b))
	}
}

// Whatever is accepted, every invariant holds after every step, everybody gets all tokens, and no block is lost.
func TestDraftsKeepEveryInvariant(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(values ...int) int { return values[r.IntN(len(values))] }
		drafts := 1 + r.IntN(6)
		w := speculating(t, pick(12, 20, 60, 400), drafts, func(w *scheduler.Work) int32 { return r.Int32N(w.Drafts + 1) },
			func(l *scheduler.Limits, c *kvcache.Config) {
				l.MaxModelLen, l.MaxNumBatchedTokens, l.MaxNumSeqs = 150, pick(4, 16, 90, 2048), pick(1, 3, 30)
				l.AsyncScheduling, l.Priority, c.PrefixCaching = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0
				l.SchedulerReserveFullISL = r.IntN(2) == 0
				if r.IntN(3) == 0 {
					l.Speculation.ByBatch = []scheduler.Tier{{Seqs: 2, Drafts: drafts}, {Seqs: 9, Drafts: 0}, {Seqs: 10, Drafts: 1}}
				}
			})
		var seqs []*scheduler.Seq
		for range 25 {
			prompt := 1 + r.Int32N(90)
			output := 1 + r.Int32N(min(150-prompt, 60))
			seqs = append(seqs, w.send(kvcache.Prompt{{Label: uint64(1 + r.IntN(20)), Len: prompt}}, output, r.Int32N(3)))
			if r.IntN(2) == 0 {
				w.step()
			}
		}
		w.finish()
		for _, s := range seqs {
			if s.Out != w.outputs[s] {
				t.Fatalf("seed %d: sequence %d has %d of %d tokens", seed, s.ID, s.Out, w.outputs[s])
			}
		}
	}
}
