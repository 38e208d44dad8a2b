package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// greedy is a policy from outside: everybody who is there takes part in every step, memory is no object.
type greedy struct {
	seqs  []*scheduler.Seq
	async bool
	lazy  bool // never plans anything: a broken policy
}

func (g *greedy) Refuse(*scheduler.Seq) string { return "" }
func (g *greedy) Add(s *scheduler.Seq)         { g.seqs = append(g.seqs, s) }
func (g *greedy) Load() (running, waiting int) { return len(g.seqs), 0 }
func (g *greedy) Counters() scheduler.Counters { return scheduler.Counters{} }
func (g *greedy) Check() error                 { return nil }
func (g *greedy) Drop(s *scheduler.Seq) {
	s.State = scheduler.Gone
	for i := range g.seqs {
		if g.seqs[i] == s {
			g.seqs = append(g.seqs[:i], g.seqs[i+1:]...)
			return
		}
	}
}

func (g *greedy) Plan(sim.Time) *scheduler.Plan {
	p := &scheduler.Plan{}
	for _, s := range g.seqs {
		if g.lazy || s.Pending > 0 && (!g.async || s.Computed+2-s.Pending >= s.Prompt+s.MaxTokens) {
			continue
		}
		n := s.Known() + s.Pending - s.Computed
		if s.State == scheduler.Waiting {
			s.State = scheduler.Running
			p.Admitted = append(p.Admitted, s)
		}
		if n == 1 && s.Computed > 0 {
			p.Step.AddDecode(int(s.Computed), hardware.Window{})
		} else {
			p.Step.AddChunk(int(n), int(s.Computed), true, hardware.Window{})
		}
		p.Work = append(p.Work, scheduler.Work{Seq: s, Tokens: n, Past: s.Computed, Decode: s.Computed > 0, Samples: true})
		s.Computed += n
		s.Pending++
	}
	return p
}

func (g *greedy) Done(p *scheduler.Plan, _ sim.Time) {
	for _, w := range p.Work {
		if w.Seq.State != scheduler.Gone {
			w.Seq.Pending--
			w.Seq.Out++
		}
	}
}

// metronome prices every step alike.
type metronome hardware.Cost

func (m metronome) Cost(hardware.Step) hardware.Cost { return hardware.Cost(m) }

// bench is an engine with the greedy policy, and what its hooks saw.
type bench struct {
	k      *sim.Kernel
	e      *engine.Engine
	g      *greedy
	lives  []engine.Life // finished, in order
	gaps   time.Duration
	tokens int
	ran    []engine.Ran
}

func newBench(c engine.Config) *bench {
	b := &bench{k: sim.New(1), g: &greedy{async: c.InFlight > 1}}
	c.Scheduler = b.g
	if c.Cost == nil {
		c.Cost = metronome{Device: 10}
	}
	c.Check = true
	c.Hooks = engine.Hooks{
		Finished: func(_ sim.Time, l *engine.Life) { b.lives = append(b.lives, *l) },
		Gap:      func(gap time.Duration, n int) { b.gaps += gap * time.Duration(n) },
		TokenOut: func(sim.Time, *engine.Life) { b.tokens++ },
		Ran:      func(r *engine.Ran) { b.ran = append(b.ran, *r) },
	}
	b.e = engine.New(b.k, c)
	return b
}

func (b *bench) send(at sim.Time, r workload.Request) {
	r.Arrival = at
	b.k.At(at, sim.Arrive, func() { b.e.Submit(&r, nil) })
}

func (b *bench) run(t *testing.T) {
	t.Helper()
	if err := b.k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if err := b.e.Err(); err != nil {
		t.Fatal(err)
	}
	if b.e.Alive() != 0 {
		t.Errorf("%d requests never ended", b.e.Alive())
	}
}

func TestARequestTakesOneStepAToken(t *testing.T) {
	b := newBench(engine.Config{})
	b.send(3, workload.Request{Tokens: 100, Output: 4})
	b.run(t)
	l := b.lives[0]
	if l.Scheduled != 3 || l.First != 13 || l.Last != 43 || l.Emitted != 4 {
		t.Errorf("scheduled %v first %v last %v, %d tokens", l.Scheduled, l.First, l.Last, l.Emitted)
	}
	if b.gaps != l.Last.Sub(l.First) {
		t.Errorf("gaps add up to %v, E2EL - TTFT is %v", b.gaps, l.Last.Sub(l.First))
	}
}

