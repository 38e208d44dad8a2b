package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// With the prices of these tests, a step of c prefill tokens and d decodes takes c + 2 + 0.1·d + 1 + 1 ms: arithmetic,
// weights, KV, network, overhead.

func close6(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestALoneRequestsTimeGoesWhereItsStepsWent(t *testing.T) {
	rep, _ := play(t, run{
		requests: []workload.Request{ask(0, 10, 5)},
		frontend: engine.Frontend{Ingress: 3 * ms, PerChunk: ms},
	})
	a, ttft, tpot := rep.Attribution, 3+14+1., 4.1
	if rep.Latency.TTFT.Mean != ttft || !close6(rep.Latency.TPOT.Mean, tpot) {
		t.Fatalf("ttft %v, tpot %v", rep.Latency.TTFT.Mean, rep.Latency.TPOT.Mean)
	}
	if w := a.TTFT; !close6(w.Frontend*ttft, 4) || !close6(w.Prefill*ttft, 13) || !close6(w.Overhead*ttft, 1) || w.Queue != 0 || w.Interference != 0 {
		t.Errorf("ttft: %+v", w)
	}
	if w := a.TPOT; !close6(w.Weights*tpot, 2) || !close6(w.KVRead*tpot, 0.1) || !close6(w.Network*tpot, 1) || !close6(w.Overhead*tpot, 1) || w.Frontend != 0 || w.Interference != 0 {
		t.Errorf("tpot: %+v", w)
	}
	wall := 14 + 4*4.1 // the request ends 1 ms after the last step, and it came 3 ms before the first
	if w := a.WallTime; !close6(w.Compute*(wall+4), 10) || !close6(w.Weights*(wall+4), 10) || !close6(w.Idle*(wall+4), 4) {
		t.Errorf("wall time: %+v", w)
	}
}

func TestAnArrivalsPromptInterferesWithTheDecodesBesideIt(t *testing.T) {
	// The second request is in one step of 24.1 ms, of which the first decode would have needed 4.1 ms.
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 5), ask(15*ms, 20, 1)}})
	tpot := (3*4.1 + 24.1) / 4
	if w := rep.Attribution.TPOT; !close6(rep.Latency.TPOT.Mean, tpot) || !close6(w.Interference*tpot, 20./4) || !close6(w.Weights*tpot, 2) {
		t.Errorf("tpot %v: %+v", rep.Latency.TPOT.Mean, w)
	}
	if w := rep.Attribution.TTFT; w.Interference != 0 {
		t.Errorf("a prompt interferes with itself: %+v", w)
	}
}

func TestPromptsInOneStepInterfereWithEachOther(t *testing.T) {
	// Together 54 ms; alone they would have taken 24 and 34 ms.
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 20, 1), ask(0, 30, 1)}})
	if w := rep.Attribution.TTFT; !close6(w.Interference*2*54, 30+20) || !close6(w.Prefill*2*54, 23+33) || !close6(w.Overhead*2*54, 2) || w.Queue != 0 {
		t.Errorf("ttft: %+v", w)
	}
}

func TestADecodeIsNoInterferenceForAPrompt(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 20), ask(14*ms, 20, 1)}})
	if w := rep.Attribution.TTFT; w.Interference != 0 || w.Queue != 0 {
		t.Errorf("ttft: %+v", w)
	}
}

func TestWaitingForASeatIsQueueing(t *testing.T) {
	// The second waits through 14 + 2·4.1 ms, then has its prompt in two steps of the budget: 14 and 9 ms.
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 3), ask(0, 15, 1)}, seats: seats{max: 1, budget: 10}})
	total := 14 + 22.2 + 14 + 9
	if w := rep.Attribution.TTFT; !close6(w.Queue*total, 22.2) || !close6(w.Prefill*total, 13+13+8) || !close6(w.Overhead*total, 3) {
		t.Errorf("ttft: %+v", w)
	}
	if q := rep.Latency.Queue; q.Min != 0 || q.Max != 22.2 {
		t.Errorf("queue: %+v", q)
	}
}

// watchTokens returns a spy that notes the longest gap of request 0.
func watchTokens(longest *time.Duration) func(*engine.Hooks) {
	var last sim.Time
	return func(h *engine.Hooks) {
		then := h.TokenOut
		h.TokenOut = func(now sim.Time, l *engine.Life) {
			if l.Request.ID == 0 {
				if l.Emitted > 1 {
					*longest = max(*longest, l.Last.Sub(last))
				}
				last = l.Last
			}
			if then != nil {
				then(now, l)
			}
		}
	}
}

func TestAPreemptionIsTheWholeGapAroundIt(t *testing.T) {
	for _, async := range []bool{false, true} {
		var gap time.Duration
		rep, rec := play(t, run{
			requests: []workload.Request{ask(0, 10, 8), ask(0, 10, 30)}, async: async,
			seats: seats{evict: map[int64]int32{0: 5}}, spy: watchTokens(&gap),
			frontend: engine.Frontend{PerChunk: ms},
		})
		identities(t, rep)
		pooledGaps(t, rec)
		if rep.Engine.Preemptions != 1 || gap < 15*ms {
			t.Fatalf("async %v: %d preemptions, longest gap %v", async, rep.Engine.Preemptions, gap)
		}
		if rep.Latency.ITL.Max != float64(gap)/1e6 {
			t.Errorf("async %v: the gap of %v is not the longest: %+v", async, gap, rep.Latency.ITL)
		}
		// TPOT is a mean over requests of time per gap.
		mean, lost := rep.Latency.TPOT.Mean, float64(gap)/1e6/7/2
		if w := rep.Attribution.TPOT; !close6(w.Preemption*mean, lost) || w.Frontend != 0 {
			t.Errorf("async %v: tpot %v, lost %v: %+v", async, mean, lost, w)
		}
		if rep.Latency.TTFT.Count != 2 || rep.Tokens.Output != 38 || rep.Latency.ITL.Count != 36 {
			t.Errorf("async %v: tokens are counted twice or not at all: %+v", async, rep.Tokens)
		}
	}
}

func TestAPipelineThatIsNotFullIdles(t *testing.T) {
	// One sequence in a pipeline of four: each GPU works a quarter of the time, host time apart.
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 10, 100)}, stages: 4})
	if b := rep.GPU.Busy; b < 0.25 || b > 0.35 {
		t.Errorf("busy %v", b)
	}
	if w := rep.Attribution.TPOT; !close6(w.Frontend, 0) {
		t.Errorf("tpot: %+v", w)
	}
}
