package scheduler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

var pausing = scheduler.Settings{MaxUtilization: true}

// Under pressure chunked preempts, guaranteed-no-evict never, and max-utilization pauses; all answers are as long as they
// may be, so that the reservation is needed.
func TestTRTLLMNeverPreemptsWhereChunkedDoes(t *testing.T) {
	count := func(policy string, settings scheduler.Settings) int64 {
		w := under(t, policy, 60, settings, nil)
		for range 12 {
			w.add(100, 150)
		}
		w.finish()
		return w.sched.Counters().Preemptions
	}
	if c, never, pauses := count("chunked", scheduler.Settings{}), count("trtllm", scheduler.Settings{}), count("trtllm", pausing); c == 0 || never != 0 || pauses == 0 {
		t.Errorf("preemptions: %d under chunked, %d with guaranteed-no-evict, %d with max-utilization", c, never, pauses)
	}
}

// The price: it runs fewer at once, although answers turn out short.
func TestTRTLLMRunsFewerThanChunked(t *testing.T) {
	peak := func(policy string, settings scheduler.Settings) int {
		w := under(t, policy, 100, settings, nil)
		for range 30 {
			w.ask(100, 10, 300)
		}
		return w.peak()
	}
	// 25 blocks for 399 tokens each, 7 for a prompt alone.
	if few, many, max := peak("trtllm", scheduler.Settings{}), peak("chunked", scheduler.Settings{}), peak("trtllm", pausing); few != 4 || many != 14 || max != 14 {
		t.Errorf("at most %d run with guaranteed-no-evict, %d under chunked, %d with max-utilization", few, many, max)
	}
}

func TestTRTLLMPausesTheLastAndResumesItFirst(t *testing.T) {
	w := under(t, "trtllm", 13, pausing, nil)
	w.add(96, 20)
	w.add(96, 20)
	w.step()
	w.add(16, 1) // one block would be free for it
	w.expect("-1  0: 1@96!", "0: 1@97!")
	steps := w.finish()
	if i := slices.Index(steps, "1: 97@0+!  2: 16@0+!"); i < 0 {
		t.Errorf("afterwards:\n%s", strings.Join(steps, "\n"))
	}
}

func TestTRTLLMCutsContextsOnlyWhenAsked(t *testing.T) {
	for _, chunks := range []bool{true, false} {
		w := under(t, "trtllm", 1000, scheduler.Settings{}, func(l *scheduler.Limits, _ *kvcache.Config) {
			l.MaxNumBatchedTokens, l.EnableChunkedPrefill = 1000, chunks
		})
		w.add(600, 2)
		w.add(600, 2)
		if chunks {
			w.expect("0: 600@0+!  1: 400@0+", "0: 1@600!  1: 200@400!")
		} else {
			w.expect("0: 600@0+!", "0: 1@600!  1: 600@0+!")
		}
	}
}