// A request lands in the middle of a step. Synchronous: the rest of it and its own. Asynchronous: one more, which had
// already been submitted.
func TestAnArrivalWaitsForTheStepsAlreadySubmitted(t *testing.T) {
	for inFlight, want := range map[int]time.Duration{1: 15, 2: 25} { // order does not matter: separate runs
		b := newBench(engine.Config{InFlight: inFlight, Async: inFlight > 1})
		b.send(0, workload.Request{Tokens: 8, Output: 50})
		b.send(105, workload.Request{Tokens: 8, Output: 5})
		b.run(t)
		if l := b.lives[0]; l.First.Sub(105) != want {
			t.Errorf("%d in flight: TTFT %d ns, want %d", inFlight, l.First.Sub(105), want)
		}
	}
}

func TestAnArrivalAtTheEndOfAStepIsInTheNextOne(t *testing.T) {
	b := newBench(engine.Config{})
	b.send(0, workload.Request{Tokens: 8, Output: 50})
	b.send(100, workload.Request{Tokens: 8, Output: 1})
	b.run(t)
	if l := b.lives[0]; l.First != 110 {
		t.Errorf("first token at %v, want 110ns", int64(l.First))
	}
}

func TestHostTimeHidesOnlyWhenAsynchronous(t *testing.T) {
	cost := metronome{Device: 10, Host: 4, Exposed: 1}
	for _, c := range []struct {
		name  string
		c     engine.Config
		ends  sim.Time
		hides time.Duration
	}{
		{"synchronous", engine.Config{Cost: cost}, 3 * 15, 0},
		{"asynchronous", engine.Config{Cost: cost, InFlight: 2, Async: true}, 3 * 11, 4},
	} {
		b := newBench(c.c)
		b.send(0, workload.Request{Tokens: 8, Output: 3})
		b.run(t)
		if b.lives[0].Last != c.ends || b.ran[1].Hidden != c.hides {
			t.Errorf("%s: ends at %d hiding %v, want %d and %v", c.name, b.lives[0].Last, b.ran[1].Hidden, c.ends, c.hides)
		}
	}
}

func TestAnAnswerThatEndsByItselfWastesOneSlotWhenAsynchronous(t *testing.T) {
	rows := func(maxTokens int32) (n int) {
		b := newBench(engine.Config{InFlight: 2, Async: true})
		b.send(0, workload.Request{Tokens: 8, Output: 3, MaxTokens: maxTokens})
		b.run(t)
		for _, r := range b.ran {
			n += r.Plan.Step.Seqs
		}
		return n
	}
	if got := rows(3); got != 3 {
		t.Errorf("stopped by max_tokens: %d rows, want 3", got)
	}
	if got := rows(100); got != 4 {
		t.Errorf("stopped by itself: %d rows, want 4", got)
	}
}

func TestPipelineStagesOverlapAndBatchesPassThemInTurn(t *testing.T) {
	b := newBench(engine.Config{Cost: metronome{Device: 10, Hop: 1}, Stages: 2, InFlight: 2})
	b.send(0, workload.Request{Tokens: 8, Output: 1})
	b.run(t)
	if l := b.lives[0]; l.First != 21 {
		t.Errorf("first token at %d, want two stages and a hop: 21", l.First)
	}
}

func TestRequestsThatCanNeverBeServedAreRefusedWithAReason(t *testing.T) {
	b := newBench(engine.Config{MaxModelLen: 100, Blocks: 5, BlockSize: 16})
	for i, c := range []struct {
		r      workload.Request
		reason string
	}{
		{workload.Request{Tokens: 100, Output: 1}, "leaves no room"},
		{workload.Request{Tokens: 90, Output: 2, MaxTokens: 11}, "prompt 90 + max_tokens 11 exceed max_model_len 100"},
		{workload.Request{Tokens: 80, Output: 2, MaxTokens: 20}, "6 KV blocks, the cache has 5"},
		{workload.Request{Tokens: 80, Output: 1}, ""},
		{workload.Request{Tokens: 0, Output: 1}, "without tokens"},
		{workload.Request{Tokens: 1, Output: 0}, "without tokens"},
	} {
		b.send(sim.Time(1000*i), c.r)
		b.run(t)
		o := b.lives[i].Outcome
		if (o.Status == workload.Rejected) != (c.reason != "") || !strings.Contains(o.Reason, c.reason) {
			t.Errorf("%+v: %+v, want reason %q", c.r, o, c.reason)
		}
	}
	if c := b.e.Counts(); c.Submitted != 6 || c.Rejected != 5 || c.Completed != 1 {
		t.Errorf("counts %+v", c)
	}
}

