package scheduler_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// perToken prices a step at a nanosecond a token.
type perToken struct{}

func (perToken) Cost(s hardware.Step) hardware.Cost {
	return hardware.Cost{Device: time.Duration(s.Tokens)}
}

// byClient gives the clients time to first token of 100, 200, … ns, and 10 ns for every further one.
func byClient(s *scheduler.Seq) scheduler.Targets {
	return scheduler.Targets{TTFT: time.Duration(100 * (s.Client + 1)), TPOT: 10}
}

// anyOrder draws an order, with settings; nil: that of Limits.
func anyOrder(t *rapid.T) scheduler.Order {
	name := rapid.SampledFrom([]string{"", "priority", "sjf", "srpt", "mlfq", "fair", "edf", "slo", "paced", "lcfs"}).Draw(t, "order")
	switch name {
	case "priority":
		return scheduler.Priority()
	case "sjf":
		return scheduler.SJF()
	case "srpt":
		return scheduler.SRPT()
	case "mlfq":
		return scheduler.MLFQ(perToken{}, scheduler.Levels{
			Quantum: time.Duration(rapid.IntRange(0, 8).Draw(t, "quantum")), Starvation: time.Duration(rapid.IntRange(0, 20).Draw(t, "starvation")),
		})
	case "fair":
		return scheduler.Fair(1, 2)
	case "edf":
		return scheduler.EDF(byClient)
	case "slo":
		return scheduler.SLO(perToken{}, byClient)
	case "paced":
		return scheduler.Paced(perToken{}, byClient)
	case "lcfs":
		return scheduler.LCFS()
	}
	return nil
}

// ordered returns a world with so many seats under vLLM's V1 scheduler, whose line is kept by o.
func ordered(t tester, seats int, o scheduler.Order) *world {
	return chunked(t, 100, func(l *scheduler.Limits, c *kvcache.Config) {
		l.MaxNumSeqs, l.Order, c.PrefixCaching = seats, o, true
	})
}

func TestFirstComeFirstServedLetsALongAnswerBlockTheSeat(t *testing.T) {
	w := ordered(t, 1, scheduler.FCFS())
	w.add(10, 2)
	w.expect("0: 10@0+!")
	w.add(20, 3)
	w.add(30, 1)
	w.expect("0: 1@10!", "1: 20@0+!", "1: 1@20!", "1: 1@21!", "2: 30@0+!", "empty")
}

func TestTheShortestJobIsNextButTakesNoSeat(t *testing.T) {
	w := ordered(t, 1, scheduler.SJF())
	w.add(10, 2)
	w.expect("0: 10@0+!")
	w.add(20, 3)
	w.add(30, 1)
	w.expect("0: 1@10!", "2: 30@0+!", "1: 20@0+!", "1: 1@20!", "1: 1@21!", "empty")
}

func TestTheShortestRemainingTimeTakesTheSeat(t *testing.T) {
	w := ordered(t, 1, scheduler.SRPT())
	w.add(20, 5)
	w.expect("0: 20@0+!", "0: 1@20!") // 3 to come
	w.add(30, 3)
	w.expect("0: 1@21!") // 3 are not fewer
	w.add(40, 1)
	w.expect("-0  2: 40@0+!", "0: 7@16+!", "0: 1@23!", "1: 30@0+!") // one block of it was found again
	w.finish()
}

func TestNobodyIsOustedBeforeItHasGotAToken(t *testing.T) {
	w := chunked(t, 100, func(l *scheduler.Limits, _ *kvcache.Config) {
		l.MaxNumSeqs, l.Order, l.MaxNumBatchedTokens = 1, scheduler.SRPT(), 10
	})
	w.add(30, 9)
	w.expect("0: 10@0+")
	w.add(10, 1)
	w.expect("0: 10@10", "0: 10@20!", "-0  1: 10@0+!", "0: 10@0+")
	w.finish()
}

