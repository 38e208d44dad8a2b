package engine_test

import (
	"math"
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

func TestPredictorsKnowWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		r                workload.Request
		oracle, byPrompt int32
	}{
		{workload.Request{Tokens: 100, Output: 30}, 30, 100},
		{workload.Request{Tokens: 100, Output: 30, MaxTokens: 50}, 30, 50},
		{workload.Request{Tokens: 20, Output: 80, MaxTokens: 50}, 50, 20},
	} {
		if o, p := engine.Oracle(&c.r), engine.ByPrompt(&c.r); o != c.oracle || p != c.byPrompt {
			t.Errorf("%+v: %d and %d, want %d and %d", c.r, o, p, c.oracle, c.byPrompt)
		}
	}
}

func TestANoisyPredictorErrsAsMuchAsItSays(t *testing.T) {
	const n, sigma, truth = 20_000, 0.5, 100_000
	predict := engine.Noisy(sigma, sim.New(1).Rand("predictor"))
	var sum, squares float64
	for i := range n {
		e := math.Log(float64(predict(&workload.Request{ID: int64(i), Output: truth})) / truth)
		sum += e
		squares += e * e
	}
	mean := sum / n
	if std := math.Sqrt(squares/n - mean*mean); math.Abs(mean) > 0.02 || math.Abs(std-sigma) > 0.02 {
		t.Errorf("errors have mean %.3f and standard deviation %.3f, want 0 and %v", mean, std, sigma)
	}
}

// Policies may send requests in another order, and some ask twice: a request's error is its own.
func TestTheErrorBelongsToTheRequest(t *testing.T) {
	one, other := engine.Noisy(1, sim.New(7).Rand("predictor")), engine.Noisy(1, sim.New(7).Rand("predictor"))
	var there, back []int32
	for i := range 100 {
		there = append(there, one(&workload.Request{ID: int64(i), Output: 500}))
	}
	for i := range 100 {
		back = append(back, other(&workload.Request{ID: int64(99 - i), Output: 500}))
	}
	for i := range there {
		if there[i] != back[99-i] {
			t.Fatalf("request %d: %d, and %d when asked in another order", i, there[i], back[99-i])
		}
	}
}

func TestThePredictionReachesTheScheduler(t *testing.T) {
	k, g := sim.New(1), &greedy{async: true}
	var guess, client, class int32
	e := engine.New(k, engine.Config{
		Scheduler: g, Cost: metronome{Device: 1}, InFlight: 2, Async: true,
		Predict: func(r *workload.Request) int32 { return r.Output + 5 },
		Hooks: engine.Hooks{Admitted: func(_ sim.Time, l *engine.Life) {
			guess, client, class = l.Seq.Guess, l.Seq.Client, l.Seq.Class
		}},
	})
	k.At(0, sim.Arrive, func() {
		e.Submit(&workload.Request{Tokens: 3, Output: 2, Client: 4, Class: 6, Answer: 1}, nil)
	})
	if err := k.Run(t.Context(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if guess != 7 || client != 4 || class != 6 {
		t.Errorf("guess %d, client %d, class %d", guess, client, class)
	}
}
