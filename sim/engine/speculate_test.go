package engine_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// A draftRun is one engine with drafts and a few answers, and what came out of it.
type draftRun struct {
	drafts, requests int
	output, limit    int32
	accept           engine.Acceptance
	async            bool
	seqs             int // that run at once; 0: all
	seed             uint64
	blocks           int

	lives  []engine.Life
	yields []int32 // tokens of each row that verified drafts
	gaps   int     // chunks after the first of their answers
	drafty engine.Drafted
	end    sim.Time
}

// powers returns the acceptance by position of drafts that are right with chance a each.
func powers(a float64, n int) engine.Acceptance {
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Pow(a, float64(i+1))
	}
	return engine.Acceptance{Rates: rates}
}

func (d *draftRun) play(t *testing.T) *draftRun {
	t.Helper()
	if d.blocks == 0 {
		d.blocks = 100_000
	}
	if d.seqs == 0 {
		d.seqs = 1000
	}
	if d.limit == 0 {
		d.limit = d.output
	}
	pool := kvcache.New(kvcache.Config{Blocks: d.blocks, BlockSize: 16})
	limits := scheduler.Limits{
		MaxNumBatchedTokens: 8192, MaxNumSeqs: d.seqs, MaxModelLen: 4096, EnableChunkedPrefill: true, NumGPUBlocks: d.blocks + 1,
		AsyncScheduling: d.async, Speculation: scheduler.Speculation{Drafts: d.drafts, Lookahead: d.drafts},
	}
	c := engine.Config{
		Scheduler: scheduler.Chunked(limits, pool), Cost: metronome(hardware.Cost{Device: 10}), InFlight: 1, Async: d.async,
		MaxModelLen: 4096, Check: true,
		Hooks: engine.Hooks{
			Finished: func(_ sim.Time, l *engine.Life) { d.lives = append(d.lives, *l) },
			Gap:      func(_ time.Duration, n int) { d.gaps += n },
			Ran: func(r *engine.Ran) {
				for _, w := range r.Plan.Work {
					if w.Drafts > 0 && w.Seq.State != scheduler.Gone {
						d.yields = append(d.yields, 1+w.Accepted)
					}
				}
			},
		},
	}
	if d.async {
		c.InFlight = 2
	}
	if d.drafts > 0 {
		c.Acceptance = &d.accept
	}
	k := sim.New(d.seed)
	e := engine.New(k, c)
	for i := range d.requests {
		r := &workload.Request{
			ID: int64(i), Prompt: kvcache.Prompt{{Label: uint64(2*i + 1), Len: 20}}, Tokens: 20, Answer: uint64(2*i + 2),
			Output: d.output, MaxTokens: d.limit,
		}
		k.At(sim.Time(i), sim.Arrive, func() { e.Submit(r, nil) })
	}
	if err := k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	if n := e.Alive(); n > 0 {
		t.Fatalf("%d requests never ended", n)
	}
	for _, l := range d.lives {
		if want := min(d.output, d.limit); l.Emitted != want {
			t.Fatalf("request %d has %d tokens, want %d", l.Request.ID, l.Emitted, want)
		}
	}
	d.drafty, d.end = e.Drafted(), k.Now()
	return d
}

// E[tokens a step] = (1 − a^(K+1))/(1 − a), and no step yields less than 1 or more than K+1.
func TestTheYieldOfAStepIsThatOfIndependentDrafts(t *testing.T) {
	for _, async := range []bool{false, true} {
		for _, a := range []float64{0.3, 0.7, 0.95} {
			for _, k := range []int{1, 3, 6} {
				d := (&draftRun{drafts: k, requests: 40, output: 1000, accept: powers(a, k), async: async, seed: 7}).play(t)
				if low, high := slices.Min(d.yields), slices.Max(d.yields); low < 1 || int(high) > k+1 {
					t.Errorf("a %g, K %d: steps of %d to %d tokens", a, k, low, high)
				}
				want := (1 - math.Pow(a, float64(k+1))) / (1 - a)
				got := 1 + float64(d.drafty.Accepted)/float64(d.drafty.Drafts)
				if bound := 4 * float64(k) / 2 / math.Sqrt(float64(d.drafty.Drafts)); math.Abs(got-want) > bound {
					t.Errorf("a %g, K %d, async %v: %.4f tokens a step, want %.4f ± %.4f", a, k, async, got, want, bound)
				}
				if d.drafty.Tokens != int64(k)*d.drafty.Drafts {
					t.Errorf("a %g, K %d: %d tokens drafted in %d drafts", a, k, d.drafty.Tokens, d.drafty.Drafts)
				}
				for i, n := range d.drafty.ByPosition {
					if rate := float64(n) / float64(d.drafty.Drafts); math.Abs(rate-math.Pow(a, float64(i+1))) > 2/math.Sqrt(float64(d.drafty.Drafts)) {
						t.Errorf("a %g, K %d: the first %d drafts are right in %.4f of the steps, want %.4f", a, k, i+1, rate, math.Pow(a, float64(i+1)))
					}
				}
			}
		}
	}
}

