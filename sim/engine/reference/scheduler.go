package reference

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// twin is vLLM's V1 scheduler. There are no phases: in every step it hands out tokens so that what each sequence has
// computed catches up with what it knows, the running ones first, in the order of their admission.
type twin struct {
	limits  scheduler.Limits
	pool    *Pool
	running []*scheduler.Seq // in the order of their last admission
	waiting []*scheduler.Seq
	skipped []*scheduler.Seq               // passed over at the last look, since steps from before their preemption were in flight
	before  func(a, b *scheduler.Seq) bool // nil: first come, first served
	notes   map[*scheduler.Seq]*note
	plans   int // made so far
	tokens  int // that the step being planned may still compute
	rows    int // of capacity that it has left
	now     int // drafts of every decode, made at the end of the last step
	count   scheduler.Counters
}

// note is what the twin remembers of a sequence beyond the fields of the Seq.
type note struct {
	decoding bool // all it knows is computed, or in flight
	drafted  bool // it has had a token since it was admitted, and has drafts from then on
	turn     int  // the first plan that may take it again: with pipeline stages, each decodes once a round
}

// NewScheduler returns vLLM's V1 scheduler over pool p, written without any concern for speed. Limits' NumGPUBlocks is
// only used for the watermark; the blocks are those of the pool. Of an Order only Before is asked: those that do more, or
// change while sequences wait, it does not know.
func NewScheduler(l scheduler.Limits, p *Pool) scheduler.Scheduler {
	t := &twin{limits: l, pool: p, notes: map[*scheduler.Seq]*note{}}
	switch {
	case l.Order != nil && l.Order != scheduler.FCFS():
		t.before = l.Order.Before
	case l.Priority:
		t.before = byPriority
	}
	t.now = t.drafts(0)
	return t
}

// budget returns the tokens that a step may compute.
func (t *twin) budget() int {
	if t.limits.MaxNumScheduledTokens > 0 {
		return min(t.limits.MaxNumScheduledTokens, t.limits.MaxNumBatchedTokens)
	}
	return t.limits.MaxNumBatchedTokens
}

// fitted returns tokens, or the model's length if that is less.
func (t *twin) fitted(tokens int) int {
	if t.limits.MaxModelLen > 0 {
		return min(tokens, t.limits.MaxModelLen)
	}
	return tokens
}

// short returns n, or the long-prefill threshold if there is one and it is less.
func (t *twin) short(n int) int {
	if t.limits.LongPrefillTokenThreshold > 0 {
		return min(n, t.limits.LongPrefillTokenThreshold)
	}
	return n
}

// Refuse implements [scheduler.Scheduler].
func (t *twin) Refuse(s *scheduler.Seq) string {
	if need, have := t.pool.blocksFor(t.fitted(int(s.Prompt)+t.ahead())), len(t.pool.blocks); need > have {
		return fmt.Sprintf("the prompt needs %d KV blocks, the pool has %d", need, have)
	}
	if !t.limits.EnableChunkedPrefill && t.short(int(s.Prompt)) > t.budget() {
		return fmt.Sprintf("prompt longer than the budget, and chunked prefill is off: it needs a step of %d tokens, the budget is %d", s.Prompt, t.budget())
	}
	return ""
}

// Add implements [scheduler.Scheduler].
func (t *twin) Add(s *scheduler.Seq) {
	s.State = scheduler.Waiting
	t.notes[s] = &note{}
	t.waiting = t.sorted(append(t.waiting, s))
}

// sorted puts a queue in order; first come, first served leaves it as it is.
func (t *twin) sorted(queue []*scheduler.Seq) []*scheduler.Seq {
	if t.before != nil {
		slices.SortStableFunc(queue, t.compare)
	}
	return queue
}

func (t *twin) compare(a, b *scheduler.Seq) int {
	switch {
	case t.before(a, b):
		return -1
	case t.before(b, a):
		return 1
	}
	return 0
}

// byPriority says that the more important comes first, then the older.
func byPriority(a, b *scheduler.Seq) bool {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.Order, b.Order)) < 0
}

// Plan implements [scheduler.Scheduler].
func (t *twin) Plan(sim.Time) *scheduler.Plan {
	t.plans++
	p := &scheduler.Plan{}
	t.tokens, t.rows = t.budget(), t.limits.MaxNumBatchedTokens
	t.carryOn(p)
	if len(p.Preempted) == 0 {
		t.admit(p)
	}
	t.count.Preemptions += int64(len(p.Preempted))
	for i := range p.Work {
		t.settle(&p.Work[i])
		w := p.Work[i]
		if w.Decode {
			p.Step.AddVerification(int(w.Drafts), int(w.Past), t.limits.Window)
		} else {
			p.Step.AddChunk(int(w.Tokens), int(w.Past), w.Samples, t.limits.Window)
		}
		if t.limits.Speculation.Drafts > 0 && w.Samples {
			p.Step.AddProposal(int(w.Past + w.Tokens))
		}
	}
	if t.limits.Speculation.Drafts > 0 && len(p.Work) > 0 {
		t.now = t.drafts(len(p.Work))
		p.Step.Draft.Depth = t.now
	}
	return p
}

