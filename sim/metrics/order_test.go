package metrics

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// draws are ways in which values may lie.
func draws(r *rand.Rand) map[string]func(i int) float64 {
	return map[string]func(i int) float64{
		"spread":    func(int) float64 { return math.Exp(90*r.Float64() - 40) },
		"even":      func(int) float64 { return float64(r.Int64N(1e9)) },
		"often 0":   func(i int) float64 { return float64(i%7) * r.Float64() },
		"equal":     func(int) float64 { return 7e6 },
		"0":         func(int) float64 { return 0 },
		"three":     func(int) float64 { return float64(r.IntN(3)) },
		"one apart": func(i int) float64 { return float64(i / 20001 * 1e18) },
		"one band":  func(int) float64 { return 1e6 + r.Float64() },
		"rising":    func(i int) float64 { return float64(i) },
		"falling":   func(i int) float64 { return float64(30000 - i) },
	}
}

// inParts cuts values into parts of several lengths.
func inParts(v []float64) [][]float64 {
	parts := [][]float64{nil}
	for n := 1; len(v) > n; n *= 3 {
		parts = append(parts, v[:n])
		v = v[n:]
	}
	return append(parts, v)
}

func TestRanksAreThoseOfTheSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	percentiles := []float64{50, 90, 95, 99, 0.01, 99.99, 33}
	for name, draw := range draws(r) {
		for _, n := range []int{1, 2, 100, few, few + 1, 20002} {
			v := make([]float64, n)
			for i := range v {
				v[i] = draw(i)
			}
			o := orderOf(inParts(v), percentiles)
			slices.Sort(v)
			for _, i := range o.ranks {
				if o.at(i) != v[i] {
					t.Fatalf("%d values, %s: rank %d is %v, want %v", n, name, i, o.at(i), v[i])
				}
			}
			for _, p := range percentiles {
				i, f := rank(int64(n), p)
				want := v[i]
				if f > 0 {
					want = lerp(v[i], v[i+1], f)
				}
				if got := o.percentile(p); got != want {
					t.Errorf("%d values, %s: p%v is %v, want %v", n, name, p, got, want)
				}
			}
		}
	}
}

// The reference adds up fractions.
func TestMomentsAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range draws(r) {
		for _, n := range []int{1, 2, 3, 1000, 5000} {
			var m moments
			sum, squares, count := new(big.Rat), new(big.Rat), new(big.Rat).SetInt64(int64(n))
			for i := range n {
				x := draw(i)
				m.add([]float64{x})
				exact := new(big.Rat).SetFloat64(x)
				sum.Add(sum, exact)
				squares.Add(squares, exact.Mul(exact, exact))
			}
			mean, std := m.meanStd()
			exact := new(big.Rat).Quo(sum, count)
			if want, _ := exact.Float64(); mean != want {
				t.Errorf("%d values, %s: mean %v, want %v", n, name, mean, want)
			}
			squares.Quo(squares, count).Sub(squares, exact.Mul(exact, exact))
			root := new(big.Float).SetPrec(300).SetRat(squares)
			if want, _ := root.Sqrt(root).Float64(); std != want {
				t.Errorf("%d values, %s: standard deviation %v, want %v", n, name, std, want)
			}
		}
	}
}

// Records that are digested chunk by chunk are described as their values all at once.
func TestDigestsLoseNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	percentiles := []float64{99.9}
	for _, n := range []int{1, chunkLen, chunkLen + 1, 3*chunkLen + 7} {
		var rs records
		var all [times][]float64
		for i := range n {
			rec := record{ttft: r.Int64N(1e9), e2el: r.Int64N(1e12), queue: int64(i % 3), output: int32(i % 5), tpot: r.Float64() * 1e8}
			rs.add(&rec)
			all[ttft] = append(all[ttft], float64(rec.ttft))
			all[e2el] = append(all[e2el], float64(rec.e2el))
			all[queue] = append(all[queue], float64(rec.queue))
			if rec.output > 1 {
				all[tpot] = append(all[tpot], rec.tpot)
			}
		}
		got := rs.latency(newGaps(), percentiles)
		want := [times]Stats{}
		for of, values := range all {
			want[of] = summarize([][]float64{values}, percentiles)
		}
		if have := [times]Stats{ttft: got.TTFT, tpot: got.TPOT, e2el: got.E2EL, queue: got.Queue}; !reflect.DeepEqual(have, want) {
			t.Errorf("%d records: %+v, want %+v", n, have, want)
		}
	}
}

func BenchmarkSummaryOfAMillion(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float64, 1e6)
	for i := range v {
		v[i] = float64(r.Int64N(6e9))
	}
	for b.Loop() {
		summarize([][]float64{v}, nil)
	}
}
