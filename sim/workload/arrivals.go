package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servesim/servesim/sim"
)

// Arrivals says when requests arrive: [Poisson], [Gamma], [Constant], [Burst] or [Closed].
type Arrivals interface{ arrivals() }

// Poisson is a Poisson process: exponential gaps. Its first request, too, arrives after a gap.
type Poisson struct {
	// Rescale stretches the times of a workload of N requests so that the last arrives at exactly N/rate, as
	// vllm bench serve does. It has no effect on one without a number of requests.
	Rescale bool
}

// Gamma has gamma-distributed gaps as vllm bench serve draws them: shape = Burstiness, scale = 1/(rate·Burstiness), so
// that the mean is 1/rate and the coefficient of variation 1/√Burstiness. Below 1 arrivals come in bursts, at 1 they
// are a Poisson process, above they grow even; at +Inf they are Constant.
type Gamma struct {
	Burstiness float64
	Rescale    bool // as in Poisson
}

// Constant has gaps of exactly 1/rate; the first request arrives after one.
type Constant struct{}

// Burst lets all requests arrive at once, at instant zero: an infinite rate.
type Burst struct{}

// Closed has clients that send, wait for the answer, think, and send again. All send first at instant zero.
type Closed struct {
	Clients int
	Think   time.Duration
}

func (Poisson) arrivals()  {}
func (Gamma) arrivals()    {}
func (Constant) arrivals() {}
func (Burst) arrivals()    {}
func (Closed) arrivals()   {}

const (
	maxRate       = 1e9  // requests per second: one a nanosecond, the resolution of time
	maxSpan       = 1e9  // seconds that arrivals may take on average: 31 years
	minBurstiness = 1e-3 // a coefficient of variation of 32
)

func (s *Spec) checkArrivals(c *faults) {
	switch a := s.Arrivals.(type) {
	case Poisson, Constant:
		s.checkRate(c, s.Requests)
	case Gamma:
		s.checkRate(c, s.Requests)
		if !(a.Burstiness >= minBurstiness) {
			c.add("arrivals.burstiness", "must be at least %v, got %v", minBurstiness, a.Burstiness)
		}
	case Burst:
		if s.Requests == 0 && s.MaxConcurrency == 0 {
			c.add("requests", "must be given when all arrive at once: a duration does not bound them")
		}
	case Closed:
		if a.Clients < 1 || a.Clients > math.MaxInt32 {
			c.add("arrivals.clients", "must be at least 1, got %d", a.Clients)
		}
		if a.Think < 0 {
			c.add("arrivals.think", "must not be negative, got %v", a.Think)
		}
	default:
		c.add("arrivals", "must be given: Poisson, Gamma, Constant, Burst or Closed")
	}
}

// checkRate checks the rate at which n requests are to arrive; n is 0 if nobody knows how many.
func (s *Spec) checkRate(c *faults, n int) {
	switch {
	case math.IsInf(s.Rate, 1):
		c.add("rate", "must be finite for this arrival process: for all requests at once let them arrive as a burst")
	case !positive(s.Rate):
		c.add("rate", "must be positive, got %v", s.Rate)
	case s.Rate > maxRate:
		c.add("rate", "must be at most %v requests per second, got %v", float64(maxRate), s.Rate)
	case float64(max(n, 1))/s.Rate > maxSpan:
		c.add("rate", "must be at least %.3g for %d requests to arrive within 31 years, got %v",
			float64(max(n, 1))/maxSpan, max(n, 1), s.Rate)
	}
}

// positive refuses NaN and infinities with everything else that is not a positive number.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// A clock tells the arrival times of one request after the other.
type clock interface{ next() sim.Time }

// A timetable reads times off a clock, many at once: see ahead.
type timetable struct {
	clock clock
	told  uint
	times [ahead]sim.Time
}

func (t *timetable) next() sim.Time {
	i := t.told % ahead
	if i == 0 {
		t.refill()
	}
	t.told++
	return t.times[i]
}

// refill reads the next times.
func (t *timetable) refill() {
	for i := range t.times {
		t.times[i] = t.clock.next()
	}
}

// clock returns a fresh clock; those of one Spec and seed all tell the same times.
func (s *Spec) clock(stream func(string) rand.Source) clock {
	rate := s.openings()
	switch a := s.Arrivals.(type) {
	case Poisson:
		return s.renewal(a.Rescale, func() variate {
			return distuv.Exponential{Rate: rate, Src: stream("arrivals")}
		})
	case Gamma:
		if math.IsInf(a.Burstiness, 1) {
			return &ticks{rate: rate}
		}
		return s.renewal(a.Rescale, func() variate {
			return distuv.Gamma{Alpha: a.Burstiness, Beta: rate * a.Burstiness, Src: stream("arrivals")}
		})
	case Constant:
		return &ticks{rate: rate}
	}
	return instant{}
}

// instant is the clock of a burst. In a closed loop the clients themselves say when.
type instant struct{}

func (instant) next() sim.Time { return 0 }

// ticks tells i/rate for i = 1, 2, …, without summing errors of rounding.
type ticks struct{ i, rate float64 }

func (t *ticks) next() sim.Time {
	t.i++
	return at(t.i / t.rate)
}

// renewal sums independent gaps.
type renewal struct {
	gap        variate
	sum, scale float64  // seconds; virtual time per drawn time
	left       int      // until the last request of a rescaled workload
	end        sim.Time // when that one arrives
}

// renewal draws a rescaled workload's gaps twice, once to sum them, instead of keeping them.
func (s *Spec) renewal(rescale bool, gaps func() variate) *renewal {
	r := &renewal{gap: gaps(), scale: 1, end: sim.Never}
	if !rescale || s.Requests == 0 {
		return r
	}
	first, sum := gaps(), 0.0
	for range s.Requests {
		sum += first.Rand()
	}
	if sum > 0 { // else all gaps are too short for a float64, and scaling cannot help
		end := float64(s.Requests) / s.Rate
		r.scale, r.left, r.end = end/sum, s.Requests, at(end)
	}
	return r
}

func (r *renewal) next() sim.Time {
	r.sum += r.gap.Rand()
	if r.left--; r.left == 0 {
		return r.end
	}
	return min(at(r.sum*r.scale), r.end)
}

// at is the instant `seconds` after zero.
func at(seconds float64) sim.Time { return sim.Time(sim.Seconds(seconds)) }