func TestNobodyIsOustedInVain(t *testing.T) {
	w := chunked(t, 10, func(l *scheduler.Limits, _ *kvcache.Config) { l.Order = scheduler.SRPT() })
	w.add(60, 50)
	w.add(60, 3)
	w.expect("1: 60@0+!  0: 60@0+!")
	w.add(120, 2)                                        // needs 8 blocks, and only the 4 of the first would be given up for it, on top of 2 that are free
	w.expect("1: 1@60!  0: 1@60!", "1: 1@61!  0: 1@61!") // the second ends
	w.expect("-0  2: 120@0+!")
	w.finish()
}

// With quanta of 4, 8, 16 … ns and a step of 1 ns: a prompt of 10 tokens joins the third level.
func TestFeedbackQueuesSkipSinkAndPreempt(t *testing.T) {
	w := ordered(t, 1, scheduler.MLFQ(perToken{}, scheduler.Levels{Quantum: 4}))
	w.add(10, 30) // third level: 10 ns do not fit 8
	w.expect("0: 10@0+!", "0: 1@10!")
	w.add(3, 6) // first level
	w.expect("-0  1: 3@0+!", "1: 1@3!", "1: 1@4!")
	w.add(5, 1) // second level: the first is not disturbed …
	w.expect("1: 1@5!")
	w.add(4, 1)                                                              // … while it is on the first. That one is as good, and has not run yet, but takes no seat from its level
	w.expect("-1  3: 4@0+!", "2: 5@0+!", "1: 7@0+!", "1: 1@7!", "0: 12@0+!") // the quantum is used up after four steps
	w.finish()
}

func TestTheStarvingReturnToTheFirstLevel(t *testing.T) {
	for _, c := range []struct {
		starvation time.Duration
		want       string
	}{{0, "3: 3@0+!"}, {8, "0: 11@0+!"}} {
		w := ordered(t, 1, scheduler.MLFQ(perToken{}, scheduler.Levels{Quantum: 4, Starvation: c.starvation}))
		w.add(10, 30)
		w.expect("0: 10@0+!")
		for range 3 {
			w.add(3, 4)
		}
		w.expect("-0  1: 3@0+!", "1: 1@3!", "1: 1@4!", "1: 1@5!", "2: 3@0+!", "2: 1@3!", "2: 1@4!", "2: 1@5!")
		w.expect(c.want)
		w.finish()
	}
}

func TestCountersShareTheSeatBetweenClients(t *testing.T) {
	w := ordered(t, 1, scheduler.Fair(1, 2))
	for range 3 {
		w.add(10, 1) // 12 each
	}
	w.client = 1
	w.add(20, 1)                                                                       // 22
	w.add(10, 1)                                                                       // 12
	w.expect("0: 10@0+!", "3: 20@0+!", "1: 10@0+!", "4: 10@0+!", "2: 10@0+!", "empty") // counters 12, 22, 24, 34, 36
}

func TestIdlenessEarnsNoCredit(t *testing.T) {
	w := ordered(t, 1, scheduler.Fair(1, 2))
	for range 4 {
		w.add(10, 1)
	}
	w.expect("0: 10@0+!", "1: 10@0+!") // counter 24
	w.client = 1
	for range 3 {
		w.add(10, 1)
	}
	w.expect("2: 10@0+!", "4: 10@0+!", "3: 10@0+!", "5: 10@0+!", "6: 10@0+!") // lifted to 24; it would have had three turns
	w.client = 0
	w.add(10, 1)
	w.expect("7: 10@0+!", "empty")
}

func TestPreemptedTokensAreChargedOnce(t *testing.T) {
	w := chunked(t, 8, func(l *scheduler.Limits, _ *kvcache.Config) { l.Order = scheduler.Fair(1, 2) })
	w.add(60, 8)
	w.client = 1
	w.add(60, 8)
	w.expect("0: 60@0+!  1: 60@0+!", "0: 1@60!  1: 1@60!", "0: 1@61!  1: 1@61!", "0: 1@62!  1: 1@62!", "0: 1@63!  1: 1@63!")
	w.expect("-1  0: 1@64!", "0: 1@65!", "0: 1@66!", "1: 65@0+!") // 60 + 2·8 = 76 against 60 + 2·6 = 72
	w.add(5, 1)
	w.client = 0
	w.add(5, 1) // lifted to 132, if the 60 had been charged twice, and then served first
	w.expect("1: 1@65!  2: 5@0+!  3: 5@0+!")
	w.finish()
}

