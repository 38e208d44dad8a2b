package metrics

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/servesim/servesim/sim/engine"
)

func TestGapsAreExactExceptForQuantilesWithinAThousandth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	g := newGaps()
	var all []float64
	var sum int64
	for range 2000 {
		gap, n := time.Duration(math.Exp(8+16*r.Float64())), 1+r.IntN(20)
		g.add(gap, n)
		for range n {
			all = append(all, float64(gap))
			sum += int64(gap)
		}
	}
	want := summarize([][]float64{all}, []float64{99.9})
	got := g.stats([]float64{99.9})
	if g.sum != sum || got.Count != want.Count || got.Min != want.Min || got.Max != want.Max {
		t.Errorf("count, sum, min or max differ: %+v, want %+v", got, want)
	}
	for _, name := range []string{"mean", "std", "p50", "p90", "p95", "p99", "p99.9"} {
		a, _ := got.Value(name)
		b, _ := want.Value(name)
		if bound := gapErrorPct / 100; math.Abs(a-b) > bound*b {
			t.Errorf("%s = %v, want %v within %v", name, a, b, bound)
		}
	}
	if math.Abs(got.Std-want.Std) > 1e-9*want.Std || math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean {
		t.Errorf("mean %v, std %v; want %v, %v", got.Mean, got.Std, want.Mean, want.Std)
	}
}

func TestEqualGapsHaveNoSpread(t *testing.T) {
	g := newGaps()
	g.add(12345678*time.Nanosecond, 1000)
	g.add(12345678*time.Nanosecond, 3)
	s := g.stats(nil)
	if s.Std != 0 || s.P50 != s.Min || s.P99 != s.Max || s.Mean != s.Min {
		t.Errorf("equal gaps spread: %+v", s)
	}
}

func TestGapsBeyondTheHistogramKeepTheirSum(t *testing.T) {
	g := newGaps()
	g.add(100*time.Hour, 2)
	g.add(time.Millisecond, 2)
	if s := g.stats(nil); g.sum != int64(200*time.Hour+2*time.Millisecond) || s.Max != 3.6e8 || s.Count != 4 {
		t.Errorf("a very long gap got lost: %+v", s)
	}
}

func TestGapsOfAStretchOfStepsAreThoseOfItsSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	stretch, single := newGaps(), newGaps()
	for i, from := range []int64{0, 1500, 7e6, shortGap - 20, shortGap, 1e9, longestGap, -30} {
		for _, wide := range []int64{1, 20, 50_000} {
			steps, n := make([]engine.Ran, 1+r.IntN(2*shortGaps)), 1+i
			for k := range steps {
				steps[k].Gap = time.Duration(from + r.Int64N(wide))
				single.add(steps[k].Gap, n)
			}
			stretch.addEach(steps, n)
		}
	}
	if !reflect.DeepEqual(stretch, single) {
		t.Errorf("%+v, want %+v", stretch.stats(nil), single.stats(nil))
	}
}
