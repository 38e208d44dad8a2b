package scheduler_test

import (
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// continuous returns a world under vLLM's V0 scheduler with its watermark of 1 %.
func continuous(t tester, blocks int, change func(*scheduler.Limits, *kvcache.Config)) *world {
	l, pool := setting(blocks, func(l *scheduler.Limits, c *kvcache.Config) {
		l.Watermark = 0.01
		if change != nil {
			change(l, c)
		}
	})
	return newWorld(t, scheduler.Continuous(l, pool), pool)
}

func TestAStepIsAllPrefillOrAllDecode(t *testing.T) {
	w := continuous(t, 1000, nil)
	w.add(100, 3)
	w.expect("0: 100@0+!", "0: 1@100!")
	w.add(6000, 2)
	w.add(3000, 2) // does not fit beside the other, and is not split
	w.add(100, 2)  // nobody overtakes
	w.expect("1: 6000@0+!", "2: 3000@0+!  3: 100@0+!", "0: 1@101!  1: 1@6000!  2: 1@3000!  3: 1@100!", "empty")
}

func TestAStreamOfPromptsStallsEveryDecode(t *testing.T) {
	w := continuous(t, 1000, nil)
	s := w.add(100, 50)
	w.step()
	for range 20 {
		w.add(100, 1)
		w.step()
	}
	if s.Out != 1 {
		t.Errorf("it has decoded %d tokens while prompts kept coming", s.Out-1)
	}
	w.step()
	if s.Out != 2 {
		t.Error("and does not go on after them")
	}
}

func TestPromptsAreSharedOutBySeatsAndWatermark(t *testing.T) {
	w := continuous(t, 199, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumSeqs = 3 })
	w.add(197*16, 2) // leaves 2 blocks of 200 free, as floor(1 %) wants
	w.add(16, 2)
	w.expect("0: 3152@0+!", "0: 1@3152!", "1: 16@0+!")
	for range 4 {
		w.add(16, 2)
	}
	w.expect("2: 16@0+!  3: 16@0+!", "1: 1@16!  2: 1@16!  3: 1@16!", "4: 16@0+!  5: 16@0+!")
}

func TestADecodeWithoutAFreeBlockAtHandPreemptsTheLast(t *testing.T) {
	w := continuous(t, 12, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 192 })
	w.add(90, 20)
	b := w.add(90, 20) // six blocks each: the pool is full, though both last blocks have room
	w.expect("0: 90@0+!  1: 90@0+!", "-1  0: 1@90!")
	if b.Out != 1 {
		t.Errorf("the victim has %d tokens", b.Out)
	}
	w.expect("1: 91@0+!") // six blocks are free again, and prefill comes first
	w.finish()
}

func TestAPreemptedSequenceThatOutgrewTheStepRunsAlone(t *testing.T) {
	w := continuous(t, 20, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxNumBatchedTokens, l.MaxModelLen = 130, 320 })
	w.add(100, 120)
	w.add(100, 120)
	steps := w.finish()
	alone := false
	for _, s := range steps {
		alone = alone || strings.HasPrefix(s, "1: ") && strings.HasSuffix(s, "@0+!") && !strings.HasPrefix(s, "1: 100@")
	}
	if n := w.sched.Counters().Preemptions; n == 0 || !alone {
		t.Errorf("%d preemptions; a recomputation of its own: %v", n, alone)
	}
}

func TestAPreemptedSequenceMayComeBackBelowTheWatermark(t *testing.T) {
	w := continuous(t, 20, func(l *scheduler.Limits, _ *kvcache.Config) { l.Watermark, l.MaxModelLen = 0.15, 320 })
	w.add(1, 60)
	b := w.add(256, 60) // it is preempted with 18 blocks; the watermark wants three of 20 free
	steps := w.finish()
	if b.Preemptions != 1 || steps[60] != "1: 274@0+!" {
		t.Errorf("preempted %d times, back with %q", b.Preemptions, steps[60])
	}
}
