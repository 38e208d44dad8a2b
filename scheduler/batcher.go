package scheduler

import (
	"math"
	"slices"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// batcher is the mechanism that the policies share: who runs, who waits, what a step has spent, what it costs, which
// plan is reused next. It decides nothing by itself. All its arithmetic is on the hot path: a running decode costs a
// few additions a step, and the cache hears of it only when a block fills.
type batcher struct {
	// What every step looks at comes first, close together.
	cache     kvcache.Cache
	budget    int32 // tokens that the plan being made may still take
	plans     int32 // made so far
	capacity  int32 // budget of a whole step
	threshold int32 // most tokens of one sequence in a step
	maxLen    int32 // most tokens of one sequence
	blockSize int32
	inverse   uint64 // of it; see filled
	stages    int32  // of the pipeline
	async     bool   // a plan is made before the outputs of the one before are known
	touch     bool   // a decode wants a free block at hand, even when its last one has room (vLLM V0)
	padded    bool   // steps cost more than the rows of their plan (static batching)
	unbounded bool   // the budget bounds prompts only: every decode gets its token
	attended  bool   // an order wants to be asked, or drafts to be counted, before every plan
	laden     bool   // steps may carry more than their rows: blocks to be moved, or drafts
	cohort    cohort // of the running, those that decode in step
	folder    folder
	last      int32 // the number of the last plan with work; 0: there has been none
	running   running
	waiting   queue
	skipped   queue    // passed over at the last look: they may not be admitted yet
	aside     []*Seq   // scratch of the admission pass
	moved     Moved    // not charged to a step yet
	spare     int      // blocks that an admission must leave free (the watermark)
	total     int      // blocks of the pool
	holds     [2]int32 // tokens that it holds, and blocks that it leaves free beside them, as far as anybody has asked
	spec      speculation
	counters  Counters
	events

	limits  Limits
	window  hardware.Window
	slider  kvcache.Slider // nil: no layer of the model has a window
	tier    kvcache.Tier   // nil: what the cache overwrites is lost
	leaver  kvcache.Steady // the cache, if it treats sequences that will not come back in a way of their own
	order   order
	reserve reservation
	grip    grip
	toBack  bool // whoever is preempted goes to the end of the line (SGLang)
	swap    swap
	known   [2]int64 // of the blocks that the cache has ever copied down, and farther: those accounted for, or copied for an engine before
	held    int      // sequences on hold
	fetches bool     // KV has been fetched from a peer
	idle    Plan     // the empty one
}

// newBatcher reads the settings; a zero limit means none.
func newBatcher(l Limits, c kvcache.Cache) batcher {
	b := batcher{
		limits: l, cache: c, blockSize: int32(c.BlockSize()),
		stages: int32(l.PipelineStages), async: l.AsyncScheduling, window: l.Window,
		spec: newSpeculation(l.Speculation),
	}
	b.inverse = 1<<63/uint64(b.blockSize) + 1
	if w, ok := c.(kvcache.Slider); ok && w.Slides() {
		b.slider = w
	}
	if b.tier, _ = c.(kvcache.Tier); b.tier != nil {
		b.known[0], b.known[1] = b.tier.Copied()
	}
	if l.Order == nil && l.Priority {
		l.Order = Priority()
	}
	b.obey(l.Order)
	b.attended = b.ticker != nil || b.watcher != nil || b.pacer != nil || b.spec.on
	b.total = c.Usage().Total
	b.capacity = min(bound(l.MaxNumBatchedTokens), bound(l.MaxNumScheduledTokens))
	b.threshold = bound(l.LongPrefillTokenThreshold)
	b.maxLen = bound(l.MaxModelLen)
	b.limits.MaxNumSeqs = int(bound(l.MaxNumSeqs))
	blocks := l.NumGPUBlocks
	if blocks == 0 {
		blocks = b.total + 1
	}
	b.spare = int(l.Watermark * float64(blocks))
	b.swap.space = l.SwapBlocks
	b.laden = b.spec.on || b.tier != nil || b.swap.space > 0
	b.leaver, _ = c.(kvcache.Steady)
	return b
}

// bound returns limit n, where 0 means that there is none.
func bound(n int) int32 {
	if n <= 0 || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int32(n)
}

// Add puts s in the waiting line.
func (b *batcher) Add(s *Seq) {
	s.State = Waiting
	if b.greeter != nil {
		b.greeter.Arrive(s)
	}
	b.waiting.push(s)
}

// begin returns an empty plan to fill, and the whole budget to fill it with.
func (b *batcher) begin(now sim.Time) *Plan {
	b.plans++
	b.budget = b.capacity
	if b.attended {
		b.attend(now)
	}
	p := b.folder.take()
	p.reset()
	return p
}

// attend is the part of begin that most schedulers have no use for.
func (b *batcher) attend(now sim.Time) {
	b.show(now)
	if b.pacer != nil {
		b.budget = b.pacer.pace(now, b)
	}
	b.open()
}

func (p *Plan) reset() {
	p.Work = p.Work[:0]
	p.Preempted = p.Preempted[:0]
	p.Admitted = p.Admitted[:0]
	p.Loads = p.Loads[:0]
	p.Ranks = p.Ranks[:0]
	p.Moved = Moved{}
	p.Wake = 0
	p.Step = hardware.Step{}
	p.Members, p.Beat, p.beats, p.next = 0, 0, false, 0
	p.Last = p.Last[:0]
}

// end hands the plan out.
func (b *batcher) end(p *Plan) *Plan {
	if b.laden || p.Empty() {
		return b.complete(p)
	}
	b.last = p.number
	return p
}

// latest returns the last plan with work, or nil if there has been none.
func (b *batcher) latest() *Plan {
	if b.last == 0 {
		return nil
	}
	return b.folder.plans[b.last]
}

// complete is end for a plan that is empty, or may carry more than its rows. Empty plans are all the same one, so that
// asking in vain costs nothing.
func (b *batcher) complete(p *Plan) *Plan {
	if p.Empty() {
		b.idle.reset()
		b.idle.Preempted = append(b.idle.Preempted, p.Preempted...)
		b.idle.Loads = append(b.idle.Loads, p.Loads...)
		b.idle.Wake = p.Wake
		b.folder.put(p)
		return &b.idle
	}
	p.Moved, b.moved = b.moved, Moved{}
	b.last = p.number
	if b.spec.on {
		b.spec.now = b.spec.after(p.Step.Seqs)
		p.Step.Draft.Depth = int(b.spec.now)
	}
	return p
}

// due returns how many tokens a running sequence may compute now; 0 or less: it sits this step out.
func (b *batcher) due(s *Seq) int32 {
	if s.Pending > 0 && s.Computed+2-s.Pending-s.Prompt >= s.MaxTokens {
		return 0 // its last token is in flight already
	}
	if b.plans < s.turn {
		return 0
	}
	n := s.Prompt + s.Out + s.Pending + b.drafts(s) - s.Computed
	return min(n, b.threshold, b.budget, b.maxLen-s.Computed-1)
}

// decode puts one token of s into the plan, on top of all it knows: place, for the one case that matters to speed.
func (b *batcher) decode(p *Plan, s *Seq) {
	past := s.Computed
	s.Computed = past + 1
	s.InFlight++
	b.budget--
	w := p.row()
	w.Seq, w.Tokens, w.Past, w.Decode, w.Samples, w.Joins = s, 1, past, true, true, false
	s.turn = b.plans + b.stages
	if b.async {
		s.Pending++
	}
	if b.charger != nil {
		b.charger.Charge(w)
	}
	p.Step.AddDecode(int(past), b.window)
}

// place puts n tokens of s into the plan. They count as computed from now on: the next plan may be made before they are.
func (b *batcher) place(p *Plan, s *Seq, n int32) {
	past := s.Computed
	s.Computed = past + n
	s.InFlight += n
	w := p.row()
	w.Seq, w.Tokens, w.Past, w.Joins = s, n, past, false
	w.Decode = past >= s.fill
	w.Samples = past+n >= s.Prompt+s.Out+s.Pending
	if w.Decode || s.Preemptions > 0 || b.charger != nil || b.spec.on {
		b.account(p, w)
		return
	}
	b.budget -= n
	if w.Samples {
		b.expect(s)
	}
	p.Step.AddChunk(int(n), int(past), w.Samples, b.window)
}

// account is the rest of place for a row that is not just a chunk of a prompt.
func (b *batcher) account(p *Plan, w *Work) {
	s := w.Seq
	b.spend(w.Tokens)
	if b.spec.on {
		b.speculate(w)
	}
	if w.Samples {
		b.expect(s)
	}
	if b.charger != nil {
		b.charger.Charge(w)
	}
	b.addTo(&p.Step, w)
	if s.Preemptions > 0 && !w.Decode {
		b.counters.RecomputedTokens += int64(w.Tokens)
	}
}

// expect notes that an output token of s is on its way.
func (b *batcher) expect(s *Seq) {
	s.turn = b.plans + b.stages
	if b.async {
		s.Pending++
	}
}

// addTo adds a row to the sums of a step.
func (b *batcher) addTo(s *hardware.Step, w *Work) {
	if w.Decode {
		s.AddVerification(int(w.Drafts), int(w.Past), b.window)
	} else {
		s.AddChunk(int(w.Tokens), int(w.Past), w.Samples, b.window)
	}
	if b.spec.on && w.Samples {
		s.AddProposal(int(w.Past + w.Tokens))
	}
}

// row returns a new row of the plan, to be filled in place: copying a Work just written costs more than writing it.
func (p *Plan) row() *Work {
	n := len(p.Work)
	if n == cap(p.Work) {
		p.Work = slices.Grow(p.Work, 1)
	}
	p.Work = p.Work[:n+1]
	return &p.Work[n]
}

// Done reports that p, the oldest plan in flight, has run.
func (b *batcher) Done(p *Plan, _ sim.Time) {
	if p.Empty() {
		return
	}
	b.cohort.land(p)
	for i := range p.Work {
		b.ran(&p.Work[i])
	}
	b.folder.put(p)
}

// ran reports that a row has run.
func (b *batcher) ran(w *Work) {
	s := w.Seq
	s.InFlight -= w.Tokens
	stale := s.Stale > 0
	if stale {
		s.Stale -= w.Tokens
	}
	if !w.Samples || s.State >= Gone {
		return
	}
	s.Out++
	if b.spec.on {
		b.verdict(w, stale)
	}
	if stale {
		b.refile(s)
	}
	if !b.async {
		return
	}
	if !stale {
		s.Pending--
	}
	// A synchronous plan knows the tokens whose blocks it fills. Here their content is known only now.
	if known := s.Computed - s.Pending; s.State == Running && known >= s.full {
		b.cache.Know(s.ID, int(known))
		s.full = b.nextFull(known)
	}
}

// Drop takes out a sequence, whatever its state.
func (b *batcher) Drop(s *Seq) {
	if !s.unnamed {
		b.forget(s)
		return
	}
	b.running.remove(s)
	b.part(s)
	b.leaver.Leave(s.ID, int(s.Computed), s.content())
	s.State = Gone
}

// forget is Drop for a sequence that does not go unnamed.
func (b *batcher) forget(s *Seq) {
	switch s.State {
	case Running:
		b.cohort.leave(s)
		b.running.remove(s)
		b.leave(s)
	case Waiting, Preempted, Loading, Loaded:
		if !b.waiting.remove(s) {
			b.skipped.remove(s)
		}
		if s.State >= Loading {
			b.cache.Release(s.ID)
		}
	case Swapped:
		b.swap.remove(s, b.blocks(s.Computed))
	case Gone:
		return
	}
	s.State = Gone
}

// leave gives back the memory of a sequence that will not come back.
func (b *batcher) leave(s *Seq) {
	if b.leaver != nil {
		b.leaver.Leave(s.ID, 0, 0)
	} else {
		b.cache.Release(s.ID)
	}
}

// Load reads only.
func (b *batcher) Load() (running, waiting int) {
	return b.running.n, b.waiting.n + b.skipped.n + len(b.swap.line)
}

// Counters reads only.
func (b *batcher) Counters() Counters { return b.counters }
