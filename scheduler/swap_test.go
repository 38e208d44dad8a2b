package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// swapping returns a world under vLLM's V0 scheduler with a pool of 10 blocks and host memory for so many.
func swapping(t tester, space int) *world {
	return continuous(t, 10, func(l *scheduler.Limits, _ *kvcache.Config) { l.SwapBlocks = space })
}

func TestASwappedSequenceComesBackWithItsKV(t *testing.T) {
	w := swapping(t, 100)
	w.add(80, 20)
	s := w.add(64, 40) // 5 and 4 blocks; the next token of each takes another
	w.expect("0: 80@0+!  1: 64@0+!")
	p := w.sched.Plan(w.now)
	if p.Describe() != "-1  0: 1@80!" || p.SwappedOut != 4 || s.State != scheduler.Swapped {
		t.Fatalf("%s, %d blocks out, it is %v", p.Describe(), p.SwappedOut, s.State)
	}
	w.flying = append(w.flying, p)
	w.complete()
	w.add(16, 1) // would fit, but nobody comes in before those who were there
	for range 18 {
		w.step()
	}
	p = w.sched.Plan(w.now)
	if p.Describe() != "1: 1@64!" || p.SwappedIn != 4 {
		t.Fatalf("%s, %d blocks in", p.Describe(), p.SwappedIn)
	}
	w.flying = append(w.flying, p)
	w.complete()
	w.expect("2: 16@0+!")
	w.finish()
	if c := w.sched.Counters(); c.Preemptions != 1 || c.RecomputedTokens != 0 || c.SwappedOut != 4 || c.SwappedIn != 4 {
		t.Errorf("%+v", c)
	}
}

func TestAFullSwapSpaceMeansComputingAgain(t *testing.T) {
	w := swapping(t, 3)
	w.add(80, 20)
	w.add(64, 40)
	w.expect("0: 80@0+!  1: 64@0+!", "-1  0: 1@80!")
	w.finish()
	if c := w.sched.Counters(); c.SwapsRefused != 1 || c.SwappedOut != 0 || c.RecomputedTokens != 65 {
		t.Errorf("%+v", c)
	}
}

func TestWhoGivesUpWhileSwappedOutLeavesTheSwapSpace(t *testing.T) {
	w := swapping(t, 4)
	w.add(80, 20)
	s := w.add(64, 40)
	w.expect("0: 80@0+!  1: 64@0+!", "-1  0: 1@80!")
	w.sched.Drop(s)
	w.add(16, 1)
	w.expect("2: 16@0+!")
	w.finish()
}
