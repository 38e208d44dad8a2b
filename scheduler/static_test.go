package scheduler_test

import (
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

func static(t tester, blocks int, b scheduler.Batch) *world {
	l, pool := setting(blocks, nil)
	return newWorld(t, scheduler.Static(l, b, pool), pool)
}

func TestABatchRunsToCompletionBeforeTheNextStarts(t *testing.T) {
	w := static(t, 100, scheduler.Batch{MaxBatch: 2})
	w.add(10, 1)
	w.add(20, 3)
	w.add(30, 1)
	w.expect("0: 20@0+!  1: 20@0+!", "1: 1@20!", "1: 1@21!", "2: 30@0+!", "empty")
}

func TestABatchWaitsToFillButNotForever(t *testing.T) {
	w := static(t, 100, scheduler.Batch{MaxBatch: 2, Timeout: 10 * time.Nanosecond})
	w.now = 5
	w.add(10, 1)
	if p := w.sched.Plan(7); !p.Empty() || p.Wake != 15 {
		t.Fatalf("at 7: %s, wake at %v, want to be asked again at 15", p.Describe(), p.Wake)
	}
	if p := w.sched.Plan(14); !p.Empty() {
		t.Fatalf("at 14: %s", p.Describe())
	}
	w.now = 15
	w.expect("0: 10@0+!")
	w.add(10, 1)
	w.add(10, 1)
	w.expect("1: 10@0+!  2: 10@0+!") // full: nobody waits
}

// Triton's dynamic batcher: a preferred size goes at once, the largest that can be had; what is left waits for the delay.
func TestABatchOfAPreferredSizeDoesNotWait(t *testing.T) {
	w := static(t, 100, scheduler.Batch{MaxBatch: 8, Timeout: 10 * time.Nanosecond, Preferred: []int{2, 4}})
	w.add(10, 1)
	w.expect("empty")
	w.add(10, 1)
	w.expect("0: 10@0+!  1: 10@0+!")
	for range 5 {
		w.add(10, 1)
	}
	w.expect("2: 10@0+!  3: 10@0+!  4: 10@0+!  5: 10@0+!", "empty")
	w.now = 20
	w.expect("6: 10@0+!")
}

// Under chunked a request that finds the engine idle is in the next step; a static batch waits for company.
func TestStaticWaitsWhereChunkedBegins(t *testing.T) {
	s, c := static(t, 100, scheduler.Batch{MaxBatch: 2, Timeout: time.Second}), chunked(t, 100, nil)
	for _, w := range []*world{s, c} {
		w.add(10, 2)
	}
	s.expect("empty")
	c.expect("0: 10@0+!", "0: 1@10!")
}

func TestPromptsArePaddedToTheLongest(t *testing.T) {
	w := static(t, 100, scheduler.Batch{MaxBatch: 2, PadTo: 64})
	w.add(10, 2)
	w.add(20, 2)
	w.add(100, 1)
	w.add(10, 1)
	w.expect("0: 64@0+!  1: 64@0+!", "0: 1@64!  1: 1@64!", "2: 100@0+!  3: 100@0+!")
}

func TestFinishedRowsKeepCostingUnlessTheyMayExit(t *testing.T) {
	for _, early := range []bool{false, true} {
		w := static(t, 100, scheduler.Batch{MaxBatch: 2, EarlyExit: early})
		w.add(16, 1)
		w.add(16, 4)
		w.step()
		held := w.pool.Usage().Held
		p := w.sched.Plan(0)
		want, kept := 2, 4 // blocks for 17 and 20 tokens
		if early {
			want, kept = 1, 2
		}
		if p.Step.Decodes != want || len(p.Work) != 1 {
			t.Errorf("early exit %v: %d rows decode, %d are named, want %d and 1", early, p.Step.Decodes, len(p.Work), want)
		}
		if held != kept {
			t.Errorf("early exit %v: %d blocks are held after the first row has finished, want %d", early, held, kept)
		}
	}
}

func TestMemoryBoundsABatchAndCountsMaxTokens(t *testing.T) {
	w := static(t, 20, scheduler.Batch{MaxBatch: 4, Timeout: time.Second})
	a := w.add(64, 1)
	a.MaxTokens = 96 // ten blocks, whatever the answer turns out to be
	w.add(64, 96)
	w.add(16, 1)
	w.expect("0: 64@0+!  1: 64@0+!") // full at once: no third row fits
	if u := w.pool.Usage(); u.Held != 20 {
		t.Errorf("%d blocks held, want 20", u.Held)
	}
}

func TestALongPromptWidensEveryRow(t *testing.T) {
	w := static(t, 20, scheduler.Batch{MaxBatch: 4})
	w.add(16, 16) // two blocks; beside a prompt of 160: eleven
	w.add(16, 16)
	w.add(160, 16)
	w.expect("0: 16@0+!  1: 16@0+!")
}

func TestARowCanBeAbandoned(t *testing.T) {
	w := static(t, 20, scheduler.Batch{MaxBatch: 2})
	a, b := w.add(16, 5), w.add(16, 5)
	w.step()
	w.sched.Drop(a)
	w.check()
	w.expect("1: 1@16!")
	w.sched.Drop(b)
	if u := w.pool.Usage(); u.Held != 0 {
		t.Errorf("%d blocks held after the batch has ended", u.Held)
	}
	w.send(kvcache.Prompt{{Label: 99, Len: 16}}, 1, 0)
	w.expect("2: 16@0+!")
}
