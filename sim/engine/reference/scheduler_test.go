package reference_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine/reference"
)

// bench drives a scheduler plan by plan.
type bench struct {
	*testing.T
	scheduler.Scheduler
	flight []*scheduler.Plan
}

// newBench returns a scheduler over so many blocks of 16 tokens, with prefix caching.
func newBench(t *testing.T, blocks int, change func(*scheduler.Limits)) *bench {
	l := scheduler.Limits{
		MaxNumBatchedTokens: 8192, MaxNumSeqs: 8, MaxModelLen: 8192, EnableChunkedPrefill: true,
		SchedulerReserveFullISL: true, NumGPUBlocks: blocks + 1,
	}
	if change != nil {
		change(&l)
	}
	return &bench{T: t, Scheduler: reference.NewScheduler(l, reference.NewPool(blocks, 16, true))}
}

func (b *bench) add(id, prompt, answer int32) *scheduler.Seq {
	s := &scheduler.Seq{
		ID: kvcache.SeqID(id), Prompt: prompt, MaxTokens: answer, Order: int64(id),
		Tokens: kvcache.Prompt{{Label: uint64(2 * id), Len: prompt}, {Label: uint64(2*id + 1), Len: answer}},
	}
	b.Add(s)
	return s
}

// plan makes a plan and writes it down: sequence:past+tokens, d for a decode, s if it samples; -sequence if it is preempted.
func (b *bench) plan() string {
	b.Helper()
	p := b.Plan(sim.Time(0))
	b.flight = append(b.flight, p)
	var words []string
	for _, s := range p.Preempted {
		words = append(words, fmt.Sprintf("-%d", s.ID))
	}
	for _, w := range p.Work {
		word := fmt.Sprintf("%d:%d+%d", w.Seq.ID, w.Past, w.Tokens)
		if w.Decode {
			word += "d"
		}
		if w.Samples {
			word += "s"
		}
		words = append(words, word)
	}
	if err := b.Check(); err != nil {
		b.Fatal(err)
	}
	return strings.Join(words, " ")
}

func (b *bench) done() {
	b.Scheduler.Done(b.flight[0], 0)
	b.flight = b.flight[1:]
}

func (b *bench) want(got, want string) {
	b.Helper()
	if got != want {
		b.Errorf("plan %q, want %q", got, want)
	}
}

func TestAStepIsTheSumOfItsWork(t *testing.T) {
	window := hardware.Window{Keys: 20, Tile: 4}
	b := newBench(t, 100, func(l *scheduler.Limits) { l.MaxNumScheduledTokens, l.Window = 64, window })
	b.add(0, 40, 5)
	b.add(1, 50, 5)
	b.want(b.plan(), "0:0+40s 1:0+24")
	b.done()
	b.want(b.plan(), "0:40+1ds 1:24+26s")
	var want hardware.Step
	want.AddDecode(40, window)
	want.AddChunk(26, 24, true, window)
	if got := b.flight[0].Step; got != want {
		t.Errorf("step %+v, want %+v", got, want)
	}
	b.done()
	b.want(b.plan(), "0:41+1ds 1:50+1ds")
}

func TestAPromptsLastTokenIsNotADecode(t *testing.T) {
	b := newBench(t, 100, func(l *scheduler.Limits) { l.MaxNumBatchedTokens = 20 })
	b.add(0, 41, 5)
	b.want(b.plan(), "0:0+20")
	b.done()
	b.want(b.plan(), "0:20+20")
	b.done()
	b.want(b.plan(), "0:40+1s")
	b.done()
	b.want(b.plan(), "0:41+1ds")
}

func TestARecomputationIsAChunkAndIsCounted(t *testing.T) {
	b := newBench(t, 4, nil)
	a := b.add(0, 31, 20)
	s := b.add(1, 31, 20)
	b.want(b.plan(), "0:0+31s 1:0+31s")
	b.done()
	b.want(b.plan(), "0:31+1ds 1:31+1ds")
	b.done()
	b.want(b.plan(), "-1 0:32+1ds")
	if s.State != scheduler.Preempted || s.Preemptions != 1 || s.Computed != 0 || s.Out != 2 {
		t.Errorf("the victim is %+v", *s)
	}
	b.done()
	b.want(b.plan(), "0:33+1ds") // room for two blocks, and it knows 33 tokens
	b.done()
	b.Drop(a)
	// Its second block was the last in the queue of its release, and the first to be overwritten.
	b.want(b.plan(), "1:16+17s")
	b.done()
	b.want(b.plan(), "1:33+1ds")
	if got, want := b.Counters(), (scheduler.Counters{Preemptions: 1, RecomputedTokens: 17, PrefixQueries: 62}); got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}
}

