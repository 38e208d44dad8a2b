package cluster

import (
	"cmp"
	"context"
	"fmt"
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

// linear is a device on which a step takes 1 ms, and 10 µs more for each token.
type linear struct{}

func (linear) Cost(s hardware.Step) hardware.Cost {
	d := time.Millisecond + time.Duration(s.Tokens)*10*time.Microsecond
	return hardware.Cost{Device: d, By: hardware.Causes{Compute: d}}
}

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// A rig is a disaggregated cluster of equal engines, and what its clients see.
type rig struct {
	t tester
	k *sim.Kernel
	d *Disaggregated

	lives    map[*workload.Request]engine.Life // as they ended
	journeys map[*workload.Request]engine.Journey
	outcomes map[*workload.Request]workload.Outcome
	order    []*workload.Request
}

// A plant describes a rig.
type plant struct {
	transfer        Transfer
	rule            Rule
	prefill, decode int // engines
	blocks          [2]int
	bandwidth       float64
	async, caching  bool
	reserve         int
	seats, budget   int // 0: 256 sequences, 2048 tokens
	priority        bool
	hop             time.Duration
	named           bool
	hold            int64 // prompt tokens above which engines are borrowed
}

// pair is one engine of each kind, with 10,000 blocks and a link of 50 GB/s.
func pair(m Mode) plant {
	return plant{
		transfer: Transfer{Mode: m, Latency: 5 * time.Microsecond, Lease: 30 * time.Second, Heartbeats: true, Layers: 32, BlockBytes: 16 * 131072},
		prefill:  1, decode: 1, blocks: [2]int{10_000, 10_000}, bandwidth: 50e9, caching: true,
	}
}

func build(t tester, p plant) *rig {
	t.Helper()
	g := &rig{
		t: t, k: sim.New(1), lives: map[*workload.Request]engine.Life{}, outcomes: map[*workload.Request]workload.Outcome{},
		journeys: map[*workload.Request]engine.Journey{},
	}
	g.d = Disaggregate(g.k, p.transfer, p.rule)
	round := func() Router { f, _ := Find("round-robin"); return f.New(g.k) }
	var pools [2]Pool
	for kind, n := range []int{p.prefill, p.decode} {
		pools[kind] = Pool{Bandwidth: p.bandwidth, Router: round()}
		for i := range n {
			pools[kind].Replicas = append(pools[kind].Replicas, g.replica(p, kind, i))
		}
	}
	g.d.Attach(pools[0], pools[1])
	g.d.Lend(p.hold)
	g.d.Delay(p.hop)
	return g
}

func (g *rig) replica(p plant, kind, i int) *Replica {
	pool := kvcache.New(kvcache.Config{Blocks: p.blocks[kind], BlockSize: 16, PrefixCaching: p.caching})
	l := scheduler.Limits{
		MaxNumBatchedTokens: cmp.Or(p.budget, 2048), MaxNumSeqs: cmp.Or(p.seats, 256), MaxModelLen: 100_000, Priority: p.priority, EnableChunkedPrefill: true,
		SchedulerReserveFullISL: true, NumGPUBlocks: p.blocks[kind] + 1, AsyncScheduling: p.async, Named: p.named,
	}
	if kind == 1 {
		l.ReservedDecodeTokens = p.reserve
	}
	s := scheduler.Chunked(l, pool)
	c := engine.Config{
		Scheduler: s, Cost: linear{}, InFlight: 1, Async: p.async, MaxModelLen: 100_000, Blocks: p.blocks[kind], BlockSize: 16, Check: true,
		Frontend: engine.Frontend{Ingress: 2 * time.Millisecond}, Hooks: engine.Hooks{Finished: g.finished},
	}
	if p.async {
		c.InFlight = 2
	}
	if kind == 1 {
		c.Fetch = g.d.Fetch(i)
	} else {
		c.Began = g.d.Began(i)
	}
	return &Replica{Name: fmt.Sprint([]string{"prefill", "decode"}[kind], i), Engine: engine.New(g.k, c), Scheduler: s, Cache: pool}
}

func (g *rig) finished(_ sim.Time, l *engine.Life) {
	if _, twice := g.lives[l.Request]; twice {
		g.t.Errorf("a request has ended twice")
	}
	g.lives[l.Request] = *l
	if l.Journey != nil {
		g.journeys[l.Request] = *l.Journey
	}
}

// send has a client send a request at an instant.
func (g *rig) send(at time.Duration, r workload.Request) *workload.Request {
	q := &r
	q.ID = int64(len(g.order))
	q.Arrival = sim.Time(at)
	if q.Prompt == nil {
		q.Prompt = kvcache.Prompt{{Label: kvcache.Private | uint64(2*q.ID+1), Len: q.Tokens}}
	}
	q.Answer = kvcache.Private | uint64(2*q.ID+2)
	if q.MaxTokens == 0 {
		q.MaxTokens = q.Output
	}
	g.order = append(g.order, q)
	g.k.At(q.Arrival, sim.Arrive, func() {
		g.d.Submit(q, func(o workload.Outcome) { g.outcomes[q] = o })
	})
	return q
}

func (g *rig) run() {
	g.t.Helper()
	if err := g.k.Run(context.Background(), sim.Never); err != nil {
		g.t.Fatal(err)
	}
	if err := g.d.Err(); err != nil {
		g.t.Fatal(err)
	}
	if err := g.d.AtRest(); err != nil {
		g.t.Error(err)
	}
	if len(g.outcomes) != len(g.order) || len(g.lives) != len(g.order) {
		g.t.Errorf("%d requests, %d outcomes, %d lives", len(g.order), len(g.outcomes), len(g.lives))
	}
	for _, r := range g.order {
		l := g.lives[r]
		if l.Outcome.Status == workload.Completed && (l.First < r.Arrival || l.Last < l.First || l.Emitted != r.Output) {
			g.t.Errorf("request %d: TTFT %v, E2EL %v, %d of %d tokens", r.ID, l.First-r.Arrival, l.Last-r.Arrival, l.Emitted, r.Output)
		}
	}
	for r, j := range g.journeys { // order does not matter: each is looked at by itself
		var sum time.Duration
		for _, s := range j.Spans {
			sum += s
		}
		if l := g.lives[r]; sum != j.Until.Sub(r.Arrival) || l.Outcome.Status == workload.Completed && j.Until > l.First {
			g.t.Errorf("request %d: its parts add up to %v, it is known until %v, its first token is there at %v", r.ID, sum, j.Until, l.First)
		}
	}
}

func (g *rig) ttft(r *workload.Request) time.Duration { return g.lives[r].First.Sub(r.Arrival) }

func TestAPromptIsPulledBlockByBlockAndOnePositionIsComputedAgain(t *testing.T) {
	p := pair(Pull)
	p.transfer.Handover = 20 * time.Millisecond
	g := build(t, p)
	r := g.send(0, workload.Request{Tokens: 1000, Output: 5})
	g.run()
	const (
		frontend = 2 * time.Millisecond
		prefill  = 11 * time.Millisecond // 1 ms + 1000 × 10 µs
		transfer = 2642412 + 5*time.Microsecond
		step     = 1010 * time.Microsecond
	)
	j := g.journeys[r]
	want := [engine.Parts]time.Duration{
		engine.AtFrontend: frontend, engine.InPrefill: prefill, engine.InHandover: 20 * time.Millisecond, engine.InTransfer: transfer,
	}
	if j.Spans != want || j.Bytes != 1008*131072 || j.Saved != 0 {
		t.Errorf("parts %v, want %v; %d bytes", j.Spans, want, j.Bytes)
	}
	if got, want := g.ttft(r), frontend+prefill+20*time.Millisecond+transfer+step; got != want {
		t.Errorf("TTFT %v, want %v", got, want)
	}
	if got, want := g.lives[r].Last.Sub(g.lives[r].First), 4*step; got != want {
		t.Errorf("four more tokens take %v, want %v", got, want)
	}
	if c := g.d.Counts(); c != (Counts{Remote: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestAtConcurrencyOneTwoEnginesAreSlowerToTheFirstTokenThanOne(t *testing.T) {
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		g := build(t, pair(m))
		r := g.send(0, workload.Request{Tokens: 5000, Output: 5})
		g.run()
		p := pair(m)
		p.rule = ByLength{MaxLocalPrefillLength: 100_000, MaxPrefillQueueSize: 10}
		alone := build(t, p)
		q := alone.send(0, workload.Request{Tokens: 5000, Output: 5})
		alone.run()
		if c := alone.d.Counts(); c.Local != 1 || g.ttft(r) <= alone.ttft(q) {
			t.Errorf("mode %d: TTFT %v over two engines, %v at one; %+v", m, g.ttft(r), alone.ttft(q), c)
		}
	}
}

func TestWhatIsSentBesideTheStepsIsNotWaitedFor(t *testing.T) {
	// Three chunks of 2048 tokens, the last of 904: 21.48, 21.48 and 10.04 ms. On this link the whole takes 65.5 ms, a
	// chunk of 2048 tokens 26.8 ms and the last one 11.8.
	const prefill = 53 * time.Millisecond
	exposed := map[Mode]time.Duration{}
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		p := pair(m)
		p.transfer.Latency, p.bandwidth = 0, 10e9
		g := build(t, p)
		r := g.send(0, workload.Request{Tokens: 5000, Output: 5})
		g.run()
		j := g.journeys[r]
		exposed[m] = j.Spans[engine.InTransfer].Round(100 * time.Microsecond)
		if j.Spans[engine.InPrefill] != prefill || j.Bytes != 5008*131072 {
			t.Errorf("mode %d: prefill %v, %d bytes", m, j.Spans[engine.InPrefill], j.Bytes)
		}
	}
	want := map[Mode]time.Duration{
		Pull:       65600 * time.Microsecond,
		PushChunks: 34100 * time.Microsecond, // 21.48 + 65.64 − 53: the link is never idle after the first chunk
		PushLayers: 13300 * time.Microsecond, // 21.48/32 + 65.64 − 53
	}
	if fmt.Sprint(exposed) != fmt.Sprint(want) {
		t.Errorf("exposed %v, want %v", exposed, want)
	}

	p := pair(PushLayers) // on a wide link only the last layer is left
	p.transfer.Latency = 0
	g := build(t, p)
	r := g.send(0, workload.Request{Tokens: 2048, Output: 5})
	g.run()
	last := ceil(128 * 16 * 131072 / 32 / 50.0)
	if got := g.journeys[r].Spans[engine.InTransfer]; got != last {
		t.Errorf("exposed %v, want one layer's %v", got, last)
	}
}

func TestTheFirstTokenMayLeaveBeforeItsKV(t *testing.T) {
	p := pair(PushChunks)
	p.transfer.Early, p.transfer.Latency, p.transfer.Handover = true, 0, 20*time.Millisecond
	g := build(t, p)
	r := g.send(0, workload.Request{Tokens: 1000, Output: 3})
	short := g.send(time.Second, workload.Request{Tokens: 1000, Output: 1, MaxTokens: 9}) // it ends before its KV is there
	g.run()
	if l := g.lives[r]; g.ttft(r) != 13*time.Millisecond || l.Last.Sub(l.First) != 2642412+20*time.Millisecond+2*1010*time.Microsecond {
		t.Errorf("TTFT %v, then %v", g.ttft(r), l.Last.Sub(l.First))
	}
	if g.ttft(short) != 13*time.Millisecond || g.d.Counts().Remote != 2 {
		t.Errorf("TTFT %v, %+v", g.ttft(short), g.d.Counts())
	}
}

func TestThePrefixThatTheDecodingEngineHasDoesNotTravel(t *testing.T) {
	shared := func(tail uint64) workload.Request {
		return workload.Request{Tokens: 1000, Output: 5, Prompt: kvcache.Prompt{{Label: 7 << 32, Len: 640}, {Label: kvcache.Private | tail, Len: 360}}}
	}
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		g := build(t, pair(m))
		g.send(0, shared(101))
		r := g.send(time.Second, shared(103))
		g.run()
		if j := g.journeys[r]; j.Bytes != 368*131072 || j.Saved != 640*131072 {
			t.Errorf("mode %d: %d bytes travelled and %d did not", m, j.Bytes, j.Saved)
		}
		// The prefilling engine computes the rest only.
		if got := g.journeys[r].Spans[engine.InPrefill]; got != 4600*time.Microsecond {
			t.Errorf("mode %d: prefill %v", m, got)
		}
	}
	// What the prefilling engine has, but the decoding one has not, must travel.
	p := pair(PushChunks)
	p.decode = 2
	g := build(t, p)
	g.send(0, shared(101))
	r := g.send(time.Second, shared(103))
	g.run()
	if j := g.journeys[r]; j.Bytes != 1008*131072 || j.Spans[engine.InPrefill] != 4600*time.Microsecond {
		t.Errorf("%d bytes, prefill %v", j.Bytes, j.Spans[engine.InPrefill])
	}
}

func TestAFullDecodingEngineHoldsUpPrefillsAndLosesNothing(t *testing.T) {
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		for _, caching := range []bool{false, true} {
			ttft := func(blocks int) (mean time.Duration, queue, memory time.Duration) {
				p := pair(m)
				p.blocks, p.caching = [2]int{300, blocks}, caching
				g := build(t, p)
				for i := range 60 {
					g.send(time.Duration(i)*20*time.Millisecond, workload.Request{Tokens: 1000, Output: 200})
				}
				g.run()
				for _, r := range g.order {
					mean += g.ttft(r) / 60
					queue += g.journeys[r].Spans[engine.InQueue] / 60
					memory += g.journeys[r].Spans[engine.InMemory] / 60
					if g.lives[r].Outcome.Status != workload.Completed {
						t.Errorf("mode %d: request %d ended as %v", m, r.ID, g.lives[r].Outcome)
					}
				}
				return mean, queue, memory
			}
			wide, wideQueue, _ := ttft(10_000)
			narrow, narrowQueue, memory := ttft(400)
			if narrow < 5*wide {
				t.Errorf("mode %d: TTFT %v with little memory, %v with much", m, narrow, wide)
			}
			if m == Pull && narrowQueue < 10*max(wideQueue, time.Millisecond) {
				t.Errorf("the prefilling engine's queue takes %v with little memory behind it, %v with much", narrowQueue, wideQueue)
			}
			if m != Pull && (memory < narrow/2 || narrowQueue > 50*time.Millisecond) {
				t.Errorf("mode %d: memory is waited for for %v of %v, and the prefilling engine for %v", m, memory, narrow, narrowQueue)
			}
		}
	}
}

