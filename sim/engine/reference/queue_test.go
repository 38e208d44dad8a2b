package reference_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine/reference"
	"github.com/servesim/servesim/sim/workload"
)

// One seat, one token per answer and a constant step make the engine an M/D/1 queue.
func TestOneSeatWorksWheneverSomebodyWaits(t *testing.T) {
	const service = 10 * ms
	for _, rho := range []float64{0.5, 0.8} {
		chance := rand.New(rand.NewPCG(1, uint64(100*rho)))
		var reqs []*workload.Request
		at := time.Duration(0)
		for i := range 20000 {
			at += time.Duration(chance.ExpFloat64() / rho * float64(service))
			reqs = append(reqs, ask(i, at, 32, 1))
		}
		log := machine{seats: 1, change: func(c *reference.Config) { c.Check = false }}.run(t, reqs...)

		free, waited := sim.Time(0), 0.0
		for i, k := range log.Tokens {
			start := max(free, reqs[i].Arrival) // Lindley: nobody waits for a server that is free
			free = start.Add(service)
			if k.Request != i || k.At != free {
				t.Fatalf("ρ = %v: token %d is request %d's at %v, want its own at %v", rho, i, k.Request, k.At, free)
			}
			waited += start.Sub(reqs[i].Arrival).Seconds()
		}
		mean := waited / float64(len(reqs))
		want := rho * service.Seconds() / (2 * (1 - rho)) // Pollaczek–Khinchine
		if math.Abs(mean-want) > 0.05*want {
			t.Errorf("ρ = %v: mean wait %v s, want %v s within 5 %%", rho, mean, want)
		}
	}
}
