package workload

import (
	"math"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
)

func TestRescaledArrivalsEndExactlyAtRequestsOverRate(t *testing.T) {
	for _, c := range []struct {
		n    int
		rate float64
		a    Arrivals
		end  sim.Time
	}{
		{1000, 10, Poisson{Rescale: true}, 100e9},
		{1000, 10, Gamma{Burstiness: 0.25, Rescale: true}, 100e9},
		{1000, 10, Gamma{Burstiness: math.Inf(1), Rescale: true}, 100e9},
		{1000, 10, Constant{}, 100e9},
		{7, 3, Poisson{Rescale: true}, 2333333333},
		{1, 1e9, Poisson{Rescale: true}, 1},
	} {
		s := basic()
		s.Requests, s.Rate, s.Arrivals = c.n, c.rate, c.a
		seen := play(t, s)
		if got := seen[len(seen)-1].Arrival; got != c.end {
			t.Errorf("%d at %v by %#v: last arrival at %v, want %v", c.n, c.rate, c.a, got, c.end)
		}
		if c.n > 1 && seen[0].Arrival == 0 {
			t.Errorf("%#v: the first request must be delayed too", c.a)
		}
	}
}

func TestPlainPoissonDoesNotEndOnTheDot(t *testing.T) {
	s := basic()
	s.Arrivals = Poisson{}
	seen := play(t, s)
	end := seen[len(seen)-1].Arrival.Seconds()
	// The last of N arrivals has the mean N/rate = 100 s and the deviation √N/rate = 3.2 s.
	if end == 100 || math.Abs(end-100) > 4*3.2 {
		t.Errorf("last arrival at %v s", end)
	}
}

func TestGapsHaveTheMeanAndVariationOfTheirLaw(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		a  Arrivals
		cv float64
	}{
		{Poisson{}, 1},
		{Gamma{Burstiness: 1}, 1},
		{Gamma{Burstiness: 0.25}, 2},
		{Gamma{Burstiness: 0.1}, math.Sqrt(10)},
		{Gamma{Burstiness: 4}, 0.5},
		{Gamma{Burstiness: math.Inf(1)}, 0},
		{Constant{}, 0},
	} {
		s := Spec{Requests: n, Rate: 20, Arrivals: c.a}
		clock := s.clock(streams(7))
		var sum, squares float64
		last := sim.Time(0)
		for range n {
			now := clock.next()
			gap := now.Sub(last).Seconds()
			last = now
			sum, squares = sum+gap, squares+gap*gap
		}
		mean := sum / n
		cv := math.Sqrt(max(squares/n-mean*mean, 0)) / mean
		if tolerance := 4*c.cv*0.05/math.Sqrt(n) + 1e-9; math.Abs(mean-0.05) > tolerance {
			t.Errorf("%#v: mean gap %v, want 0.05 ± %v", c.a, mean, tolerance)
		}
		if math.Abs(cv-c.cv) > 0.03*c.cv+1e-6 {
			t.Errorf("%#v: coefficient of variation %v, want %v", c.a, cv, c.cv)
		}
	}
}

func TestConstantArrivalsFillADurationExactly(t *testing.T) {
	s := basic()
	s.Requests, s.Duration, s.Arrivals = 0, 60*time.Second, Constant{}
	for rate, want := range map[float64]int{5: 300, 10: 600, 0.3: 18, 150: 9000} { // order does not matter: independent cases
		s.Rate = rate
		if got := len(play(t, s)); got != want {
			t.Errorf("rate %v for 60 s: %d requests, want %d", rate, got, want)
		}
	}
}

func TestADurationBoundsAnOpenEndedWorkload(t *testing.T) {
	s := basic()
	s.Requests, s.Duration = 0, 100*time.Second
	seen := play(t, s)
	if n := float64(len(seen)); math.Abs(n-1000) > 4*math.Sqrt(1000) {
		t.Errorf("%v requests in 100 s at 10 per second", n)
	}
	if last := seen[len(seen)-1].Arrival; last > 100e9 {
		t.Errorf("last arrival at %v", last)
	}
}

func TestABurstArrivesAtZeroInOrder(t *testing.T) {
	s := basic()
	s.Requests, s.Rate, s.Arrivals = 500, 0, Burst{}
	for i, r := range play(t, s) {
		if r.Arrival != 0 || r.ID != int64(i) {
			t.Fatalf("request %d: ID %d at %v", i, r.ID, r.Arrival)
		}
	}
}

func TestExtremeRatesNeitherHangNorOverflow(t *testing.T) {
	for _, rate := range []float64{1e9, 1e-6} {
		for _, a := range []Arrivals{Poisson{}, Gamma{Burstiness: 1e-3, Rescale: true}, Constant{}} {
			s := basic()
			s.Requests, s.Rate, s.Arrivals = 100, rate, a
			last := sim.Time(0)
			for _, r := range play(t, s) {
				if r.Arrival < last {
					t.Fatalf("%#v at %v: time runs backwards", a, rate)
				}
				last = r.Arrival
			}
		}
	}
}