func TestARequestForOneTokenNeverEntersTheDecodePool(t *testing.T) {
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		g := build(t, pair(m))
		r := g.send(0, workload.Request{Tokens: 1000, Output: 1})
		cut := g.send(time.Second, workload.Request{Tokens: 1000, Output: 1, MaxTokens: 100}) // nobody knows that it will end at once
		g.run()
		if c := g.d.Counts(); c != (Counts{Remote: 1, Whole: 1}) || g.d.Carried().Transfers == 0 {
			t.Errorf("mode %d: %+v", m, c)
		}
		if n := g.d.decode.replicas[0].Engine.Counts().Submitted; n != 1 || g.ttft(r) != 13*time.Millisecond {
			t.Errorf("mode %d: the decoding engine has seen %d requests; TTFT %v and %v", m, n, g.ttft(r), g.ttft(cut))
		}
	}
}

func TestALeaseThatExpiresHasThePromptComputedAgain(t *testing.T) {
	p := pair(Pull)
	p.transfer.Handover, p.transfer.Lease = 50*time.Millisecond, 40*time.Millisecond
	g := build(t, p)
	r := g.send(0, workload.Request{Tokens: 1000, Output: 5})
	g.run()
	if c := g.d.Counts(); c != (Counts{Remote: 1, Expired: 1, Fallbacks: 1}) || g.d.Carried().Transfers != 0 {
		t.Errorf("%+v, %+v", c, g.d.Carried())
	}
	if got, want := g.ttft(r), (2+11+50+11)*time.Millisecond; got != want || !g.journeys[r].Failed {
		t.Errorf("TTFT %v, want %v", got, want)
	}

	// Without heartbeats a lease also ends in the queue of an engine that has no memory.
	p = pair(Pull)
	p.transfer.Lease, p.transfer.Heartbeats = 40*time.Millisecond, false
	p.blocks[1] = 100
	g = build(t, p)
	for i := range 5 {
		g.send(time.Duration(i), workload.Request{Tokens: 1000, Output: 100})
	}
	g.run()
	if c := g.d.Counts(); c.Expired == 0 || c.Fallbacks != c.Expired || c.Remote != 5 {
		t.Errorf("%+v", c)
	}
}

