package sim

import (
	"fmt"
	"math"
	"time"
)

// Time is an instant of virtual time: nanoseconds since the run began. Spans are time.Duration.
type Time int64

// Never is an instant that no run reaches.
const Never Time = math.MaxInt64

// Add returns the instant d after t; it saturates at Never.
func (t Time) Add(d time.Duration) Time {
	u := t + Time(d)
	if u < t && d > 0 { // it has wrapped around
		return Never
	}
	return u
}

// Sub returns the span from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// String prints t in seconds with every nanosecond, e.g. "12.000000345s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return fmt.Sprintf("%d.%09ds", int64(t)/1e9, int64(t)%1e9)
}

// Seconds turns a number of seconds into a span, rounding to the nearest nanosecond. It is the one place
// where the floating-point draws of a workload become virtual time. Spans beyond what a Duration holds,
// infinities included, become the longest Duration; NaN panics, since it can only be a bug upstream.
func Seconds(s float64) time.Duration {
	ns := math.Round(s * 1e9)
	switch {
	case math.IsNaN(ns):
		panic("sim.Seconds: NaN is not a span of time")
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}
