package metrics

import (
	"maps"
	"slices"

	"github.com/servesim/servesim/sim"
)

// second is the width of the buckets in which `vllm bench serve` looks for peaks.
const second sim.Time = 1e9

// A tally counts tokens in consecutive seconds; seconds without any take no room.
type tally struct {
	seconds []tallied // the newest of them is still being counted
	until   sim.Time  // its end
	tokens  int       // in it
}

type tallied struct{ second, tokens uint32 }

// add counts n tokens at instant t; origin is where the first second begins. Instants come in order.
func (y *tally) add(t, origin sim.Time, n int) {
	if t >= y.until {
		y.begin(t, origin)
	}
	y.tokens += n
}

// begin turns to the second of an instant.
func (y *tally) begin(t, origin sim.Time) {
	y.close()
	s := max(t-origin, 0) / second
	y.seconds = append(y.seconds, tallied{second: uint32(s)})
	y.until, y.tokens = origin+(s+1)*second, 0
}

// close files what has been counted in the newest second so far.
func (y *tally) close() {
	if n := len(y.seconds); n > 0 {
		y.seconds[n-1].tokens = uint32(y.tokens)
	}
}

// busiest returns the most tokens that all tallies together count in one second.
func busiest(ys []*tally) int {
	at := make([]int, len(ys))
	best := 0
	for _, y := range ys {
		y.close()
	}
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

// A crowd counts the completed requests that touch each second. Short requests make it larger than any true concurrency, as
// in the tool that defines it.
type crowd struct {
	n       int
	changes []int32         // from one second to the next …
	far     map[int64]int32 // … and where requests are too few for a number per second
}

// add counts a request in, given when it came and went since the first second began.
func (c *crowd) add(came, went sim.Time) {
	from, past := uint64(max(came, 0))/uint64(second), uint64(max(went, 0))/uint64(second)+1
	c.n++
	if past >= uint64(len(c.changes)) && !c.reach(int64(past)) {
		c.change(int64(from), 1)
		c.change(int64(past), -1)
		return
	}
	c.changes[from]++
	c.changes[past]--
}

// reach makes room for a number per second up to a second, unless those would be many more than requests.
func (c *crowd) reach(s int64) bool {
	if s > 8*int64(c.n)+chunkLen {
		return false
	}
	const ahead = 64
	c.changes = append(c.changes, make([]int32, s+ahead-int64(len(c.changes)))...)
	return true
}

// change notes a change, however far away.
func (c *crowd) change(s int64, by int32) {
	if s < int64(len(c.changes)) {
		c.changes[s] += by
		return
	}
	if c.far == nil {
		c.far = make(map[int64]int32)
	}
	c.far[s] += by
}

// largest returns the most requests that touch one second.
func (c *crowd) largest() int {
	best, now := 0, 0
	far := slices.Sorted(maps.Keys(c.far))
	for s, change := range c.changes {
		now += int(change)
		if len(far) > 0 && far[0] == int64(s) { // it was far away once
			now += int(c.far[far[0]])
			far = far[1:]
		}
		best = max(best, now)
	}
	for _, s := range far {
		now += int(c.far[s])
		best = max(best, now)
	}
	return best
}
