package metrics

import "github.com/servesim/servesim/sim"

// A record is what remains of a completed request. Times are nanoseconds.
type record struct {
	ttft, e2el, queue int64
	tpot              float64 // mean time per output token after the first; 0: there is none
	worst             int64   // largest gap between its tokens; kept per token only
	prompt, output    int32
}

// The times of a record that are described by themselves.
const (
	ttft = iota
	tpot
	e2el
	queue
	times
)

// chunkLen is the number of records that are allocated together. It is no power of two, so that the columns of a chunk do
// not fall on the same places of a cache.
const chunkLen = 500

// A chunk holds records column by column, as they are read.
type chunk struct {
	columns  [times][chunkLen]float64
	n, tpots int // lengths of the columns: an answer of a single token has no TPOT
}

// column returns the values of one of the times.
func (c *chunk) column(of int) []float64 {
	if of == tpot {
		return c.columns[tpot][:c.tpots]
	}
	return c.columns[of][:c.n]
}

// records grows in chunks, so that nothing is ever copied. A chunk that is full is digested while it is still in the caches.
type records struct {
	chunks  []*chunk
	newest  *chunk
	n       int
	digests *[times]digest // of all chunks but the newest; nil: there are no others
}

func (rs *records) add(r *record) {
	c := rs.newest
	if c == nil || c.n == chunkLen {
		c = rs.grow()
	}
	rs.n++
	i := c.n
	c.columns[ttft][i], c.columns[e2el][i], c.columns[queue][i] = float64(r.ttft), float64(r.e2el), float64(r.queue)
	c.n++
	if r.output > 1 {
		c.columns[tpot][c.tpots] = r.tpot
		c.tpots++
	}
}

func (rs *records) grow() *chunk {
	if rs.newest != nil {
		if rs.digests == nil {
			rs.digests = new([times]digest)
		}
		for of := range rs.digests {
			rs.digests[of].add(rs.newest.column(of), of != tpot)
		}
	}
	rs.newest = new(chunk)
	rs.chunks = append(rs.chunks, rs.newest)
	return rs.newest
}

// latency describes the records and the gaps.
func (rs *records) latency(g *gaps, percentiles []float64) Latency {
	return Latency{
		TTFT: rs.stats(ttft, percentiles), TPOT: rs.stats(tpot, percentiles),
		E2EL: rs.stats(e2el, percentiles), Queue: rs.stats(queue, percentiles),
		ITL: g.stats(percentiles), ITLQuantileErrorPct: gapErrorPct,
	}
}

// stats describes one of the times.
func (rs *records) stats(of int, percentiles []float64) Stats {
	var parts [][]float64
	for _, c := range rs.chunks {
		parts = append(parts, c.column(of))
	}
	if rs.digests == nil {
		return summarize(parts, percentiles)
	}
	d := rs.digests[of]
	d.add(rs.newest.column(of), of != tpot)
	return d.stats(parts, percentiles)
}

// measured reports whether a request that arrives at t counts, given the end of the warm-up.
func measured(t, warmup sim.Time) bool { return t >= warmup }
