package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// sums prices a step by its sums, so that a wrong one shows.
type sums struct{}

func (sums) Cost(s hardware.Step) hardware.Cost {
	return hardware.Cost{
		Device:  time.Duration(1000 + 3*s.Tokens + 2*s.Sampled + int(s.KVRead/7) + int(s.AttnPairs/50)),
		Exposed: time.Duration(10 + s.Seqs), Host: time.Duration(900 + 5*s.Seqs),
	}
}

// A gamut is a random load and the settings it meets, down to pools that hold one request.
type gamut struct {
	limits   scheduler.Limits
	pool     kvcache.Config
	frontend engine.Frontend
	requests []*workload.Request
	checked  bool // every invariant after every step: slow
}

func newGamut(seed uint64) gamut {
	r := rand.New(rand.NewPCG(seed, 2))
	pick := func(values ...int) int { return values[r.IntN(len(values))] }
	longest := pick(120, 400, 1500)
	g := gamut{checked: seed%16 == 0, pool: kvcache.Config{BlockSize: pick(4, 16), PrefixCaching: r.IntN(3) > 0}}
	g.pool.Blocks = (longest+g.pool.BlockSize-1)/g.pool.BlockSize + pick(0, 2, 10, 60, 1000)
	g.limits = scheduler.Limits{
		MaxNumBatchedTokens: pick(8, 64, 300, 2048), MaxNumSeqs: pick(1, 4, 16, 64), MaxModelLen: longest,
		LongPrefillTokenThreshold: pick(0, 0, 0, 20), EnableChunkedPrefill: true, SchedulerReserveFullISL: r.IntN(2) == 0,
		Watermark: float64(pick(0, 0, 5)) / 100, NumGPUBlocks: g.pool.Blocks + 1,
		Priority: r.IntN(4) == 0, AsyncScheduling: r.IntN(2) == 0,
	}
	if r.IntN(3) == 0 {
		g.frontend = engine.Frontend{Ingress: time.Duration(r.IntN(3000)), PerRequest: time.Duration(r.IntN(200)), PerChunk: time.Duration(r.IntN(60)), Servers: 1 + r.IntN(2)}
	}
	var at sim.Time
	pace := pick(200, 3000, 60_000)
	for i := range 20 + r.IntN(60) {
		at += sim.Time(r.IntN(pace))
		g.requests = append(g.requests, newRequest(r, i, at, longest))
	}
	return g
}

func newRequest(r *rand.Rand, i int, at sim.Time, longest int) *workload.Request {
	q := &workload.Request{ID: int64(i), Arrival: at, Answer: kvcache.Private | uint64(2*i+1), Priority: r.Int32N(3)}
	if r.IntN(3) == 0 {
		q.Prompt = append(q.Prompt, kvcache.Run{Label: uint64(1 + r.IntN(3)), Len: 1 + r.Int32N(int32(longest/3))})
	}
	q.Prompt = append(q.Prompt, kvcache.Run{Label: kvcache.Private | uint64(2*i), Len: 1 + r.Int32N(int32(longest/3))})
	if r.IntN(10) == 0 {
		q.Answer &^= kvcache.Private // somebody may ask for it: it cannot be settled later
	}
	q.Tokens = int32(q.Prompt.Tokens())
	q.MaxTokens = 1 + r.Int32N(int32(longest)-q.Tokens)
	if q.Output = q.MaxTokens; r.IntN(3) == 0 {
		q.Output = 1 + r.Int32N(q.MaxTokens)
	}
	if r.IntN(8) == 0 {
		q.Timeout = time.Duration(1 + r.IntN(400_000))
	}
	return q
}

// A diary is all that an observer of a run can write down without being told of every token.
type diary struct {
	lines   []string
	plans   []string
	gaps    map[time.Duration]int
	beats   int
	members int
	coasted int
}

// A way is how a run is played: every sequence named in every plan, or not, or not even every step seen by itself.
type way uint8

const (
	named way = iota
	unnamed
	coasting
)

