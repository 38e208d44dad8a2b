package scheduler_test

import (
	"cmp"
	"slices"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// A world is the least that can drive a scheduler: it knows the true lengths of answers, and keeps plans in a pipeline.
type world struct {
	t       tester
	sched   scheduler.Scheduler
	pool    *kvcache.Pool
	flying  []*scheduler.Plan
	depth   int                      // places in the pipeline
	outputs map[*scheduler.Seq]int32 // true lengths of answers
	got     map[*scheduler.Seq]int32 // tokens of them that have come
	now     sim.Time
	next    int
	loads   []scheduler.Load // begun, oldest first
	due     []sim.Time       // the step after which each has arrived
	lag     int              // steps that a load takes beyond the one that begins it
	client  int32            // who sends

	accept func(*scheduler.Work) int32 // how many drafts of a row are right
	widest int32                       // most tokens of a step so far

	law func(*scheduler.Plan) string // says what is wrong with a plan, or ""; nil: anything goes
}

// setting is the usual scheduler of these tests: as vLLM's defaults, with a pool of so many usable blocks of 16.
func setting(blocks int, change func(*scheduler.Limits, *kvcache.Config)) (scheduler.Limits, *kvcache.Pool) {
	l := scheduler.Limits{
		MaxNumBatchedTokens: 8192, MaxNumSeqs: 256, MaxModelLen: 8192, EnableChunkedPrefill: true,
		SchedulerReserveFullISL: true, NumGPUBlocks: blocks + 1, Named: true,
	}
	c := kvcache.Config{Blocks: blocks, BlockSize: 16}
	if change != nil {
		change(&l, &c)
	}
	return l, kvcache.New(c)
}

func newWorld(t tester, s scheduler.Scheduler, pool *kvcache.Pool) *world {
	return &world{t: t, sched: s, pool: pool, depth: 1, outputs: map[*scheduler.Seq]int32{}, got: map[*scheduler.Seq]int32{}}
}

// chunked returns a world under vLLM's V1 scheduler.
func chunked(t tester, blocks int, change func(*scheduler.Limits, *kvcache.Config)) *world {
	l, pool := setting(blocks, change)
	w := newWorld(t, scheduler.Chunked(l, pool), pool)
	if l.AsyncScheduling {
		w.depth = 2
	}
	return w
}

// add sends a request whose prompt is all its own.
func (w *world) add(prompt, output int32) *scheduler.Seq {
	return w.send(kvcache.Prompt{{Label: uint64(2*w.next + 1), Len: prompt}}, output, 0)
}

// send sends a request with an answer of so many tokens, which is also its max_tokens.
func (w *world) send(prompt kvcache.Prompt, output, prio int32) *scheduler.Seq {
	s := &scheduler.Seq{
		ID: kvcache.SeqID(w.next), Order: int64(w.next), Arrival: w.now, MaxTokens: output, Priority: prio,
		Prompt: int32(prompt.Tokens()), Client: w.client, Guess: output,
	}
	s.Tokens = append(prompt[:len(prompt):len(prompt)], kvcache.Run{Label: uint64(2*w.next + 2), Len: output})
	w.next++
	w.outputs[s] = output
	w.sched.Add(s)
	return s
}

// step makes a plan and, if the pipeline is full, completes the oldest one. It returns the plan in words.
func (w *world) step() string {
	w.t.Helper()
	w.arrive()
	p := w.sched.Plan(w.now)
	for _, l := range p.Loads {
		w.loads = append(w.loads, l)
		w.due = append(w.due, w.now+sim.Time(w.lag))
	}
	text, tokens := p.Describe(), int32(p.Members)
	for _, k := range p.Work {
		tokens += k.Tokens
	}
	w.widest = max(w.widest, tokens)
	w.check()
	if w.law != nil {
		if wrong := w.law(p); wrong != "" {
			w.t.Fatalf("%s: %s", wrong, text)
		}
	}
	w.now++
	if w.flying = append(w.flying, p); len(w.flying) == w.depth {
		w.complete()
	}
	return text
}

// arrive reports the loads that are over.
func (w *world) arrive() {
	for len(w.loads) > 0 && w.due[0] < w.now {
		w.sched.(scheduler.Loader).Ready(w.loads[0].Seq, int(w.loads[0].Tokens))
		w.loads, w.due = w.loads[1:], w.due[1:]
	}
}

func (w *world) check() {
	w.t.Helper()
	if err := w.sched.Check(); err != nil {
		w.t.Fatalf("%v\n%s", err, w.pool.Describe())
	}
}

// complete reports the oldest plan done and ends the answers that are complete.
func (w *world) complete() {
	p := w.flying[0]
	w.flying = w.flying[1:]
	w.judge(p)
	w.sched.Done(p, w.now)
	var sampled []*scheduler.Seq
	for _, k := range p.Work {
		if s := k.Seq; k.Samples && s.State != scheduler.Gone {
			w.got[s] = s.Out // true of the named; those who ride are counted here
			sampled = append(sampled, s)
		}
	}
	for s := range w.outputs { // order does not matter: they are sorted below
		if s.State != scheduler.Gone && s.Rides(p) {
			w.got[s]++
			sampled = append(sampled, s)
		}
	}
	slices.SortFunc(sampled, func(a, b *scheduler.Seq) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, s := range sampled {
		if w.got[s] == w.outputs[s] {
			w.sched.Drop(s)
		}
	}
}

// judge decides about the drafts of a plan, as far as the answers have room for them.
func (w *world) judge(p *scheduler.Plan) {
	for i := range p.Work {
		if k := &p.Work[i]; k.Drafts > 0 && k.Seq.State != scheduler.Gone {
			k.Accepted = min(w.accept(k), w.outputs[k.Seq]-k.Seq.Out-1)
		}
	}
}

// finish steps until nobody is left, and returns the steps that held work.
func (w *world) finish() (steps []string) {
	w.t.Helper()
	for idle := 0; idle < 4; {
		if running, waiting := w.sched.Load(); running+waiting == 0 {
			break
		}
		text := w.step()
		if text == "empty" {
			idle++
			continue
		}
		idle = 0
		if steps = append(steps, text); len(steps) > 100_000 {
			w.t.Fatalf("no end after %d steps", len(steps))
		}
	}
	for len(w.flying) > 0 {
		w.complete()
	}
	w.check()
	if running, waiting := w.sched.Load(); running+waiting > 0 {
		w.t.Fatalf("%d sequences run and %d wait, and nothing is planned", running, waiting)
	}
	if u := w.pool.Usage(); u.Held != 0 {
		w.t.Fatalf("at the end %d blocks are held", u.Held)
	}
	return steps
}

// expect compares the next steps with their descriptions.
func (w *world) expect(steps ...string) {
	w.t.Helper()
	for i, want := range steps {
		if got := w.step(); got != want {
			w.t.Fatalf("step %d of this expectation: %q, want %q", i+1, got, want)
		}
	}
}
