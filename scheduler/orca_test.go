package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/scheduler"
)

// The paper's point against static batching: who has finished leaves at once, who waits joins at once, prompt and decodes in
// one iteration.
func TestOrcaLetsSequencesJoinAndLeaveInEveryIteration(t *testing.T) {
	w := under(t, "orca", 30, scheduler.Settings{}, nil) // ten blocks for each of three
	w.ask(100, 2, 61)
	w.ask(100, 4, 61)
	w.ask(100, 2, 61)
	w.ask(100, 2, 61)
	w.expect("0: 100@0+!  1: 100@0+!  2: 100@0+!", "0: 1@100!  1: 1@100!  2: 1@100!", "1: 1@101!  3: 100@0+!", "1: 1@102!  3: 1@100!", "empty")
}

// Its price beside chunked prefill: a prompt is never cut, and whoever decodes waits for all of it.
func TestOrcaTakesALongPromptWholeWhereChunkedCutsIt(t *testing.T) {
	w, c := under(t, "orca", 2000, scheduler.Settings{}, nil), chunked(t, 2000, nil)
	for _, x := range []*world{w, c} {
		x.add(100, 10)
		x.step()
		x.add(8000, 2)
		x.add(4000, 2)
	}
	w.expect("0: 1@100!  1: 8000@0+!  2: 4000@0+!")
	c.expect("0: 1@100!  1: 8000@0+!  2: 191@0+")
}

// Memory is taken for max_tokens at once, in one piece, and nobody behind the head of the line may take what it leaves.
func TestOrcaHoldsItsReservationAndKeepsTheOrder(t *testing.T) {
	w := under(t, "orca", 20, scheduler.Settings{}, nil)
	w.ask(100, 3, 100) // 199 tokens, 13 blocks
	w.ask(100, 3, 100) // does not fit beside it
	w.ask(10, 3, 10)   // would
	w.step()
	if u := w.pool.Usage(); u.Held != 13 {
		t.Errorf("%d blocks are held, want 13", u.Held)
	}
	w.expect("0: 1@100!", "0: 1@101!", "1: 100@0+!  2: 10@0+!")
}

func TestOrcaSharesNoPrefixes(t *testing.T) {
	w := under(t, "orca", 100, scheduler.Settings{}, withCaching)
	for range 3 {
		w.send(shared(), 2, 0)
		w.finish()
	}
	if c := w.sched.Counters(); c.PrefixQueries != 0 || c.PrefixHits != 0 {
		t.Errorf("%+v", c)
	}
}
