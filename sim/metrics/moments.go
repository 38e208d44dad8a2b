package metrics

import (
	"math"
	"math/big"
	"math/bits"
)

// mantissa is the number of bits of a float64 behind its leading one.
const mantissa = 52

// moments sum values ≥ 0 and their squares without any rounding, so that their order does not matter. A float is a whole
// number of 53 bits times a power of two; those of one power are added up as whole numbers.
type moments struct {
	count  int64
	powers [1 << 11]power // by the exponent's bits; 0 is that of the value 0
}

type power struct {
	sum     [2]uint64 // in words, the highest first
	squares [3]uint64
}

func (m *moments) add(values []float64) {
	m.count += int64(len(values))
	for _, x := range values {
		b := math.Float64bits(x)
		p := &m.powers[b>>mantissa&(1<<11-1)]
		n := b&(1<<mantissa-1) | 1<<mantissa
		high, low := bits.Mul64(n, n)
		var carry uint64
		p.squares[2], carry = bits.Add64(p.squares[2], low, 0)
		p.squares[1], carry = bits.Add64(p.squares[1], high, carry)
		p.squares[0] += carry
		p.sum[1], carry = bits.Add64(p.sum[1], n, 0)
		p.sum[0] += carry
	}
}

// addWhole is add for values that are whole numbers: those count in ones, which are the units of one of the powers.
func (m *moments) addWhole(values []float64) {
	p := &m.powers[1023+mantissa]
	sum, above := p.sum[1], p.sum[0] // words by themselves stay in registers
	low, middle, high := p.squares[2], p.squares[1], p.squares[0]
	for _, x := range values {
		n := uint64(int64(x))
		upper, lower := bits.Mul64(n, n)
		var carry uint64
		low, carry = bits.Add64(low, lower, 0)
		middle, carry = bits.Add64(middle, upper, carry)
		high += carry
		sum, carry = bits.Add64(sum, n, 0)
		above += carry
	}
	*p = power{sum: [2]uint64{above, sum}, squares: [3]uint64{high, middle, low}}
	m.count += int64(len(values))
}

// meanStd returns the mean and the standard deviation of the population (numpy's ddof = 0), √(n·Σx² − (Σx)²) / n, each
// rounded once.
func (m *moments) meanStd() (mean, std float64) {
	sum, squares, least := m.sums()
	n := new(big.Float).SetInt64(m.count)
	spread := new(big.Int).Mul(squares, big.NewInt(m.count))
	spread.Sub(spread, new(big.Int).Mul(sum, sum))
	root := new(big.Float).SetPrec(200).SetInt(spread)
	root.Sqrt(root)
	scaled := func(x *big.Float) float64 {
		v, _ := new(big.Float).SetPrec(mantissa+1).Quo(x, n).Float64()
		return math.Ldexp(v, least-1023-mantissa)
	}
	return scaled(new(big.Float).SetInt(sum)), scaled(root)
}

// sums returns Σx and Σx², in units of the power of two with the least exponent that occurs, and of its square.
func (m *moments) sums() (sum, squares *big.Int, least int) {
	sum, squares = new(big.Int), new(big.Int)
	low, high := len(m.powers), 0
	for e := 1; e < len(m.powers); e++ {
		if m.powers[e] != (power{}) {
			low, high = min(low, e), e
		}
	}
	for e := high; e >= low; e-- {
		p := &m.powers[e]
		sum.Add(sum.Lsh(sum, 1), words(p.sum[:]))
		squares.Add(squares.Lsh(squares, 2), words(p.squares[:]))
	}
	return sum, squares, low
}

// words returns the number that consists of these words.
func words(high []uint64) *big.Int {
	n := new(big.Int)
	for _, w := range high {
		n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(w))
	}
	return n
}
