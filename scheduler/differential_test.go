package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine/reference"
)

// A twinned is one scheduler of a pair that live through the same workload, with sequences of its own.
type twinned struct {
	sched  scheduler.Scheduler
	cache  kvcache.Cache
	seqs   []*scheduler.Seq
	flying []*scheduler.Plan
}

// A chance is a random workload: settings, requests, when they arrive, how long their answers are, who gives up when.
type chance struct {
	limits   scheduler.Limits
	pool     kvcache.Config
	depth    int
	requests []scheduler.Seq
	arrive   []int // before this step
	output   []int32
	abandon  []int // before this step; 0: never
}

func draw(seed uint64) chance {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(values ...int) int { return values[r.IntN(len(values))] }
	size, longest := pick(2, 4, 16), pick(120, 400, 1200)
	c := chance{depth: 1}
	c.pool = kvcache.Config{BlockSize: size, PrefixCaching: r.IntN(3) > 0}
	c.pool.Blocks = (longest+size-1)/size + pick(0, 0, 2, 10, 50, 1000)
	c.limits = scheduler.Limits{
		MaxNumBatchedTokens: pick(3, 16, 64, 256, 2048), MaxNumScheduledTokens: pick(0, 0, 0, 40), MaxNumSeqs: pick(1, 3, 8, 64),
		MaxModelLen: longest, LongPrefillTokenThreshold: pick(0, 0, 7, 50), EnableChunkedPrefill: true,
		SchedulerReserveFullISL: r.IntN(2) == 0, Watermark: float64(pick(0, 0, 2, 10)) / 100, NumGPUBlocks: c.pool.Blocks + 1,
		Priority: r.IntN(2) == 0, AsyncScheduling: r.IntN(2) == 0, Named: true,
	}
	if r.IntN(5) == 0 {
		c.limits.EnableChunkedPrefill = false
		c.limits.MaxNumBatchedTokens, c.limits.MaxNumScheduledTokens = longest, 0
	}
	if r.IntN(4) == 0 {
		c.limits.PipelineStages = pick(2, 3)
		c.depth = c.limits.PipelineStages
	}
	if c.limits.AsyncScheduling {
		c.depth++
	}
	switch r.IntN(4) {
	case 0:
		c.limits.Order = scheduler.SJF()
	case 1:
		c.limits.Order = scheduler.LCFS()
	case 2:
		c.limits.Order = scheduler.EDF(func(s *scheduler.Seq) scheduler.Targets {
			return scheduler.Targets{TTFT: time.Duration(10 * s.Prompt), TPOT: 3}
		})
	}
	for i := range 2 + r.IntN(30) {
		c.request(r, i)
	}
	return c
}

// request draws one request; half of them begin with one of three shared prefixes.
func (c *chance) request(r *rand.Rand, i int) {
	longest := int32(c.limits.MaxModelLen)
	var prompt kvcache.Prompt
	if r.IntN(2) == 0 {
		prompt = append(prompt, kvcache.Run{Label: uint64(1 + r.IntN(3)), Len: 1 + r.Int32N(longest/3)})
	}
	prompt = append(prompt, kvcache.Run{Label: uint64(100 + i), Len: 1 + r.Int32N(longest/3)})
	tokens := int32(prompt.Tokens())
	room := 1 + r.Int32N(min(longest-tokens, 80))
	prompt = append(prompt, kvcache.Run{Label: uint64(1000 + i), Len: room})
	c.requests = append(c.requests, scheduler.Seq{
		ID: kvcache.SeqID(i), Order: int64(i), Arrival: sim.Time(i / 2), Tokens: prompt, Prompt: tokens,
		MaxTokens: room, Priority: r.Int32N(3), Guess: r.Int32N(room + 1),
	})
	output, abandon := room, 0
	if r.IntN(4) == 0 {
		output = 1 + r.Int32N(room)
	}
	if r.IntN(8) == 0 {
		abandon = 1 + r.IntN(150)
	}
	c.arrive = append(c.arrive, r.IntN(80))
	c.output = append(c.output, output)
	c.abandon = append(c.abandon, abandon)
}

// pair returns the scheduler under test and the reference.
func (c *chance) pair() [2]*twinned {
	pool, plain := kvcache.New(c.pool), reference.NewPool(c.pool.Blocks, c.pool.BlockSize, c.pool.PrefixCaching)
	pair := [2]*twinned{
		{sched: scheduler.Chunked(c.limits, pool), cache: pool},
		{sched: reference.NewScheduler(c.limits, plain), cache: plain},
	}
	for _, t := range pair {
		for i := range c.requests {
			s := c.requests[i]
			t.seqs = append(t.seqs, &s)
		}
	}
	return pair
}

