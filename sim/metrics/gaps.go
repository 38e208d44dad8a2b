package metrics

import (
	"math"
	"math/big"
	"math/bits"
	"time"

	"github.com/servesim/servesim/sim/engine"
)

const (
	// longestGap is the longest gap that the histogram tells from longer ones, about nine hours: its quantiles saturate
	// there, while count, sum, minimum and maximum stay exact.
	longestGap = 1 << 45
	// gapErrorPct is the bound on a quantile's error that follows from the width of the bins.
	gapErrorPct = 0.1

	// The squares of so many gaps, each shorter than a quarter of a second, add up within 64 bits.
	shortGap  = 1 << 28
	shortGaps = 1 << 7
)

// gaps pools the times between consecutive tokens: exact, whatever the order in which they come, in all but the
// quantiles, which are a histogram's.
type gaps struct {
	bins           bins
	count, sum     int64 // sum in nanoseconds
	least, largest int64
	squares        wide // Σ gap²
}

func newGaps() *gaps {
	return &gaps{bins: make(bins, binOf(longestGap)+1), least: math.MaxInt64, largest: math.MinInt64}
}

// add pools n gaps of equal length.
func (g *gaps) add(gap time.Duration, n int) {
	v, w := int64(gap), int64(n)
	g.least, g.largest = min(g.least, v), max(g.largest, v)
	g.count += w
	g.sum += v * w
	g.squares = g.squares.plus(square(v).times(w))
	g.bins[g.binOf(v)] += w
}

// addEach pools n gaps of each of some steps.
func (g *gaps) addEach(steps []engine.Ran, n int) {
	if len(steps) < 3 || len(steps) > shortGaps || !g.addAlike(steps, n) {
		for i := range steps {
			g.add(steps[i].Gap, n)
		}
	}
}

// addAlike is addEach for gaps that are short, and reports whether they are. Such gaps hardly differ: most often one bin takes
// them all.
func (g *gaps) addAlike(steps []engine.Ran, n int) bool {
	least, largest := steps[0].Gap, steps[0].Gap
	var sum, squares int64
	for i := range steps {
		v := steps[i].Gap
		least, largest = min(least, v), max(largest, v)
		sum += int64(v)
		squares += int64(v * v)
	}
	if least < 0 || largest >= shortGap {
		return false
	}
	w := int64(n)
	g.least, g.largest = min(g.least, int64(least)), max(g.largest, int64(largest))
	g.count += w * int64(len(steps))
	g.sum += w * sum
	g.squares = g.squares.plus(wide{0, uint64(squares)}.times(w))
	if bin := binOf(int64(least)); bin == binOf(int64(largest)) {
		g.bins[bin] += w * int64(len(steps))
		return true
	}
	for i := range steps {
		g.bins[binOf(int64(steps[i].Gap))] += w
	}
	return true
}

// binOf returns the bin of a gap, whatever its length.
func (g *gaps) binOf(gap int64) int {
	if bin := binOf(gap); uint(bin) < uint(len(g.bins)) {
		return bin
	}
	if gap < 0 {
		return 0
	}
	return len(g.bins) - 1
}

// stats describes the gaps in milliseconds.
func (g *gaps) stats(percentiles []float64) Stats {
	if g.count == 0 {
		return Stats{}
	}
	n := float64(g.count)
	mean := float64(g.sum) / n
	at := func(p float64) float64 { return g.quantile(p) / nsPerMs }
	return Stats{
		Count: g.count, Mean: mean / nsPerMs, Std: g.std() / nsPerMs,
		Min: float64(g.least) / nsPerMs, Max: float64(g.largest) / nsPerMs,
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), More: further(percentiles, at),
	}
}

// A wide number has 128 bits.
type wide struct{ high, low uint64 }

// square returns v².
func square(v int64) wide {
	high, low := bits.Mul64(uint64(v), uint64(v))
	return wide{high, low}
}

func (a wide) plus(b wide) wide {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return wide{high, low}
}

func (a wide) times(n int64) wide {
	over, low := bits.Mul64(a.low, uint64(n))
	return wide{a.high*uint64(n) + over, low}
}

// std returns the population's standard deviation in nanoseconds: √(n·Σg² − (Σg)²) / n, the difference taken exactly.
func (g *gaps) std() float64 {
	squares := new(big.Int).SetUint64(g.squares.high)
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(g.squares.low))
	sum := big.NewInt(g.sum)
	spread := squares.Mul(squares, big.NewInt(g.count))
	spread.Sub(spread, sum.Mul(sum, sum))
	v, _ := new(big.Float).SetInt(spread).Float64()
	return math.Sqrt(v) / float64(g.count)
}

// quantile interpolates between ranks as percentile does, each rank's value being the middle of its bin.
func (g *gaps) quantile(p float64) float64 {
	i, f := rank(g.count, p)
	a := g.valueAt(i)
	if f == 0 {
		return a
	}
	return lerp(a, g.valueAt(i+1), f)
}

// valueAt returns the gap of that rank (from 0), within half a bin.
func (g *gaps) valueAt(rank int64) float64 {
	for i, n := range g.bins {
		if rank < n {
			from, to := binAt(i)
			return min(max(float64(from+to)/2, float64(g.least)), float64(g.largest))
		}
		rank -= n
	}
	return float64(g.largest)
}