func TestWhoeverGivesUpOnTheWayLeavesNothingBehind(t *testing.T) {
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		for _, async := range []bool{false, true} {
			statuses := map[workload.Status]int{}
			for after := 500 * time.Microsecond; after < 120*time.Millisecond; after += 1370 * time.Microsecond {
				p := pair(m)
				p.async, p.bandwidth = async, 5e9
				p.transfer.Handover = 10 * time.Millisecond
				p.blocks[1] = 300
				g := build(t, p)
				for i := range 4 {
					g.send(time.Duration(i)*time.Millisecond, workload.Request{Tokens: 2000, Output: 20, Timeout: after + time.Duration(i)*7*time.Millisecond})
				}
				g.send(0, workload.Request{Tokens: 1000, Output: 20})
				g.run()
				for _, o := range g.outcomes { // order does not matter: they are counted
					statuses[o.Status]++
				}
			}
			if statuses[workload.Aborted] < 50 || statuses[workload.Completed] < 50 {
				t.Errorf("mode %d: %v", m, statuses)
			}
		}
	}
}

func TestADeadClientsLeaseRunsOutWhenTheDecodingEngineHasNotHeardOfIt(t *testing.T) {
	p := pair(Pull)
	p.transfer.Handover, p.transfer.Lease = 100*time.Millisecond, time.Second
	g := build(t, p)
	g.send(0, workload.Request{Tokens: 1000, Output: 5, Timeout: 50 * time.Millisecond})
	g.run()
	if c := g.d.Counts(); c.Expired != 1 || c.Fallbacks != 0 || g.k.Now() != sim.Time(1013*time.Millisecond) {
		t.Errorf("%+v at %v", c, g.k.Now())
	}
}

