package workload

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Numbers of a row have few digits, and there are many rows: eight digits are computed at once, in the bytes of a word.
const (
	zeros   = 0x3030303030303030 // the digit 0 in every byte
	letters = 'a' - '0' - 10     // what takes the byte of a hexadecimal digit above 9 to its letter
)

// digits8 returns the eight decimal digits of n < 10⁸, as numbers, the first in the lowest byte. It halves the number of
// digits that a part of the word holds: eight, four, two, one; in all parts at once a product and a shift divide them.
func digits8(n uint64) uint64 {
	n = n/10000 | n%10000<<32
	q := n * 10486 >> 20 & 0x0000007f_0000007f // n/100
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0x000f_000f_000f_000f // n/10
	return q | (n-10*q)<<8
}

// hex8 returns the eight hexadecimal digits of n < 2³² as text, the first in the highest byte.
func hex8(n uint64) uint64 {
	n = (n | n<<16) & 0x0000ffff_0000ffff
	n = (n | n<<8) & 0x00ff_00ff_00ff_00ff
	n = (n | n<<4) & 0x0f0f0f0f_0f0f0f0f
	above9 := (n + 0x06060606_06060606) >> 4 & 0x01010101_01010101
	return n + zeros + above9*letters
}

// digits4 returns the four decimal digits of n < 10⁴ likewise.
func digits4(n uint32) uint32 {
	q := n * 10486 >> 20 // n/100
	n = q | (n-100*q)<<16
	q = n * 103 >> 10 & 0x000f_000f // n/10
	return q | (n-10*q)<<8
}

// AppendInt appends n in decimal, and what stands behind it: every number of a row has a neighbour, which often fits into
// the same word.
func AppendInt(b []byte, n int64, behind byte) []byte {
	switch {
	case uint64(n) < 10:
		return append(b, '0'+byte(n), behind)
	case uint64(n) < 1e4:
		w := uint64(digits4(uint32(n)))
		leading := uint(bits.TrailingZeros64(w)) / 8
		w += zeros&math.MaxUint32 | uint64(behind)<<32
		b = binary.LittleEndian.AppendUint64(b, w>>(8*leading&31))
		return b[:uint(len(b))-leading-3]
	case uint64(n) >= 1e8:
		return append(strconv.AppendInt(b, n, 10), behind)
	}
	w := digits8(uint64(n))
	leading := uint(bits.TrailingZeros64(w)) / 8
	b = binary.LittleEndian.AppendUint64(b, (w+zeros)>>(8*leading&63))
	return append(b[:uint(len(b))-leading], behind)
}

// appendHex appends n in hexadecimal, and what stands behind it.
func appendHex(b []byte, n uint64, behind byte) []byte {
	leading := bits.LeadingZeros64(n|1) / 4
	n <<= 4 * leading
	b = binary.BigEndian.AppendUint64(b, hex8(n>>32))
	b = binary.BigEndian.AppendUint64(b, hex8(n&(1<<32-1)))
	return append(b[:len(b)-leading], behind)
}

// AppendMillis appends d ≥ 0 in milliseconds with six decimals, so that no nanosecond is lost, and a comma.
func AppendMillis(b []byte, d time.Duration) []byte {
	n := uint64(d)
	if n >= 1e10 {
		return appendManyMillis(b, n)
	}
	w, n := digits8(n/100), n%100 // four digits before the point and four behind it; the last two
	leading := uint(bits.TrailingZeros64(w|1<<24)) / 8
	w += zeros
	b = binary.LittleEndian.AppendUint64(b, (w&math.MaxUint32|'.'<<32)>>(8*leading&31))
	b = b[:uint(len(b))-leading-3]
	tens := n * 103 >> 10 // n/10
	b = binary.LittleEndian.AppendUint64(b, w>>32|('0'+tens|('0'+n-10*tens)<<8|','<<16)<<32)
	return b[:len(b)-1]
}

// appendManyMillis is AppendMillis for any time.
func appendManyMillis(b []byte, n uint64) []byte {
	b = AppendInt(b, int64(n/1e6), '.')
	w := (digits8(n%1e6)+zeros)>>16 | ','<<48 // without the first two of eight digits; and a byte too many
	b = binary.LittleEndian.AppendUint64(b, w)
	return b[:len(b)-1]
}

// AppendSeconds appends d in seconds with nine decimals, so that no nanosecond is lost, and a comma.
func AppendSeconds(b []byte, d time.Duration) []byte {
	n := uint64(d)
	if d < 0 {
		b = append(b, '-')
		n = -n
	}
	b = AppendInt(b, int64(n/1e9), '.')
	n %= 1e9
	b = append(b, '0'+byte(n/1e8))
	return append(binary.LittleEndian.AppendUint64(b, digits8(n%1e8)+zeros), ',')
}
