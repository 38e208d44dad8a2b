package metrics

import "github.com/servesim/servesim/sim"

// A record is what remains of a completed request. Times are nanoseconds.
type record struct {
	arrival, ttft, e2el, queue int64
	tpot                       float64 // mean time per output token after the first; 0: there is none
	worst                      int64   // largest gap between its tokens; kept per token only
	prompt, output             int32
}

// chunkLen is the number of records that are allocated together. It is no power of two, so that the columns of a chunk do
// not fall on the same places of a cache.
const chunkLen = 4000

// A chunk holds records column by column, as they are read.
type chunk struct {
	arrival                 [chunkLen]int64
	ttft, tpot, e2el, queue [chunkLen]float64
	n, tpots                int // lengths of the columns: an answer of a single token has no TPOT
}

// records grows in chunks, so that nothing is ever copied.
type records struct {
	chunks []*chunk
	newest *chunk
	n      int
}

func (rs *records) add(r *record) {
	c := rs.newest
	if c == nil || c.n == chunkLen {
		c = rs.grow()
	}
	rs.n++
	i := c.n
	c.arrival[i], c.ttft[i], c.e2el[i], c.queue[i] = r.arrival, float64(r.ttft), float64(r.e2el), float64(r.queue)
	c.n++
	if r.output > 1 {
		c.tpot[c.tpots] = r.tpot
		c.tpots++
	}
}

func (rs *records) grow() *chunk {
	rs.newest = new(chunk)
	rs.chunks = append(rs.chunks, rs.newest)
	return rs.newest
}

// latency describes the records and the gaps.
func (rs *records) latency(g *gaps, percentiles []float64) Latency {
	stats := func(column func(c *chunk) []float64) Stats {
		parts := make([][]float64, len(rs.chunks))
		for k, c := range rs.chunks {
			parts[k] = column(c)
		}
		return summarize(parts, percentiles)
	}
	return Latency{
		TTFT:  stats(func(c *chunk) []float64 { return c.ttft[:c.n] }),
		TPOT:  stats(func(c *chunk) []float64 { return c.tpot[:c.tpots] }),
		E2EL:  stats(func(c *chunk) []float64 { return c.e2el[:c.n] }),
		Queue: stats(func(c *chunk) []float64 { return c.queue[:c.n] }),
		ITL:   g.stats(percentiles), ITLQuantileErrorPct: gapErrorPct,
	}
}

// measured reports whether a request that arrives at t counts, given the end of the warm-up.
func measured(t, warmup sim.Time) bool { return t >= warmup }