func TestAllDraftsRightAreKPlusOneTokensAStepAndNoneRightIsOne(t *testing.T) {
	right := (&draftRun{drafts: 3, requests: 1, output: 21, accept: powers(1, 3)}).play(t)
	if !slices.Equal(right.yields, []int32{4, 4, 4, 4, 4}) || right.end != 60 {
		t.Errorf("steps of %v, the end at %d", right.yields, right.end)
	}
	wrong := (&draftRun{drafts: 3, requests: 1, output: 21, accept: powers(0, 3)}).play(t)
	plain := (&draftRun{requests: 1, output: 21}).play(t)
	if len(wrong.yields) != 20 || wrong.end != plain.end || wrong.gaps != plain.gaps {
		t.Errorf("%d steps to %d, %d without drafts to %d", len(wrong.yields), wrong.end, plain.gaps, plain.end)
	}
}

func TestAnAnswerEndsWithinItsDrafts(t *testing.T) {
	// 1 token of the prompt's step, then steps of 4: 1, 5, 9, and one of the last four.
	d := (&draftRun{drafts: 3, requests: 1, output: 10, limit: 500, accept: powers(1, 3)}).play(t)
	if !slices.Equal(d.yields, []int32{4, 4, 1}) {
		t.Errorf("steps of %v tokens, want 4, 4 and 1", d.yields)
	}
	if d.drafty.Accepted != 9 || d.drafty.Drafts != 3 { // as vLLM counts: before it looks where the answer ends
		t.Errorf("%d drafts accepted in %d steps, want 9 in 3", d.drafty.Accepted, d.drafty.Drafts)
	}
	if d.gaps != 3 {
		t.Errorf("%d chunks after the first, want 3: the tokens of a step come together", d.gaps)
	}
}

// A draw belongs to a token of a request: how many run at once, whether plans are made ahead, and preemptions shift none.
func TestTheBatchShiftsNoDraw(t *testing.T) {
	play := func(change func(*draftRun)) engine.Drafted {
		d := &draftRun{drafts: 4, requests: 12, output: 300, accept: powers(0.6, 4), seed: 3}
		change(d)
		return d.play(t).drafty
	}
	base := play(func(*draftRun) {})
	for what, change := range map[string]func(*draftRun){ // order does not matter: separate runs
		"one at a time":  func(d *draftRun) { d.seqs = 1 },
		"asynchronous":   func(d *draftRun) { d.async = true },
		"a short memory": func(d *draftRun) { d.blocks = 120 },
	} {
		got := play(change)
		if what == "a short memory" { // steps that bring a sequence back verify nothing
			if got.Drafts >= base.Drafts || math.Abs(float64(got.Accepted)/float64(got.Drafts)-float64(base.Accepted)/float64(base.Drafts)) > 0.1 {
				t.Errorf("%s: %+v, want a little less than %+v", what, got, base)
			}
			continue
		}
		if got.Accepted != base.Accepted || !slices.Equal(got.ByPosition, base.ByPosition) {
			t.Errorf("%s: %+v, want %+v", what, got, base)
		}
	}
	if other := play(func(d *draftRun) { d.seed = 4 }); slices.Equal(other.ByPosition, base.ByPosition) {
		t.Error("another seed gives the same draws")
	}
	if again := play(func(*draftRun) {}); !slices.Equal(again.ByPosition, base.ByPosition) {
		t.Error("the same seed gives other draws")
	}
}

