package metrics

import "math"

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
