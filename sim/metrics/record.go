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
	return float64(r.e2el-r.ttft) / float64(r.output-1)
}

// newRecord sums up a completed life.
func newRecord(l *engine.Life) record {
	arrival := l.Request.Arrival
	return record{
		arrival: int64(arrival), ttft: int64(l.First - arrival), e2el: int64(l.Last - arrival),
		queue: queued(l), prompt: l.Request.Tokens, output: l.Emitted,
	}
}

// chunk is the number of records that are allocated together.
const chunk = 1 << 12

// records grows in chunks, so that nothing is ever copied.
type records struct {
	chunks [][]record
	n      int
}

func (rs *records) add(r record) {
	last := len(rs.chunks) - 1
	if last < 0 || len(rs.chunks[last]) == chunk {
		rs.chunks = append(rs.chunks, make([]record, 0, chunk))
		last++
	}
	rs.chunks[last] = append(rs.chunks[last], r)
	rs.n++
}

// column collects one number of each record into buf; pick says whether the record has it.
func (rs *records) column(buf []float64, pick func(*record) (float64, bool)) []float64 {
	buf = buf[:0]
	for _, c := range rs.chunks {
		for i := range c {
			if v, ok := pick(&c[i]); ok {
				buf = append(buf, v)
			}
		}
	}
	return buf
}

// latency describes the records and the gaps.
func (rs *records) latency(g *gaps, percentiles []float64) Latency {
	buf := make([]float64, 0, rs.n)
	stats := func(pick func(*record) (float64, bool)) Stats {
		return summarize(rs.column(buf, pick), percentiles)
	}
	return Latency{
		TTFT:  stats(func(r *record) (float64, bool) { return float64(r.ttft), true }),
		TPOT:  stats(func(r *record) (float64, bool) { return r.tpot(), r.output > 1 }),
		E2EL:  stats(func(r *record) (float64, bool) { return float64(r.e2el), true }),
		Queue: stats(func(r *record) (float64, bool) { return float64(r.queue), true }),
		ITL:   g.stats(percentiles), ITLQuantileErrorPct: gapErrorPct,
	}
}

// measured reports whether a request that arrives at t counts, given the end of the warm-up.
func measured(t, warmup sim.Time) bool { return t >= warmup }