// step lets both live through step n of the workload and returns what the plan was, in words.
func (c *chance) step(t *twinned, n int) (plan string, free int) {
	for i, s := range t.seqs {
		if c.arrive[i] == n {
			t.sched.Add(s)
		}
		if c.abandon[i] == n && c.arrive[i] <= n {
			t.sched.Drop(s)
		}
	}
	p := t.sched.Plan(0)
	plan, free = fmt.Sprintf("%s %+v", p.Describe(), p.Step), t.cache.Available()
	for _, w := range p.Work {
		if w.Decode {
			plan += fmt.Sprintf(" d%d", w.Seq.ID)
		}
	}
	if t.flying = append(t.flying, p); len(t.flying) == c.depth {
		done := t.flying[0]
		t.flying = t.flying[1:]
		c.judge(done)
		t.sched.Done(done, 0)
		for _, w := range done.Work {
			if s := w.Seq; w.Samples && s.State != scheduler.Gone && s.Out >= c.output[s.ID] {
				t.sched.Drop(s)
			}
		}
	}
	return plan, free
}

// judge decides about the drafts of a plan, by request and token.
func (c *chance) judge(p *scheduler.Plan) {
	for i := range p.Work {
		if w := &p.Work[i]; w.Drafts > 0 && w.Seq.State != scheduler.Gone {
			right := int32(uint32(w.Seq.ID)*7+uint32(w.Seq.Out)*13) % (w.Drafts + 1)
			w.Accepted = max(min(right, c.output[w.Seq.ID]-w.Seq.Out-1), 0)
		}
	}
}

// The reference counts drafts as vLLM's code does; here they follow from what a sequence has computed.
func TestChunkedAgreesWithTheReferenceOnDrafts(t *testing.T) {
	seeds, preemptions := uint64(120), int64(0)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		c := draw(seed)
		drafts := 1 + int(seed%6)
		c.limits.PipelineStages, c.depth = 0, 1
		if c.limits.AsyncScheduling {
			c.depth = 2
		}
		c.limits.Speculation = scheduler.Speculation{Drafts: drafts, Lookahead: drafts * int(seed%2), Slots: int(seed / 2 % 2), DropLast: seed%3 == 0}
		if seed%5 == 0 {
			c.limits.Speculation.ByBatch = []scheduler.Tier{{Seqs: 1, Drafts: drafts}, {Seqs: 3, Drafts: 0}, {Seqs: 4, Drafts: 1}}
		}
		c.pool.Blocks += (2*drafts + c.pool.BlockSize) / c.pool.BlockSize
		preemptions += c.compare(t, seed).Preemptions
	}
	if preemptions < 2*int64(seeds) {
		t.Errorf("too tame to prove anything: %d preemptions", preemptions)
	}
}

// TestChunkedAgreesWithTheReference lets the chunked policy and the plain one of sim/engine/reference live through
// random workloads, down to pools that hold one request: same plans, same sums, same free blocks, same counters.
func TestChunkedAgreesWithTheReference(t *testing.T) {
	var total scheduler.Counters
	seeds := uint64(120)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		c := draw(seed)
		k := c.compare(t, seed)
		total.Preemptions += k.Preemptions
		total.PrefixHits += k.PrefixHits
	}
	if n := int64(seeds); total.Preemptions < 4*n || total.PrefixHits < 80*n {
		t.Errorf("too tame to prove anything: %d preemptions, %d tokens hit", total.Preemptions, total.PrefixHits)
	}
}

// compare lets the pair live through the workload, and returns the counters that they agree on.
func (c *chance) compare(t *testing.T, seed uint64) scheduler.Counters {
	t.Helper()
	pair := c.pair()
	for n := 0; ; n++ {
		got, free := c.step(pair[0], n)
		want, wantFree := c.step(pair[1], n)
		if got != want || free != wantFree {
			t.Fatalf("seed %d, step %d:\ngot  %s, %d free\nwant %s, %d free\n%+v", seed, n, got, free, want, wantFree, c.limits)
		}
		if err := pair[0].sched.Check(); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, n, err)
		}
		if running, waiting := pair[0].sched.Load(); n >= 80 && running+waiting == 0 {
			break
		}
		if n > 20_000 {
			t.Fatalf("seed %d: no end\n%+v", seed, c.limits)
		}
	}
	if got, want := pair[0].sched.Counters(), pair[1].sched.Counters(); got != want {
		t.Fatalf("seed %d: counters %+v, want %+v", seed, got, want)
	}
	return pair[0].sched.Counters()
}
