package metrics

import (
	"math"
	"math/bits"
)

const (
	// maxRadix is the largest digit in bits: so many buckets stay in the nearest cache while values are dealt out to them.
	maxRadix = 11
	// few values are sorted by insertion.
	few = 16
)

// sortFloats sorts values that are ≥ 0 in place; spare is room for as many. The bits of such floats sort as integers do,
// so values are dealt out to buckets by their leading bits instead of being compared, and the contents of each bucket
// likewise: after two rounds hardly two values share a bucket, whatever their number, and insertion mends the rest.
func sortFloats(v, spare []float64) {
	sortWithin(v, spare[:len(v)], make([]uint32, 6<<maxRadix)) // no 64 bits have digits with more buckets in all
}

// sortWithin sorts v by way of spare; room is for counts.
func sortWithin(v, spare []float64, room []uint32) {
	if len(v) <= few {
		insert(v, v)
		return
	}
	low, high := extent(v)
	if low == high {
		return
	}
	width := uint(bits.Len64(high - low))
	width -= min(radix(len(v)), width)
	count := deal(spare, v, low, width, room[:1<<radix(len(v))])
	begin := uint32(0)
	for _, end := range count {
		sortInto(v[begin:end], spare[begin:end], low, width, room[len(count):])
		begin = end
	}
}

// sortInto sorts the values of from, which differ in the lowest width bits of their distance from low only, into to.
func sortInto(to, from []float64, low uint64, width uint, room []uint32) {
	if len(from) <= few {
		insert(to, from)
		return
	}
	k := min(radix(len(from)), width)
	count := deal(to, from, low, width-k, room[:1<<k])
	begin := uint32(0)
	for _, end := range count {
		if end-begin > few {
			sortWithin(to[begin:end], from[begin:end], room[len(count):])
		}
		begin = end
	}
	insert(to, to)
}

// radix returns the digit in bits that gives n values about a bucket each.
func radix(n int) uint { return uint(min(bits.Len(uint(n))-1, maxRadix)) }

// extent returns the bits of the least and of the largest value.
func extent(v []float64) (low, high uint64) {
	low = math.MaxUint64
	for _, x := range v {
		b := math.Float64bits(x)
		low, high = min(low, b), max(high, b)
	}
	return low, high
}

// deal copies the values of from to to, in the order of one digit of their bits' distance from low: the one that begins
// above the lowest width bits, and of which there are as many as counts. It returns where the values of each digit end.
func deal(to, from []float64, low uint64, width uint, count []uint32) []uint32 {
	clear(count)
	mask := uint64(len(count) - 1)
	for _, x := range from {
		count[(math.Float64bits(x)-low)>>(width&63)&mask]++
	}
	at := uint32(0)
	for d, n := range count {
		count[d] = at
		at += n
	}
	for _, x := range from {
		d := (math.Float64bits(x) - low) >> (width & 63) & mask
		to[count[d]] = x
		count[d]++
	}
	return count
}

// insert sorts the values of from into to, which may be the same: it suits few values, and those nearly in order.
func insert(to, from []float64) {
	for i, x := range from {
		for ; i > 0 && to[i-1] > x; i-- {
			to[i] = to[i-1]
		}
		to[i] = x
	}
}