// carryOn gives the running sequences their tokens. A sequence that gets no memory
// takes it from the last one (or the least important), in the end from itself; then the others have to wait too.
func (t *twin) carryOn(p *scheduler.Plan) {
	for i := 0; i < len(t.running) && t.left() > 0; i++ {
		s := t.running[i]
		n := t.gap(s)
		if n == 0 {
			continue
		}
		for !t.pool.Grow(s.ID, t.fitted(int(s.Computed)+n+t.ahead()), int(s.Known())) {
			at := t.victim()
			v := t.running[at]
			t.running = slices.Delete(t.running, at, at+1)
			if at < i {
				i--
			}
			t.restore(withdraw(p, v))
			t.preempt(v)
			p.Preempted = append(p.Preempted, v)
			if v == s {
				return
			}
		}
		p.Work = append(p.Work, scheduler.Work{Seq: s, Tokens: int32(n)})
		t.spend(n)
	}
}

// gap returns the tokens that a running sequence can use in this step.
func (t *twin) gap(s *scheduler.Seq) int {
	if s.Pending > 0 && s.Computed+2-s.Pending >= s.Prompt+s.MaxTokens {
		return 0 // its last token is in flight
	}
	if t.plans < t.notes[s].turn {
		return 0
	}
	n := int(s.Known() + s.Pending - s.Computed)
	if t.notes[s].drafted {
		n += t.now
	}
	n = min(t.short(n), t.left())
	if t.limits.MaxModelLen > 0 {
		n = min(n, t.limits.MaxModelLen-int(s.Computed)-1)
	}
	return max(n, 0)
}

// victim returns the place in running of the sequence to preempt.
func (t *twin) victim() int {
	if t.before != nil {
		return slices.Index(t.running, slices.MaxFunc(t.running, t.compare))
	}
	return len(t.running) - 1
}

// withdraw takes s out of the step, if it is in, and returns the tokens it gives back.
func withdraw(p *scheduler.Plan, s *scheduler.Seq) int {
	for i, w := range p.Work {
		if w.Seq == s {
			p.Work = slices.Delete(p.Work, i, i+1)
			return int(w.Tokens)
		}
	}
	return 0
}

// preempt takes the memory of s. Its tokens are kept; all their KV will have to be computed again.
func (t *twin) preempt(s *scheduler.Seq) {
	t.pool.Release(s.ID)
	s.State = scheduler.Preempted
	s.Computed, s.Pending, s.Stale = 0, 0, s.InFlight
	s.Preemptions++
	t.notes[s].decoding, t.notes[s].drafted = false, false
	t.waiting = t.sorted(slices.Insert(t.waiting, 0, s))
}

// admit lets waiting sequences in while they fit. Nobody overtakes the head of the queue, unless it has to wait for
// steps from before its preemption.
func (t *twin) admit(p *scheduler.Plan) {
	var aside []*scheduler.Seq
	t.waiting, t.skipped = t.sorted(t.waiting), t.sorted(t.skipped) // those preempted may have got tokens that were in flight
	for t.left() > 0 && len(t.running) < t.limits.MaxNumSeqs && len(t.waiting)+len(t.skipped) > 0 {
		queue := t.next()
		s := (*queue)[0]
		if s.Stale > 0 {
			*queue = (*queue)[1:]
			aside = append(aside, s)
			continue
		}
		n := t.enter(s)
		if n == 0 {
			break
		}
		*queue = (*queue)[1:]
		t.running = append(t.running, s)
		p.Admitted = append(p.Admitted, s)
		p.Work = append(p.Work, scheduler.Work{Seq: s, Tokens: int32(n)})
		t.spend(n)
	}
	t.skipped = t.sorted(slices.Concat(aside, t.skipped))
}

// next returns the queue whose head is to be looked at; one of them is not empty.
func (t *twin) next() *[]*scheduler.Seq {
	switch {
	case len(t.skipped) == 0:
		return &t.waiting
	case len(t.waiting) == 0 || t.before == nil || t.before(t.skipped[0], t.waiting[0]):
		return &t.skipped
	}
	return &t.waiting
}

