package engine_test

import (
	"testing"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Three answers of four tokens, a step each 10 ns, and 6 ns for a chunk: one process needs 18 ns for what a step makes and
// falls behind by 8 with each; two need 9 and keep up.
func TestAnAPIProcessThatIsTooSlowFallsBehindStepByStep(t *testing.T) {
	for _, c := range []struct {
		servers     int
		first, last sim.Time
	}{
		{0, 10 + 18, 10 + 4*18},
		{2, 10 + 9, 40 + 9},
		{3, 10 + 6, 40 + 6},
	} {
		b := newBench(engine.Config{Frontend: engine.Frontend{PerChunk: 6, Servers: c.servers}})
		for range 3 {
			b.send(0, workload.Request{Tokens: 8, Output: 4})
		}
		b.run(t)
		for _, l := range b.lives {
			if l.First != c.first || l.Last != c.last || l.Outcome.At != c.last {
				t.Errorf("%d processes: first %d, last %d, outcome at %d; want %d and %d", c.servers, l.First, l.Last, l.Outcome.At, c.first, c.last)
			}
		}
		if b.gaps != 3*c.last.Sub(c.first) {
			t.Errorf("%d processes: gaps add up to %d, want %d", c.servers, b.gaps, 3*c.last.Sub(c.first))
		}
	}
}

func TestABacklogOfChunksIsWorkedOffWhenTheLoadGoes(t *testing.T) {
	b := newBench(engine.Config{Frontend: engine.Frontend{PerChunk: 6}})
	for range 3 {
		b.send(0, workload.Request{Tokens: 8, Output: 4})
	}
	b.send(45, workload.Request{Tokens: 8, Output: 5}) // alone, as the last chunk of the others is written at 82
	b.run(t)
	// Its steps end at 55, 65, …, 95: the first four of its chunks are written in one go, the fifth when it is made.
	if l := b.lives[3]; l.First != 82+6 || l.Last != 82+5*6 {
		t.Errorf("first %d, last %d, want 88 and 112", l.First, l.Last)
	}
}

func TestTheFirstTokenAndTheLastAreSentWhateverTheInterval(t *testing.T) {
	for _, c := range []struct {
		interval, chunks int
		gaps             string
	}{
		{0, 8, "10 10 10 10 10 10 10"},
		{3, 4, "30 30 10"}, // tokens 1, 4, 7 and 8
		{7, 2, "70"},       // 1 and 8
		{100, 2, "70"},
	} {
		b := newBench(engine.Config{Frontend: engine.Frontend{Interval: c.interval}})
		b.send(0, workload.Request{Tokens: 8, Output: 8})
		b.run(t)
		l := b.lives[0]
		if b.tokens != c.chunks || l.First != 10 || l.Last != 80 || l.Emitted != 8 || b.gaps != 70 {
			t.Errorf("interval %d: %d chunks from %d to %d, %d tokens; want %d chunks, gaps %s",
				c.interval, b.tokens, l.First, l.Last, l.Emitted, c.chunks, c.gaps)
		}
	}
}

// Six answers of 31 tokens make 6 chunks a step, which take 30 ns where a step takes 10. With three tokens in a chunk the
// process just keeps up.
func TestLargerChunksRelieveTheAPIProcess(t *testing.T) {
	for interval, want := range map[int]sim.Time{1: 10 + 30*30 + 30, 3: 310 + 2*5} { // order does not matter: separate runs
		b := newBench(engine.Config{Frontend: engine.Frontend{PerChunk: 5, Interval: interval}})
		for range 6 {
			b.send(0, workload.Request{Tokens: 8, Output: 31})
		}
		b.run(t)
		if l := b.lives[5]; l.Last != want {
			t.Errorf("interval %d: last token at %d, want %d", interval, l.Last, want)
		}
	}
}

func TestRequestsWaitForEachOtherAtTheAPIProcess(t *testing.T) {
	b := newBench(engine.Config{Frontend: engine.Frontend{PerRequest: 5, PerToken: 1, Ingress: 7}})
	b.send(0, workload.Request{Tokens: 8, Output: 1})
	b.send(2, workload.Request{Tokens: 8, Output: 1})
	b.run(t)
	if a, c := b.lives[0].Queued, b.lives[1].Queued; a != 13+7 || c != 26+7 {
		t.Errorf("queued at %d and %d, want 20 and 33", a, c)
	}
}

// The engine is done at 30, but the last chunk is there at 85.
func TestAnAnswerThatComesAfterItsClientHasGoneIsAborted(t *testing.T) {
	for timeout, want := range map[sim.Time]workload.Outcome{ // order does not matter: separate runs
		84: {Status: workload.Aborted, At: 84},
		85: {Status: workload.Completed, At: 85},
	} {
		b := newBench(engine.Config{Frontend: engine.Frontend{PerChunk: 25}})
		b.send(0, workload.Request{Tokens: 8, Output: 3, Timeout: timeout.Sub(0)})
		b.run(t)
		if o := b.lives[0].Outcome; o != want {
			t.Errorf("timeout %d: %+v, want %+v", timeout, o, want)
		}
	}
}