func TestReservedTokensHoldBackTransfers(t *testing.T) {
	running := func(reserve int) int {
		p := pair(PushChunks)
		p.reserve, p.blocks[1] = reserve, 700
		g := build(t, p)
		peak := 0
		for i := range 20 {
			g.send(time.Duration(i), workload.Request{Tokens: 1000, Output: 10})
		}
		g.k.At(sim.Time(10*time.Millisecond), sim.Watch, func() { peak = g.d.decode.replicas[0].Cache.Usage().Held / 63 })
		g.run()
		return peak
	}
	if none, usual := running(0), running(512); none != 11 || usual != 7 {
		t.Errorf("%d prompts are under way without a reserve and %d with 512 tokens each; want 11 and 7", none, usual)
	}
}

func TestEnginesAreBorrowedWhileTheOthersHaveTooMuchToDo(t *testing.T) {
	p := pair(PushLayers)
	p.decode, p.hold = 2, 5000
	g := build(t, p)
	for i := range 30 {
		g.send(time.Duration(i)*10*time.Millisecond, workload.Request{Tokens: 2000, Output: 10})
	}
	late := g.send(10*time.Second, workload.Request{Tokens: 2000, Output: 10})
	g.run()
	c := g.d.Counts()
	decode, _ := g.d.Borrowed()
	if c.Local == 0 || c.Remote == 0 || decode == 0 || int(c.Local+c.Remote) != len(g.order) {
		t.Errorf("%+v, borrowed %d", c, decode)
	}
	if g.journeys[late].Bytes == 0 {
		t.Errorf("when all is quiet an engine is still borrowed")
	}
}

