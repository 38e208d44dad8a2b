package scenarios

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/servesim/servesim/sim/engine"
)

// oneSeat is a server with one seat and a constant service: prompts of one length, answers of one token, synchronous.
const oneSeat = `
engine: {max_num_seqs: 1, async_scheduling: false, enable_prefix_caching: false, max_model_len: 4096}
frontend: {api_servers: 64} # so that no prompt waits to be tokenised
workload: {arrivals: poisson, prompt: 1000, output: 1}
`

// serviceTime returns how long the seat is taken by one request.
func serviceTime(t *testing.T) time.Duration {
	var service time.Duration
	mustRun(t, mustBuild(t, oneSeat, "workload.requests=1"), Options{Step: func(r *engine.Ran) { service = r.End.Sub(r.Start) }})
	if service <= 0 {
		t.Fatal("no step ran")
	}
	return service
}

// waits returns the mean wait before service, in seconds.
func waits(t *testing.T, load float64, requests, seed int, service time.Duration) float64 {
	rate := strconv.FormatFloat(load/service.Seconds(), 'g', -1, 64)
	r := mustRun(t, mustBuild(t, oneSeat, "workload.rate="+rate, "workload.requests="+strconv.Itoa(requests), "seed="+strconv.Itoa(seed)), Options{})
	if r.Requests.Completed != requests {
		t.Fatalf("%+v", r.Requests)
	}
	if l := r.Concurrency; math.Abs(l.L-l.Lambda*l.W) > 1e-9*l.L {
		t.Errorf("Little's law does not hold: L = %v, λW = %v", l.L, l.Lambda*l.W)
	}
	return r.Latency.Queue.Mean / 1e3
}

// TestWaitsAreThoseOfAnMD1Queue holds the engine to the formula of Pollaczek and Khinchine for a constant service time:
//
//	Wq = ρ·S / (2·(1−ρ))
func TestWaitsAreThoseOfAnMD1Queue(t *testing.T) {
	long(t)
	service := serviceTime(t)
	formula := func(load float64) float64 { return load * service.Seconds() / (2 * (1 - load)) }
	for _, c := range []struct {
		load     float64
		requests int
	}{{0.5, 200_000}, {0.8, 800_000}} {
		got, want := waits(t, c.load, c.requests, 1, service), formula(c.load)
		if math.Abs(got/want-1) > 0.02 {
			t.Errorf("ρ = %v: waits of %.4f ms, want %.4f ms within 2 %%", c.load, got*1e3, want*1e3)
		}
	}
}

func TestWaitsNearSaturationLieWithinTheirOwnConfidenceInterval(t *testing.T) {
	long(t)
	const runs, requests, load = 16, 50_000, 0.95
	service := serviceTime(t)
	var sum, squares float64
	for seed := range runs {
		w := waits(t, load, requests, seed+1, service)
		sum += w
		squares += w * w
	}
	mean := sum / runs
	deviation := math.Sqrt((squares - sum*mean) / (runs - 1))
	half := 2.947 * deviation / math.Sqrt(runs) // Student's t, 99 %, 15 degrees of freedom
	want := load * service.Seconds() / (2 * (1 - load))
	if math.Abs(mean-want) > half || half > 0.2*want {
		t.Errorf("waits of %.3f ± %.3f ms do not cover %.3f ms", mean*1e3, half*1e3, want*1e3)
	}
}
