package metrics

import (
	"time"

	"github.com/servesim/servesim/sim"
)

// A census measures both sides of Little's law L = λW (J. D. C. Little, 1961) at one engine: the area under the number
// of requests in the system, step by step as they come and go; and, apart from it, how many went and how long each had
// stayed.
type census struct {
	present int
	area    float64 // request-nanoseconds
	since   sim.Time
	gone    int
	stays   time.Duration
}

// enter counts a request in.
func (c *census) enter(now sim.Time) {
	c.advance(now)
	c.present++
}

// leave counts a request out that came at instant came.
func (c *census) leave(now, came sim.Time) {
	c.advance(now)
	c.present--
	c.gone++
	c.stays += now.Sub(came)
}

func (c *census) advance(now sim.Time) {
	c.area += float64(c.present) * float64(now-c.since)
	c.since = now
}

// little adds up the censuses of all engines at the end of the run.
func little(cs []*census, end sim.Time) Little {
	var area, gone, stays float64
	for _, c := range cs {
		area += c.area + float64(c.present)*float64(max(end-c.since, 0))
		gone += float64(c.gone)
		stays += float64(c.stays)
	}
	return Little{L: ratio(area, float64(end)), Lambda: ratio(gone, end.Seconds()), W: ratio(stays, gone) / 1e9}
}