// What one seed gives must not depend on whether the cohort takes the decodes along unnamed.
func TestNamedAndUnnamedDecodesAgree(t *testing.T) {
	for _, m := range []Mode{Pull, PushChunks, PushLayers} {
		run := func(named, async bool) (lines []string) {
			p := pair(m)
			p.named, p.async, p.decode = named, async, 2
			p.blocks = [2]int{500, 500}
			g := build(t, p)
			draw := sim.New(5).Rand("requests")
			at := time.Duration(0)
			for range 150 {
				at += time.Duration(draw.Uint64() % 20e6)
				r := workload.Request{Tokens: int32(20 + draw.Uint64()%3000), Output: int32(1 + draw.Uint64()%80), MaxTokens: 100}
				if draw.Uint64()%4 == 0 {
					r.Timeout = time.Duration(20e6 + draw.Uint64()%400e6)
				}
				g.send(at, r)
			}
			g.run()
			for _, r := range g.order {
				l := g.lives[r]
				lines = append(lines, fmt.Sprintf("%d %v %v %v %v", r.ID, l.Outcome, l.First, l.Last, g.journeys[r]))
			}
			return append(lines, fmt.Sprint(g.d.Counts(), g.d.Carried()))
		}
		for _, async := range []bool{false, true} {
			if a, b := run(true, async), run(false, async); !slices.Equal(a, b) {
				for i := range a {
					if a[i] != b[i] {
						t.Errorf("mode %d, async %v:\n%s\n%s", m, async, a[i], b[i])
						break
					}
				}
			}
		}
	}
}