func TestObservedLengthsAreDrawnAsTheyOccur(t *testing.T) {
	d := (&draftRun{drafts: 2, requests: 30, output: 600, accept: engine.Acceptance{Lengths: []int32{0, 0, 1, 5}}}).play(t)
	// A quarter of the steps has one draft right, a quarter as many as there are.
	n := float64(d.drafty.Drafts)
	for i, want := range []float64{0.5, 0.25} {
		if got := float64(d.drafty.ByPosition[i]) / n; math.Abs(got-want) > 2/math.Sqrt(n) {
			t.Errorf("the first %d drafts are right in %.3f of the steps, want %.3f", i+1, got, want)
		}
	}
}

// Random loads, with clients that give up, priorities and pools that hold one request: every invariant holds after every
// step, where that is looked at, and everybody who is let in gets all of the answer.
func TestDraftsStrandNobody(t *testing.T) {
	seeds, preempted := uint64(120), int64(0)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		g := newGamut(seed)
		drafts := 1 + int(seed%5)
		look := drafts * int(seed%3%2)
		g.limits.Speculation = scheduler.Speculation{Drafts: drafts, Lookahead: look, DropLast: seed%4 == 0}
		if seed%3 == 0 {
			g.limits.Window = hardware.Window{Keys: 50, Tile: 16}
			g.pool.Groups = []kvcache.Group{{}, {Window: 50}}
			g.pool.InFlight = 2*g.limits.MaxNumBatchedTokens + look
		}
		pool := kvcache.New(g.pool)
		sched := scheduler.Chunked(g.limits, pool)
		short := 0
		c := engine.Config{
			Scheduler: sched, Cost: sums{}, InFlight: 1, Async: g.limits.AsyncScheduling, MaxModelLen: g.limits.MaxModelLen,
			Blocks: g.pool.Blocks, Frontend: g.frontend, Check: seed%10 == 0, // slow
			Need: func(tokens int) int {
				return pool.Need(kvcache.Hit{}, max(tokens, min(tokens+look, g.limits.MaxModelLen)))
			},
			Acceptance: &engine.Acceptance{Rates: powers(float64(seed%7)/6, drafts).Rates},
			Hooks: engine.Hooks{Finished: func(_ sim.Time, l *engine.Life) {
				if l.Outcome.Status == workload.Completed && l.Emitted != min(l.Request.Output, l.Request.MaxTokens) {
					short++
				}
			}},
		}
		if c.Async {
			c.InFlight = 2
		}
		k := sim.New(seed)
		e := engine.New(k, c)
		for _, r := range g.requests {
			k.At(r.Arrival, sim.Arrive, func() { e.Submit(r, nil) })
		}
		if err := k.Run(context.Background(), sim.Time(time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := e.Err(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if e.Alive() > 0 || short > 0 || pool.Usage().Held > 0 {
			t.Fatalf("seed %d: %d requests are alive, %d answers are short, %d blocks are held", seed, e.Alive(), short, pool.Usage().Held)
		}
		preempted += sched.Counters().Preemptions
	}
	if preempted < 100 {
		t.Errorf("only %d preemptions: the loads test little", preempted)
	}
}

func TestASteadyStepWithDraftsAllocatesNothing(t *testing.T) {
	const batch = 32
	pool := kvcache.New(kvcache.Config{Blocks: 1 << 30, BlockSize: 1024})
	k := sim.New(1)
	e := engine.New(k, engine.Config{
		Scheduler: scheduler.Chunked(scheduler.Limits{
			MaxNumBatchedTokens: 1 << 20, MaxNumSeqs: batch, EnableChunkedPrefill: true, AsyncScheduling: true,
			Speculation: scheduler.Speculation{Drafts: 4, Lookahead: 4},
		}, pool),
		Cost: sums{}, InFlight: 2, Async: true, Acceptance: &engine.Acceptance{Rates: powers(0.6, 4).Rates},
	})
	for i := range uint64(batch) {
		e.Submit(&workload.Request{
			ID: int64(i), Prompt: kvcache.Prompt{{Label: kvcache.Private | 2*i, Len: 500}}, Tokens: 500,
			Answer: kvcache.Private | (2*i + 1), Output: 1 << 30,
		}, nil)
	}
	run(t, k, e, 40_000) // until the tables have reached their size for a while
	if n := testing.AllocsPerRun(5, func() { run(t, k, e, 20) }); n > 0 {
		t.Errorf("%v allocations in some 20 steps", n)
	}
}
