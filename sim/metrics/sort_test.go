package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortFloatsSortsWhateverTheValuesAndTheirNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func(i int) float64{
		"spread":    func(int) float64 { return math.Exp(60*r.Float64() - 10) },
		"even":      func(int) float64 { return float64(r.Int64N(1e9)) },
		"often 0":   func(i int) float64 { return float64(i%7) * r.Float64() },
		"equal":     func(int) float64 { return 7e6 },
		"0":         func(int) float64 { return 0 },
		"few":       func(int) float64 { return float64(r.IntN(3)) },
		"one apart": func(i int) float64 { return float64(i / 20001 * 1e18) },
		"clusters":  func(i int) float64 { return math.Float64frombits(uint64(i%3)<<61 + r.Uint64N(1<<20)) },
		"nested":    func(i int) float64 { return math.Float64frombits(r.Uint64N(1 << (1 + i%62))) },
		"rising":    func(i int) float64 { return float64(i) },
		"falling":   func(i int) float64 { return float64(30000 - i) },
	} {
		for _, n := range []int{0, 1, 2, few, few + 1, 100, 1 << 12, 20002} {
			v := make([]float64, n)
			for i := range v {
				v[i] = draw(i)
			}
			want := slices.Sorted(slices.Values(v))
			sortFloats(v, make([]float64, n))
			if !slices.Equal(v, want) {
				t.Errorf("%d values, %s, came out of order", n, name)
			}
		}
	}
}

func BenchmarkSortAMillion(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float64, 1e6)
	for i := range v {
		v[i] = float64(r.Int64N(6e9))
	}
	w, spare := make([]float64, len(v)), make([]float64, len(v))
	for b.Loop() {
		copy(w, v)
		sortFloats(w, spare)
	}
}
