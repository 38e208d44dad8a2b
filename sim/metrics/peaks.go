package metrics

import "github.com/servesim/servesim/sim"

// second is the width of the buckets in which `vllm bench serve` looks for peaks.
const second sim.Time = 1e9

// A tally counts tokens in consecutive seconds; seconds without any take no room.
type tally struct {
	seconds []tallied
	until   sim.Time // end of the newest second
}

type tallied struct{ second, tokens uint32 }

// add counts n tokens at instant t; origin is where the first second begins. Instants come in order.
func (y *tally) add(t, origin sim.Time, n int) {
	if t >= y.until {
		s := max(t-origin, 0) / second
		y.seconds = append(y.seconds, tallied{second: uint32(s)})
		y.until = origin + (s+1)*second
	}
	y.seconds[len(y.seconds)-1].tokens += uint32(n)
}

// busiest returns the most tokens that all tallies together count in one second.
func busiest(ys []*tally) int {
	at := make([]int, len(ys))
	best := 0
	for {
		s, found := uint32(0), false
		for i, y := range ys {
			if at[i] < len(y.seconds) && (!found || y.seconds[at[i]].second < s) {
				s, found = y.seconds[at[i]].second, true
			}
		}
		if !found {
			return best
		}
		sum := 0
		for i, y := range ys {
			if at[i] < len(y.seconds) && y.seconds[at[i]].second == s {
				sum += int(y.seconds[at[i]].tokens)
				at[i]++
			}
		}
		best = max(best, sum)
	}
}

// crowd returns the most completed requests that touch one second, counted from origin. Short requests make it larger
// than any true concurrency, as in the tool that defines it.
func (rs *records) crowd(origin sim.Time) int {
	bucket := func(ns int64) float64 { return float64(max(ns-int64(origin), 0) / int64(second)) }
	starts := rs.column(nil, func(r *record) (float64, bool) { return bucket(r.arrival), true })
	ends := rs.column(nil, func(r *record) (float64, bool) { return bucket(r.arrival + r.e2el), true })
	sortFloats(starts)
	sortFloats(ends)
	best, gone := 0, 0
	for i, s := range starts {
		for ends[gone] < s {
			gone++
		}
		best = max(best, i+1-gone)
	}
	return best
}
