package metrics

import "math/bits"

// bins count values ≥ 0 as an HdrHistogram (G. Tene) of three significant digits does: values up to 2^binBits have a bin
// each, and from there on every doubling of the value has half as many bins, of twice the width. So no bin is wider than a
// thousandth of its values.
type bins []int64

const binBits = 11

// binOf returns the bin of a value.
func binOf(v int64) int {
	shift := uint(bits.Len64(uint64(v)|(1<<binBits-1))-binBits) & 63
	return int(shift<<(binBits-1)) + int(v>>shift)
}

// binAt returns the least and the largest value of a bin.
func binAt(bin int) (from, to int64) {
	shift := max(bin>>(binBits-1)-1, 0)
	from = int64(bin-shift<<(binBits-1)) << shift
	return from, from + 1<<shift - 1
}
