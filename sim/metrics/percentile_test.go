package metrics

import (
	"math"
	"testing"
)

// The expected values follow numpy.percentile's definition (method "linear"), worked out by hand; the last is the example
// of its documentation.
func TestPercentilesAgreeWithNumpy(t *testing.T) {
	pi := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}
	pair := []float64{0.1, 0.7}
	for _, c := range []struct {
		values  []float64
		p, want float64
	}{
		{pi, 0, 1},
		{pi, 1, 1},
		{pi, 25, 2.5},
		{pi, 50, 4},
		{pi, 75, 5},
		{pi, 90, 6},
		{pi, 95, 7.5},
		{pi, 99, 8.7},
		{pi, 99.9, 8.97},
		{pi, 100, 9},
		{pair, 10, 0.16},
		{pair, 50, 0.4},
		{pair, 90, 0.64},
		{pair, 99, 0.694},
		{[]float64{7}, 99, 7},
		{[]float64{10, 7, 4, 3, 2, 1}, 50, 3.5},
	} {
		o := orderOf([][]float64{c.values}, []float64{c.p})
		if got := o.percentile(c.p); math.Abs(got-c.want) > 1e-14*c.want {
			t.Errorf("percentile %v of %v = %v, want %v", c.p, c.values, got, c.want)
		}
	}
}

func TestStatsAgreeWithNumpy(t *testing.T) {
	s := summarize([][]float64{{3e6, 1e6, 4e6, 1e6}, {}, {5e6, 9e6, 2e6, 6e6, 5e6, 3e6, 5e6}}, []float64{99.9})
	for _, c := range []struct {
		name string
		want float64
	}{
		{"count", 11},
		{"mean", 4},
		{"std", math.Sqrt(56. / 11)},
		{"min", 1},
		{"p50", 4},
		{"median", 4},
		{"p90", 6},
		{"p95", 7.5},
		{"P99", 8.7},
		{"p99.9", 8.97},
		{"max", 9},
	} {
		if got, ok := s.Value(c.name); !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s = %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
	if _, ok := s.Value("p98"); ok {
		t.Error("a percentile that nobody asked for has a value")
	}
}

func TestStatsOfNothingAreZero(t *testing.T) {
	if s := summarize(nil, []float64{99.9}); s.Count != 0 || s.Mean != 0 || s.P99 != 0 || s.Max != 0 {
		t.Errorf("stats of nothing: %+v", s)
	}
}