func TestTheEarliestDeadlineIsNext(t *testing.T) {
	w := ordered(t, 1, scheduler.EDF(byClient))
	w.client = 4
	w.add(10, 1) // due at 500
	w.client = 2
	w.add(10, 1) // at 300
	w.client = 0
	w.add(10, 1) // at 100
	w.expect("2: 10@0+!", "1: 10@0+!", "0: 10@0+!", "empty")
}

func TestTheHopelessComeLastAndWhoMustStartFirstComesFirst(t *testing.T) {
	w := ordered(t, 1, scheduler.SLO(perToken{}, byClient))
	w.add(150, 1) // due at 100, 150 ns long: hopeless
	w.add(10, 1)  // must start before 90
	w.client = 1
	w.add(190, 1) // before 10
	w.client = 2
	w.add(10, 1) // before 290
	w.expect("2: 190@0+!", "1: 10@0+!", "3: 10@0+!", "0: 150@0+!", "empty")
}

func TestTheLastToComeIsNext(t *testing.T) {
	w := ordered(t, 1, scheduler.LCFS())
	w.add(10, 1)
	w.step()
	for range 3 {
		w.now++
		w.add(10, 1)
	}
	w.expect("3: 10@0+!", "2: 10@0+!", "1: 10@0+!", "empty")
}

// FastServe keeps the KV of those it preempts in the host's memory: they come back where they were, and not before those
// who are on a better level.
func TestFeedbackQueuesSwap(t *testing.T) {
	w := continuous(t, 100, func(l *scheduler.Limits, _ *kvcache.Config) {
		l.MaxNumSeqs, l.SwapBlocks = 1, 100
		l.Order = scheduler.MLFQ(perToken{}, scheduler.Levels{Quantum: 4})
	})
	w.add(10, 6)
	w.expect("0: 10@0+!", "0: 1@10!")
	w.add(3, 2)
	w.add(4, 1)
	w.expect("-0  1: 3@0+!", "1: 1@3!", "2: 4@0+!", "0: 1@11!", "0: 1@12!")
	w.finish()
	if c := w.sched.Counters(); c.SwappedOut != 1 || c.SwappedIn != 1 || c.RecomputedTokens != 0 {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsComputedAgainIsRunOffBeforeTheSeatIsLostAgain(t *testing.T) {
	w := chunked(t, 100, func(l *scheduler.Limits, _ *kvcache.Config) {
		l.MaxNumSeqs, l.MaxNumBatchedTokens = 1, 10
		l.Order = scheduler.MLFQ(perToken{}, scheduler.Levels{Quantum: 8})
	})
	w.add(40, 30)
	w.expect("0: 10@0+", "0: 10@10", "0: 10@20", "0: 10@30!") // it has run for 3 when the next plan is made …
	w.add(1, 1)
	w.expect("-0  1: 1@0+!", "0: 10@0+", "0: 10@10", "0: 10@20", "0: 10@30", "0: 1@40!") // … 4 now, and 5 are credited
	w.add(1, 1)
	w.expect("0: 1@41!", "-0  2: 1@0+!")
	w.finish()
}

// A step of n tokens takes n ns, and a token is due every 10.
func TestChunksEndBeforeTheNextTokenIsDue(t *testing.T) {
	w := ordered(t, 4, scheduler.Paced(perToken{}, func(*scheduler.Seq) scheduler.Targets {
		return scheduler.Targets{TTFT: 100, TPOT: 10}
	}))
	w.add(5, 9)
	w.expect("0: 5@0+!")
	w.now = 10 // the first token is there, the next is due at 20
	w.add(80, 1)
	w.expect("0: 1@5!  1: 9@0+")
	w.now = 12 // due at 30
	w.expect("0: 1@6!  1: 17@9")
	w.now = 50 // due at 40: late, but not by another 10
	w.expect("0: 1@7!  1: 9@26")
	w.finish()
}