func TestOnlyThoseWithStaleStepsAreOvertakenAndKeepTheirOrder(t *testing.T) {
	b := newBench(t, 6, func(l *scheduler.Limits) { l.LongPrefillTokenThreshold, l.AsyncScheduling = 31, true })
	long := b.add(0, 90, 20)
	one := b.add(1, 31, 20)
	two := b.add(2, 31, 20)
	b.want(b.plan(), "0:0+31 1:0+31s 2:0+31s")
	b.want(b.plan(), "-2 0:31+31 1:31+1ds")
	b.want(b.plan(), "-1 0:62+28s")
	if one.Stale != 32 || two.Stale != 31 {
		t.Errorf("stale tokens in flight: %d and %d, want 32 and 31", one.Stale, two.Stale)
	}
	b.want(b.plan(), "0:90+1ds")
	if running, waiting := b.Load(); running != 1 || waiting != 2 {
		t.Errorf("%d running and %d waiting, want 1 and 2", running, waiting)
	}
	b.Drop(long)
	three := b.add(3, 20, 20)
	b.want(b.plan(), "3:0+20s") // the others' tokens are still on their way
	for len(b.flight) > 0 {
		b.done()
	}
	if one.Stale != 0 || two.Stale != 0 || one.Out != 2 || two.Out != 1 || one.Pending != 0 {
		t.Errorf("after their return: %+v, %+v", *one, *two)
	}
	b.Drop(three)
	b.want(b.plan(), "1:0+31 2:0+31")
}

func TestWithStagesASequenceDecodesOnceARound(t *testing.T) {
	b := newBench(t, 100, func(l *scheduler.Limits) { l.PipelineStages, l.AsyncScheduling = 3, true })
	b.add(0, 40, 20)
	b.want(b.plan(), "0:0+40s")
	b.add(1, 40, 20)
	b.want(b.plan(), "1:0+40s")
	b.want(b.plan(), "")
	b.want(b.plan(), "0:40+1ds")
	b.want(b.plan(), "1:40+1ds")
	b.want(b.plan(), "")
	b.done()
	b.want(b.plan(), "0:41+1ds")
}

func TestRefuseNamesTheNumbers(t *testing.T) {
	for _, c := range []struct {
		prompt int32
		chunk  bool
		want   []string
	}{
		{160, true, nil},
		{161, true, []string{"11 KV blocks", "10"}},
		{100, false, nil},
		{101, false, []string{"101", "100", "chunked prefill is off"}},
	} {
		b := newBench(t, 10, func(l *scheduler.Limits) { l.MaxNumBatchedTokens, l.EnableChunkedPrefill = 100, c.chunk })
		got := b.Refuse(&scheduler.Seq{Prompt: c.prompt, MaxTokens: 1})
		if (got == "") != (c.want == nil) {
			t.Errorf("prompt of %d, chunking %v: %q", c.prompt, c.chunk, got)
		}
		for _, word := range c.want {
			if !strings.Contains(got, word) {
				t.Errorf("the reason %q lacks %q", got, word)
			}
		}
	}
}

func TestDropTakesASequenceOutOfAnyState(t *testing.T) {
	b := newBench(t, 4, nil)
	a, v, w := b.add(0, 32, 20), b.add(1, 32, 20), b.add(2, 32, 20)
	b.want(b.plan(), "0:0+32s 1:0+32s")
	b.done()
	b.want(b.plan(), "-1 0:32+1ds")
	for _, s := range []*scheduler.Seq{w, v, a} { // waiting, preempted, running and in flight
		b.Drop(s)
		if err := b.Check(); err != nil || s.State != scheduler.Gone {
			t.Errorf("after dropping %d: state %d, %v", s.ID, s.State, err)
		}
	}
	b.done()
	if running, waiting := b.Load(); running+waiting != 0 || a.Out != 1 {
		t.Errorf("%d running, %d waiting, %d tokens of the dropped one; want none but its first token", running, waiting, a.Out)
	}
	b.want(b.plan(), "")
}
