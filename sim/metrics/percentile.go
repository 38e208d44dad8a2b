package metrics

import (
	"math"
	"slices"
)

// percentile returns the p-th percentile (0 ≤ p ≤ 100) of sorted values as numpy.percentile does by default: with
// h = (n−1)·p/100, it interpolates linearly between the values at ⌊h⌋ and ⌊h⌋+1. It returns 0 for no values.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i, f := rank(int64(len(sorted)), p)
	if f == 0 {
		return sorted[i]
	}
	return lerp(sorted[i], sorted[i+1], f)
}

// rank returns ⌊h⌋ and h−⌊h⌋ for the p-th percentile of n values.
func rank(n int64, p float64) (int64, float64) {
	h := float64(n-1) * p / 100
	i := math.Floor(h)
	if int64(i) >= n-1 {
		return n - 1, 0
	}
	return int64(i), h - i
}

// lerp is numpy's: from whichever end is nearer, so that f = 1 would give b exactly.
func lerp(a, b, f float64) float64 {
	if f < 0.5 {
		return a + (b-a)*f
	}
	return b - (b-a)*(1-f)
}

// radix is the digit of sortFloats in bits.
const radix = 11

// sortFloats sorts values that are ≥ 0 in place. The bits of such floats sort as integers do, so a long slice takes a
// few passes of counting instead of n·log n comparisons; digits that all values share cost no pass.
func sortFloats(v []float64) {
	if len(v) < 1<<12 {
		slices.Sort(v)
		return
	}
	if slices.IsSorted(v) { // what is collected in order of completion often is
		return
	}
	from, to := v, make([]float64, len(v))
	for shift := 0; shift < 64; shift += radix {
		var count [1 << radix]int
		for _, x := range from {
			count[math.Float64bits(x)>>shift&(1<<radix-1)]++
		}
		if count[math.Float64bits(from[0])>>shift&(1<<radix-1)] == len(from) {
			continue
		}
		at := 0
		for d, n := range count {
			count[d] = at
			at += n
		}
		for _, x := range from {
			d := math.Float64bits(x) >> shift & (1<<radix - 1)
			to[count[d]] = x
			count[d]++
		}
		from, to = to, from
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}
