package metrics

import (
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// A record is what remains of a completed request. Times are nanoseconds.
type record struct {
	arrival, ttft, e2el, queue int64
	worst                      int64 // largest gap between its tokens; kept per token only
	prompt, output             int32
}

// tpot is the mean time per output token after the first, (E2EL − TTFT)/(output − 1); a single token has none.
func (r *record) tpot() float64 {
	if r.output < 2 {
		return 0
	}
	return tpot(r.ttft, r.e2el, r.output)
}

func tpot(ttft, e2el int64, output int32) float64 { return float64(e2el-ttft) / float64(output-1) }

// newRecord sums up a completed life.
func newRecord(l *engine.Life) record {
	arrival := l.Request.Arrival
	return record{
		arrival: int64(arrival), ttft: int64(l.First - arrival), e2el: int64(l.Last - arrival),
		queue: queued(l), prompt: l.Request.Tokens, output: l.Emitted,
	}
}

// chunkLen is the number of records that are allocated together. It is no power of two, so that the columns of a chunk do
// not fall on the same places of a cache.
const chunkLen = 4000

// A chunk holds records column by column, as they are read.
type chunk struct {
	arrival, ttft, e2el, queue [chunkLen]int64
	output                     [chunkLen]int32
}

// records grows in chunks, so that nothing is ever copied.
type records struct {
	chunks []*chunk
	n      int
	room   int // for so many more in the newest chunk
}

func (rs *records) add(r *record) {
	if rs.room == 0 {
		rs.chunks = append(rs.chunks, new(chunk))
		rs.room = chunkLen
	}
	c, i := rs.chunks[len(rs.chunks)-1], chunkLen-rs.room
	c.arrival[i], c.ttft[i], c.e2el[i], c.queue[i], c.output[i] = r.arrival, r.ttft, r.e2el, r.queue, r.output
	rs.room--
	rs.n++
}

// in returns how many records the k-th chunk holds.
func (rs *records) in(k int) int { return min(rs.n-k*chunkLen, chunkLen) }

// latency describes the records and the gaps.
func (rs *records) latency(g *gaps, percentiles []float64) Latency {
	v, spare := make([]float64, 0, rs.n), make([]float64, rs.n)
	stats := func(column func(*chunk) *[chunkLen]int64) Stats {
		v = v[:0]
		for k, c := range rs.chunks {
			for _, ns := range column(c)[:rs.in(k)] {
				v = append(v, float64(ns))
			}
		}
		return summarize(v, spare, percentiles)
	}
	return Latency{
		TTFT:  stats(func(c *chunk) *[chunkLen]int64 { return &c.ttft }),
		TPOT:  summarize(rs.tpots(v), spare, percentiles),
		E2EL:  stats(func(c *chunk) *[chunkLen]int64 { return &c.e2el }),
		Queue: stats(func(c *chunk) *[chunkLen]int64 { return &c.queue }),
		ITL:   g.stats(percentiles), ITLQuantileErrorPct: gapErrorPct,
	}
}

// tpots collects into buf the TPOT of those that have one.
func (rs *records) tpots(buf []float64) []float64 {
	buf = buf[:0]
	for k, c := range rs.chunks {
		for i, output := range c.output[:rs.in(k)] {
			if output > 1 {
				buf = append(buf, tpot(c.ttft[i], c.e2el[i], output))
			}
		}
	}
	return buf
}

// measured reports whether a request that arrives at t counts, given the end of the warm-up.
func measured(t, warmup sim.Time) bool { return t >= warmup }