func TestAClientThatGivesUpIsCountedAndItsPlaceIsFreed(t *testing.T) {
	b := newBench(engine.Config{InFlight: 2, Async: true, Frontend: engine.Frontend{Ingress: 3}})
	b.send(0, workload.Request{Tokens: 8, Output: 100, Timeout: 34})
	b.send(0, workload.Request{Tokens: 8, Output: 100, Timeout: 2}) // gives up before it has reached the queue
	b.send(50, workload.Request{Tokens: 8, Output: 2})
	b.run(t)
	if c := b.e.Counts(); c.Aborted != 2 || c.Completed != 1 {
		t.Errorf("counts %+v", c)
	}
	if l := b.lives[1]; l.Outcome.At != 34 || l.Emitted != 3 {
		t.Errorf("gave up at %d with %d tokens, want 34 and 3", l.Outcome.At, l.Emitted)
	}
}

func TestTheFrontEndDelaysWhatItShould(t *testing.T) {
	b := newBench(engine.Config{Frontend: engine.Frontend{Ingress: 7, PerChunk: 2}})
	b.send(0, workload.Request{Tokens: 8, Output: 3})
	b.send(0, workload.Request{Tokens: 8, Output: 3})
	b.run(t)
	l := b.lives[0]
	if l.Queued != 7 || l.First != 7+10+2*2 || l.Last != l.First+20 || l.Outcome.At != l.Last {
		t.Errorf("queued %d first %d last %d, outcome at %d", l.Queued, l.First, l.Last, l.Outcome.At)
	}
}

func TestAnAPIProcessTokenisesOnePromptAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		servers int
		queued  map[int32]sim.Time // by tokens of the prompt
	}{
		{0, map[int32]sim.Time{40: 47, 8: 55, 9: 64}},
		{2, map[int32]sim.Time{40: 47, 8: 15, 9: 24}}, // the short prompts overtake the long one
	} {
		b := newBench(engine.Config{Frontend: engine.Frontend{PerToken: 1, Servers: c.servers, Ingress: 7}})
		for _, tokens := range []int32{40, 8, 9} {
			b.send(0, workload.Request{Tokens: tokens, Output: 1})
		}
		b.run(t)
		for _, l := range b.lives {
			if want := c.queued[l.Request.Tokens]; l.Queued != want {
				t.Errorf("%d processes: a prompt of %d tokens is in the queue at %d, want %d", c.servers, l.Request.Tokens, l.Queued, want)
			}
		}
	}
}

func TestAClosedLoopClientIsInTheStepAfterItsAnswer(t *testing.T) {
	b := newBench(engine.Config{})
	b.k.Go("client", func(p *sim.Process) {
		for range 3 {
			p.Wait(func(done func()) {
				b.e.Submit(&workload.Request{Tokens: 8, Output: 2}, func(workload.Outcome) { done() })
			})
		}
	})
	b.run(t)
	if last := b.lives[2].Last; last != 60 {
		t.Errorf("three answers of two tokens end at %d, want 60", last)
	}
}

func TestAnIdleDeviceWithWorkWaitingIsReported(t *testing.T) {
	b := newBench(engine.Config{})
	b.g.lazy = true
	b.send(0, workload.Request{Tokens: 8, Output: 2})
	if err := b.k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if err := b.e.Err(); err == nil || !strings.Contains(err.Error(), "work conservation") {
		t.Errorf("error %v", err)
	}
}

// A policy from outside is a value that is passed in: here one that puts everybody in every step.
func Example() {
	k := sim.New(1)
	e := engine.New(k, engine.Config{
		Scheduler: &greedy{},
		Cost:      metronome{Device: 20 * time.Millisecond},
		Hooks: engine.Hooks{Finished: func(_ sim.Time, l *engine.Life) {
			fmt.Printf("TTFT %v, %d tokens by %v\n", l.First.Sub(l.Request.Arrival), l.Emitted, l.Last)
		}},
	})
	e.Submit(&workload.Request{Tokens: 512, Output: 3}, nil)
	_ = k.Run(context.Background(), sim.Never)
	// Output: TTFT 20ms, 3 tokens by 0.060000000s
}