// play writes the diary of a run.
func (g gamut) play(t *testing.T, how way) diary {
	t.Helper()
	d := diary{gaps: map[time.Duration]int{}}
	limits := g.limits
	limits.Named = how == named
	pool := kvcache.New(g.pool)
	sched := scheduler.Chunked(limits, pool)
	note := func(format string, args ...any) { d.lines = append(d.lines, fmt.Sprintf(format, args...)) }
	ran := func(r *engine.Ran, free int) {
		note("%d step from %d, busy for %v, hides %v, costs %+v; %d free", r.End, r.Start, r.Busy, r.Hidden, r.Cost, free)
	}
	life := func(what string) func(sim.Time, *engine.Life) {
		return func(now sim.Time, l *engine.Life) {
			note("%d %s %d: %d tokens, first %d last %d, %+v", now, what, l.Request.ID, l.Emitted, l.First, l.Last, l.Outcome)
		}
	}
	k := sim.New(1)
	c := engine.Config{
		Scheduler: sched, Cost: sums{}, InFlight: 1, Async: limits.AsyncScheduling, MaxModelLen: limits.MaxModelLen,
		Blocks: g.pool.Blocks, Need: func(tokens int) int { return pool.Need(kvcache.Hit{}, tokens) }, Frontend: g.frontend, Check: g.checked,
		Hooks: engine.Hooks{
			FirstOut: life("first"), Resumed: life("resumed"), Preempted: life("preempted"), Finished: life("finished"),
			Gap: func(gap time.Duration, n int) { d.gaps[gap] += n },
			Ran: func(r *engine.Ran) { ran(r, pool.Usage().Available()) },
			Planned: func(now sim.Time, p *scheduler.Plan) {
				s := &p.Step
				d.plans = append(d.plans, fmt.Sprintf("%d plan %d rows, %d tokens, %d sampled, %d read, %d pairs; %d free",
					now, s.Seqs, s.Tokens, s.Sampled, s.KVRead, s.AttnPairs, pool.Usage().Available()))
				if p.Members > 0 {
					d.beats++
					d.members += p.Members
				}
			},
		},
	}
	if how == coasting {
		c.Hooks.Coasted = func(steps []engine.Ran) {
			free := pool.Usage().Available()
			for i := range steps {
				free += steps[i].Blocks
			}
			for i := range steps {
				r := &steps[i]
				ran(r, free)
				free -= r.Blocks
				d.gaps[r.Gap] += r.Members
				d.coasted++
			}
		}
	}
	if limits.AsyncScheduling {
		c.InFlight = 2
	}
	e := engine.New(k, c)
	for _, r := range g.requests {
		k.At(r.Arrival, sim.Arrive, func() { e.Submit(r, nil) })
	}
	if err := k.Run(context.Background(), sim.Time(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	if e.Alive() > 0 {
		t.Fatalf("%d requests are still alive: %+v %+v", e.Alive(), g.limits, g.pool)
	}
	note("%+v %+v, held %d", sched.Counters(), pool.Counters(), pool.Usage().Held)
	return d
}

// Layers that see only a window of keys hold blocks of their own, so what fits is another question; it is answered at
// arrival all the same, and everybody who is let in gets an answer.
func TestSlidingWindowsStrandNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	for seed := range uint64(60) {
		g := newGamut(seed)
		window := []int{8, 50, 4096}[seed%3]
		g.limits.Window = hardware.Window{Keys: window, Tile: 16}
		g.pool.Groups = []kvcache.Group{{}, {Window: window}}
		g.pool.InFlight = 2 * g.limits.MaxNumBatchedTokens
		g.checked = true
		if d := g.play(t, unnamed); d.members > 0 {
			t.Fatalf("seed %d: sequences go unnamed although their windows move in every step", seed)
		}
	}
}

// Going unnamed is a matter of speed only: plans, tokens, evictions and memory are the same to the last block. So is
// coasting.
func TestTheCohortChangesNothingThatCanBeSeen(t *testing.T) {
	beats, members, coasted, seeds := 0, 0, 0, uint64(100)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		g := newGamut(seed)
		want, got, fast := g.play(t, named), g.play(t, unnamed), g.play(t, coasting)
		g.same(t, "plans unnamed", want.plans, got.plans)
		g.same(t, "unnamed", want.lines, got.lines)
		g.same(t, "coasting", want.lines, fast.lines)
		if fmt.Sprint(want.gaps) != fmt.Sprint(got.gaps) || fmt.Sprint(want.gaps) != fmt.Sprint(fast.gaps) {
			t.Fatalf("seed %d: gaps are %v unnamed, %v coasting, want %v", seed, got.gaps, fast.gaps, want.gaps)
		}
		if want.beats > 0 {
			t.Fatalf("seed %d: a plan that names everybody has members", seed)
		}
		beats, members, coasted = beats+got.beats, members+got.members, coasted+fast.coasted
	}
	if beats < 10_000 || 2*members < 3*beats || coasted < 20_000 {
		t.Errorf("too tame to prove anything: %d beats of %d members in all, of which %d coast", beats, members, coasted)
	}
}

// same fails at the first line that differs from that of a run in which everybody is named.
func (g gamut) same(t *testing.T, what string, want, got []string) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("line %d:\nnamed   %s\n%s %s\n%+v %+v", i, want[i], what, got[i], g.limits, g.pool)
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%d lines %s, want %d", len(got), what, len(want))
	}
}