// enter takes the memory for the first chunk of s and returns the chunk's tokens, or 0 if s does not fit.
func (t *twin) enter(s *scheduler.Seq) int {
	known := int(s.Known())
	hit := t.match(s)
	n := t.short(known - hit.Tokens)
	if !t.limits.EnableChunkedPrefill && n > t.left() {
		return 0
	}
	n = min(n, t.left())
	spare := 0
	if len(t.running) > 0 {
		spare = int(t.limits.Watermark * float64(t.limits.NumGPUBlocks))
	}
	whole := t.pool.Need(hit, t.fitted(known)) + spare
	if t.limits.SchedulerReserveFullISL && whole > t.pool.Usage().Available() {
		return 0
	}
	if !t.pool.Admit(s.ID, s.Tokens, hit, kvcache.Claim{Tokens: t.fitted(hit.Tokens + n + t.ahead()), Known: known, Spare: spare}) {
		return 0
	}
	if s.Preemptions == 0 {
		s.Hit = int32(hit.Tokens)
		if t.pool.caching {
			t.count.PrefixQueries += int64(known)
			t.count.PrefixHits += int64(hit.Tokens)
		}
	}
	s.State = scheduler.Running
	s.Computed = int32(hit.Tokens)
	return n
}

// settle completes a work item once the step is fixed, and counts its tokens as computed: the next plan is made before
// they are.
func (t *twin) settle(w *scheduler.Work) {
	s, note := w.Seq, t.notes[w.Seq]
	w.Past = s.Computed
	s.Computed += w.Tokens
	s.InFlight += w.Tokens
	w.Samples = s.Computed >= s.Known()+s.Pending
	w.Decode = note.decoding
	if !w.Decode && s.Preemptions > 0 {
		t.count.RecomputedTokens += int64(w.Tokens)
	}
	if !w.Samples {
		return
	}
	w.Drafts = s.Computed - s.Known() - s.Pending
	note.decoding, note.drafted = true, t.limits.Speculation.Drafts > 0
	note.turn = t.plans + t.limits.PipelineStages
	if t.limits.AsyncScheduling {
		s.Pending += 1 + w.Drafts
	}
}

// Done implements [scheduler.Scheduler].
func (t *twin) Done(p *scheduler.Plan, _ sim.Time) {
	for _, w := range p.Work {
		s := w.Seq
		if s.State == scheduler.Gone {
			continue
		}
		s.InFlight -= w.Tokens
		stale := s.Stale > 0
		if stale {
			s.Stale -= w.Tokens
		}
		if !w.Samples {
			continue
		}
		s.Out++
		t.verdict(w, stale)
		if t.limits.AsyncScheduling && !stale {
			s.Pending--
		}
		// A synchronous plan knows all tokens when it takes their blocks; here they were only promised until now.
		if t.limits.AsyncScheduling && s.State == scheduler.Running {
			t.pool.Know(s.ID, int(s.Computed-s.Pending))
		}
	}
}

// Drop implements [scheduler.Scheduler].
func (t *twin) Drop(s *scheduler.Seq) {
	is := func(other *scheduler.Seq) bool { return other == s }
	t.running = slices.DeleteFunc(t.running, is)
	t.waiting = slices.DeleteFunc(t.waiting, is)
	t.skipped = slices.DeleteFunc(t.skipped, is)
	if s.State == scheduler.Running {
		t.pool.Release(s.ID)
	}
	s.State = scheduler.Gone
	delete(t.notes, s)
}

// Load implements [scheduler.Scheduler].
func (t *twin) Load() (running, waiting int) { return len(t.running), len(t.waiting) + len(t.skipped) }

// Counters implements [scheduler.Scheduler].
func (t *twin) Counters() scheduler.Counters { return t.count }

// Check implements [scheduler.Scheduler].
func (t *twin) Check() error {
	if len(t.running) > t.limits.MaxNumSeqs {
		return fmt.Errorf("seats: %d sequences run, max_num_seqs is %d", len(t.running), t.limits.MaxNumSeqs)
	}
	if lists := len(t.running) + len(t.waiting) + len(t.skipped); lists != len(t.notes) {
		return fmt.Errorf("conservation of sequences: %d are listed, %d are known", lists, len(t.notes))
	}
	if len(t.pool.tables) != len(t.running) {
		return fmt.Errorf("conservation of sequences: %d hold blocks, %d run", len(t.pool.tables), len(t.running))
	}
	for _, s := range t.running {
		held := t.pool.tables[s.ID]
		if s.State != scheduler.Running || held == nil || len(held.blocks) < t.pool.blocksFor(int(s.Computed)) {
			return fmt.Errorf("memory before work: sequence %d has computed %d tokens without the blocks for them", s.ID, s.Computed)
		}
	}
	return t.pool.Check()
}
