package metrics

import (
	"math"
	"slices"
)

const (
	// bandBits says how wide a band is: so many bits of a value's mantissa, and its exponent, tell its band.
	bandBits = 9
	// octaves are the powers of two, from a nanosecond to three days, that have bands of their own.
	octaves = 48
	// few values are sorted as they are.
	few = 1 << 12
)

// An order knows the values of some ranks among many; the least of n values has rank 0.
type order struct {
	n      int64
	ranks  []int64 // ascending
	values []float64
}

// orderOf finds the least and the largest of the values in parts, all ≥ 0, and what their percentiles need. It sorts only
// the values that share a narrow band with one of them, unless there are few.
func orderOf(parts [][]float64, percentiles []float64) order {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	if n > few {
		counts := new(bands)
		for _, part := range parts {
			counts.add(part)
		}
		return counts.order(int64(n), parts, percentiles)
	}
	o := order{n: int64(n)}
	o.want(percentiles)
	o.pick(slices.Concat(parts...), o.ranks)
	return o
}

// pick takes the values of all ranks, given those that they are among and their places once these are sorted.
func (o *order) pick(kept []float64, places []int64) {
	slices.Sort(kept)
	for _, i := range places {
		o.values = append(o.values, kept[i])
	}
}

// want lists the ranks of interest.
func (o *order) want(percentiles []float64) {
	o.ranks = []int64{0, o.n - 1}
	for _, p := range percentiles {
		i, _ := rank(o.n, p)
		o.ranks = append(o.ranks, i, min(i+1, o.n-1))
	}
	slices.Sort(o.ranks)
	o.ranks = slices.Compact(o.ranks)
}

// at returns the value of a rank.
func (o *order) at(rank int64) float64 {
	i, _ := slices.BinarySearch(o.ranks, rank)
	return o.values[i]
}

// percentile returns the p-th percentile (0 ≤ p ≤ 100) as numpy.percentile does by default: with h = (n−1)·p/100, it
// interpolates linearly between the values at ⌊h⌋ and ⌊h⌋+1.
func (o *order) percentile(p float64) float64 {
	i, f := rank(o.n, p)
	if f == 0 {
		return o.at(i)
	}
	return lerp(o.at(i), o.at(i+1), f)
}

// bands are the numbers of values in each band.
type bands [octaves << bandBits]uint32

func (b *bands) add(values []float64) {
	for _, x := range values {
		b[band(x)]++
	}
}

// order is orderOf for the n values that have been counted.
func (b *bands) order(n int64, parts [][]float64, percentiles []float64) order {
	o := order{n: n}
	o.want(percentiles)
	kept, places := b.keep(parts, o.ranks)
	o.pick(kept, places)
	return o
}

// keep returns the values of all bands in which a rank falls, and where each rank's value will be once they are sorted.
func (b *bands) keep(parts [][]float64, ranks []int64) (kept []float64, places []int64) {
	wanted := new([octaves << bandBits]bool)
	below, skipped := int64(0), int64(0) // values in the bands so far, and those that are not kept
	for i, count := range b {
		from := len(places)
		below += int64(count)
		for len(places) < len(ranks) && ranks[len(places)] < below {
			places = append(places, ranks[len(places)]-skipped)
		}
		if wanted[i] = len(places) > from; !wanted[i] {
			skipped += int64(count)
		}
	}
	for _, part := range parts {
		for _, x := range part {
			if wanted[band(x)] {
				kept = append(kept, x)
			}
		}
	}
	return kept, places
}

// band returns the band of a value: the leading bits of a float ≥ 0 sort as it does. The first and the last band also have
// what lies beyond them.
func band(x float64) int {
	const first = 1023 << bandBits // of 1 ns
	return min(max(int(math.Float64bits(x)>>(mantissa-bandBits))-first, 0), octaves<<bandBits-1)
}
