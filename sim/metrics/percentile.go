package metrics

import "math"

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
