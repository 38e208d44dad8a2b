package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/servesim/servesim/sim"
)

func draws(l Length, n int) []int32 {
	s := l.sampler(sim.Stream(3, "prompt"))
	out := make([]int32, n)
	for i := range out {
		out[i] = s.draw()
	}
	return out
}

func TestDrawsHaveTheStatedMean(t *testing.T) {
	const n = 100_000
	for _, l := range []Length{
		{Law: Fixed{512}},
		{Law: Fixed{512}, Cap: 100},
		{Law: Uniform{100, 300}},
		{Law: Uniform{100, 300}, Cap: 200},
		{Law: Uniform{1, 2}},
		{Law: Around{1024, 0.3}},
		{Law: Normal{200, 50}},
		{Law: Normal{100, 80}},
		{Law: Normal{100, 80}, Cap: 150},
		{Law: Normal{200.4, 0}, Cap: 1000},
		{Law: LogNormal{Mean: 512, P99: 2048}},
		{Law: LogNormal{Mean: 512, P99: 2048}, Cap: 1024},
		{Law: LogNormal{Mean: 512, Sigma: 1.1}, Cap: 16384},
		{Law: LogNormal{Median: 300, Sigma: 0.8}},
		{Law: LogNormal{Mean: 400, Median: 300}},
		{Law: LogNormal{Median: 300, P99: 900}},
		{Law: LogNormal{Mean: 77}},
	} {
		var sum, squares float64
		for _, v := range draws(l, n) {
			if v < 1 || l.Cap > 0 && int(v) > l.Cap {
				t.Fatalf("%v: draw of %d", l, v)
			}
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
		}
		mean := sum / n
		stderr := math.Sqrt(max(squares/n-mean*mean, 0) / n)
		if want := l.Mean(); math.Abs(mean-want) > 4*stderr+0.5 {
			t.Errorf("%v, cap %d: mean %.2f ± %.2f, stated %.2f", l.Law, l.Cap, mean, stderr, want)
		}
	}
}

func TestARangeRatioGivesTheBoundsOfVLLM(t *testing.T) {
	for _, c := range []struct {
		a        Around
		min, max int32
	}{
		{Around{1024, 0}, 1024, 1024},
		{Around{1000, 0.1}, 900, 1100},
		{Around{10, 0.25}, 7, 13}, // ⌊7.5⌋ … ⌈12.5⌉
		{Around{1, 0.5}, 1, 2},
		{Around{128, 0.99}, 1, 255},
	} {
		lo, hi := int32(math.MaxInt32), int32(0)
		for _, v := range draws(Length{Law: c.a}, 20_000) {
			lo, hi = min(lo, v), max(hi, v)
		}
		if lo != c.min || hi != c.max {
			t.Errorf("%v: drew %d … %d, want %d … %d", c.a, lo, hi, c.min, c.max)
		}
	}
}

func TestUniformWholeNumbersAreEquallyLikely(t *testing.T) {
	const n = 60_000
	count := make([]int, 7)
	for _, v := range draws(Length{Law: Uniform{1, 6}}, n) {
		count[v]++
	}
	for v, got := range count[1:] {
		if math.Abs(float64(got)-n/6) > 4*math.Sqrt(n/6) {
			t.Errorf("%d came %d times of %d", v+1, got, n)
		}
	}
}

func TestALognormalHitsThePercentileThatItWasGiven(t *testing.T) {
	const n = 200_000
	above := 0
	for _, v := range draws(Length{Law: LogNormal{Mean: 512, P99: 2048}}, n) {
		if v > 2048 {
			above++
		}
	}
	if share := float64(above) / n; math.Abs(share-0.01) > 0.001 {
		t.Errorf("%.4f of the draws lie above the 99th percentile", share)
	}
}

func TestAnExtremeLognormalStaysWithinItsCap(t *testing.T) {
	for _, v := range draws(Length{Law: LogNormal{Mean: Longest, Sigma: 5}}, 10_000) {
		if v < 1 || v > Longest {
			t.Fatalf("draw of %d", v)
		}
	}
}

func TestADriftOfTheMeanIsStated(t *testing.T) {
	note := Length{Law: Normal{100, 80}}.Note()
	if !strings.Contains(note, "from 100.0 to 10") {
		t.Errorf("note %q", note)
	}
	if note := (Length{Law: Normal{200, 50}}).Note(); note != "" {
		t.Errorf("needless note %q", note)
	}
	s := basic()
	s.Prompt.Cap = 600
	if notes := s.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "workload.prompt: lognormal") {
		t.Errorf("notes %q", notes)
	}
}

func TestDrawingAheadChangesNoDraw(t *testing.T) {
	for _, law := range []Law{Fixed{7}, Uniform{1, 90}, Normal{Mean: 50, Stdev: 40}, LogNormal{Median: 60, Sigma: 1}} {
		batched, single := Length{Law: law, Cap: 100}.sampler(sim.Stream(3, "a")), Length{Law: law, Cap: 100}.sampler(sim.Stream(3, "a"))
		for i := range 3 * ahead {
			if got, want := batched.draw(), single.whole(single.law.Rand()); got != want {
				t.Fatalf("%v: draw %d is %d, want %d", law, i, got, want)
			}
		}
	}
	s := Spec{Requests: 3*ahead + 1, Rate: 5, Arrivals: Poisson{Rescale: true}}
	times, clock := timetable{clock: s.clock(streams(3))}, s.clock(streams(3))
	for i := range s.Requests {
		if got, want := times.next(), clock.next(); got != want {
			t.Fatalf("request %d comes at %v, want %v", i, got, want)
		}
	}
}
