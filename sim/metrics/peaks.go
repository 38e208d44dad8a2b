package metrics

import (
	"slices"

	"github.com/servesim/servesim/sim"
)

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
	var changes []int32 // from one second to the next
	for _, c := range rs.chunks {
		for i, at := range c.arrival[:c.n] {
			from, past := touched(at, int64(c.e2el[i]), origin)
			if past >= int64(len(changes)) {
				if past > 8*int64(rs.n)+chunkLen {
					return rs.sparseCrowd(origin)
				}
				changes = append(changes, make([]int32, past+1-int64(len(changes)))...)
			}
			changes[from]++
			changes[past]--
		}
	}
	best, now := 0, 0
	for _, c := range changes {
		now += int(c)
		best = max(best, now)
	}
	return best
}

// sparseCrowd is crowd where requests are too few for a number per second: it goes through their comings and goings.
func (rs *records) sparseCrowd(origin sim.Time) int {
	changes := make([]int64, 0, 2*rs.n) // seconds, doubled: who comes counts one more, to stand behind those that go
	for _, c := range rs.chunks {
		for i, at := range c.arrival[:c.n] {
			from, past := touched(at, int64(c.e2el[i]), origin)
			changes = append(changes, 2*from+1, 2*past)
		}
	}
	slices.Sort(changes)
	best, now := 0, 0
	for _, c := range changes {
		now += int(c&1)*2 - 1
		best = max(best, now)
	}
	return best
}

// touched returns the first second that a request touches, and the first after it.
func touched(arrival, e2el int64, origin sim.Time) (from, past int64) {
	since := arrival - int64(origin)
	return max(since, 0) / int64(second), max(since+e2el, 0)/int64(second) + 1
}
