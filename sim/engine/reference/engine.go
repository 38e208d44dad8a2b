package reference

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Run serves reqs to the end and tells what happened. It is vLLM's engine loop in a straight line:
//
//	take in what has arrived
//	while fewer than InFlight batches are in flight and requests are unfinished: plan one more, even an empty one
//	wait for the oldest batch, hand out its tokens, let go of what has finished
//
// All that the engine does happens at now, which only moves when it waits. So an arrival is seen at the end of the step
// that it falls into, and, if it falls on that very instant, by the plan that is made at it.
func Run(reqs []*workload.Request, c Config) Log {
	e := newLoop(reqs, c)
	for {
		e.takeIn()
		if len(e.flight) < e.InFlight && e.alive() {
			e.launch()
			if len(e.flight) < e.InFlight {
				continue
			}
		}
		switch {
		case len(e.flight) > 0 && !e.idle():
			e.land()
		case !e.skipAhead():
			return e.finish()
		}
	}
}

// loop is the state of a run: what would be local variables, were it a single function.
type loop struct {
	Config
	log Log

	requests  []*request // by arrival
	arrived   int        // of which the engine has taken in so many
	now       sim.Time
	active    []*request // taken in and not ended, by arrival
	stages    []sim.Time // when each pipeline stage is free
	flight    []batch    // the oldest first
	fruitless int        // plans in a row that did nothing while nothing else happened
	written   sim.Time   // when the API process has written all chunks so far
	wake      sim.Time   // when the last plan wants to be asked again; 0: on the next event
}

// request is a request and what has become of it.
type request struct {
	*workload.Request
	index   int // in the caller's list
	seq     *scheduler.Seq
	emitted int
	sent    int           // of which reached the client
	lag     time.Duration // from when the chunks of a step are begun to when its own is there
	last    sim.Time      // when its newest token reached the client
	due     sim.Time      // when it joins the scheduler's queue
	ready   sim.Time      // when its newest token in flight is known: with several stages, a decode has to wait for it
	ended   bool
}

// batch is a plan in flight.
type batch struct {
	plan *scheduler.Plan
	end  sim.Time
}

func newLoop(reqs []*workload.Request, c Config) *loop {
	c.InFlight = max(c.InFlight, 1)
	e := &loop{Config: c, stages: make([]sim.Time, max(c.Stages, 1))}
	for i, r := range reqs {
		e.requests = append(e.requests, &request{Request: r, index: i})
	}
	slices.SortStableFunc(e.requests, func(a, b *request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	e.tokenise()
	e.log.Outcomes = make([]workload.Outcome, len(reqs))
	return e
}

// tokenise works out when each request joins the scheduler's queue.
func (e *loop) tokenise() {
	done := sim.Time(0)
	for _, r := range e.requests {
		done = max(done, r.Arrival).Add(e.PerRequest + time.Duration(r.Tokens)*e.PerToken)
		r.due = done.Add(e.Ingress)
	}
}

// deadline is when the client of r gives up.
func (r *request) deadline() sim.Time {
	if r.Timeout <= 0 {
		return sim.Never
	}
	return r.Arrival.Add(r.Timeout)
}

// limit is the length of the answer that the client allows: one that names none gets what there is.
func (r *request) limit() int32 {
	if r.MaxTokens == 0 {
		return r.Output
	}
	return r.MaxTokens
}

// want is the length that the answer will have.
func (r *request) want() int { return int(min(r.Output, r.limit())) }

func (e *loop) alive() bool { return len(e.active) > 0 }

// takeIn empties the input queue: the requests that are due, and the news that clients have given up.
func (e *loop) takeIn() {
	for e.arrived < len(e.requests) && e.requests[e.arrived].due <= e.now {
		e.receive(e.requests[e.arrived])
		e.arrived++
	}
	gone := slices.DeleteFunc(slices.Clone(e.active), func(r *request) bool { return r.deadline() > e.now })
	slices.SortStableFunc(gone, func(a, b *request) int { return cmp.Compare(a.deadline(), b.deadline()) })
	for _, r := range gone {
		e.Scheduler.Drop(r.seq)
		e.end(r, workload.Outcome{Status: workload.Aborted, At: r.deadline()})
	}
}

// receive queues r, unless it can never be served — the server has said so at once — or its client has already gone.
func (e *loop) receive(r *request) {
	r.seq = &scheduler.Seq{
		ID:        e.freeID(),
		Tokens:    append(slices.Clone(r.Prompt), kvcache.Run{Label: r.Answer, Len: r.limit()}),
		Prompt:    r.Request.Tokens,
		MaxTokens: r.limit(),
		Priority:  r.Priority,
		Class:     r.Class,
		Client:    r.Client,
		Arrival:   r.Arrival,
		Order:     int64(e.arrived),
	}
	if e.Predict != nil {
		r.seq.Guess = e.Predict(r.Request)
	}
	if why := e.refusal(r); why != "" {
		e.end(r, workload.Outcome{Status: workload.Rejected, Reason: why, At: r.Arrival})
		return
	}
	if r.deadline() <= r.due {
		e.end(r, workload.Outcome{Status: workload.Aborted, At: r.deadline()})
		return
	}
	e.Scheduler.Add(r.seq)
	e.active = append(e.active, r)
}

// freeID returns the least ID that no sequence has.
func (e *loop) freeID() kvcache.SeqID {
	var taken []kvcache.SeqID
	for _, r := range e.active {
		taken = append(taken, r.seq.ID)
	}
	id := kvcache.SeqID(0)
	for slices.Contains(taken, id) {
		id++
	}
	return id
}

// refusal says why r can never be served, or "".
func (e *loop) refusal(r *request) string {
	prompt, allowed := int(r.seq.Prompt), int(r.seq.MaxTokens)
	if prompt < 1 || r.want() < 1 {
		return "the prompt or the answer has no tokens"
	}
	if e.MaxModelLen > 0 && (prompt+allowed > e.MaxModelLen || prompt >= e.MaxModelLen) {
		return fmt.Sprintf("prompt %d + max_tokens %d exceed max_model_len %d", prompt, allowed, e.MaxModelLen)
	}
	if e.Blocks > 0 {
		// The last token is handed out and never computed upon.
		if need := (prompt + r.want() - 1 + e.BlockSize - 1) / e.BlockSize; need > e.Blocks {
			return fmt.Sprintf("needs %d KV blocks, the pool has %d", need, e.Blocks)
		}
	}
	return e.Scheduler.Refuse(r.seq)
}

// launch makes a plan and puts it in flight. An empty plan takes a place there, but no time.
func (e *loop) launch() {
	p := e.Scheduler.Plan(e.now)
	e.wake = p.Wake
	e.fruitless++
	var evicted []int
	for _, s := range p.Preempted {
		e.fruitless = 0
		evicted = append(evicted, e.requests[s.Order].index)
		e.log.Preemptions = append(e.log.Preemptions, Preemption{e.requests[s.Order].index, e.now})
	}
	b := batch{plan: p, end: e.now}
	if !p.Empty() {
		e.fruitless = 0
		step := Step{Preempted: evicted}
		step.Start, step.End = e.execute(p)
		b.end = step.End
		for _, w := range p.Work {
			step.Work = append(step.Work, Item{e.requests[w.Seq.Order].index, int(w.Tokens), int(w.Past), w.Decode, w.Samples})
		}
		if e.Cache != nil {
			step.Free = e.Cache.Usage().Available()
		}
		e.log.Steps = append(e.log.Steps, step)
	}
	e.flight = append(e.flight, b)
	e.check()
}

// execute passes a plan through the stages of the pipeline, each of which takes one batch after another, the first not
// before the last has made the tokens that the plan starts from. The host's time is spent at the first.
func (e *loop) execute(p *scheduler.Plan) (start, end sim.Time) {
	priced := p.Step
	if e.Shared != nil {
		priced.KVShared = min(e.Shared(), priced.KVRead)
	}
	cost := e.Cost.Cost(priced)
	first := cost.Exposed + cost.Device + cost.Host
	if e.Async {
		first = cost.Exposed + max(cost.Device, cost.Host)
	}
	start = max(e.now, e.stages[0])
	for _, w := range p.Work {
		start = max(start, e.requests[w.Seq.Order].ready)
	}
	end = start.Add(max(first, 1)) // no step without time
	e.stages[0] = end
	for s := 1; s < len(e.stages); s++ {
		end = max(end.Add(cost.Hop), e.stages[s]).Add(cost.Device)
		e.stages[s] = end
	}
	for _, w := range p.Work {
		if w.Samples {
			e.requests[w.Seq.Order].ready = end
		}
	}
	return start, end
}

// land waits for the oldest batch and hands out its tokens. Those of requests that ended while the batch was in flight
// are discarded, and so are those whose client has given up, though the scheduler has yet to hear of that.
func (e *loop) land() {
	b := e.flight[0]
	e.flight = e.flight[1:]
	if !b.plan.Empty() {
		e.fruitless = 0
	}
	e.now = max(e.now, b.end)
	begun, chunks := max(e.now, e.written), 0
	work := slices.Clone(b.plan.Work) // the plan is the scheduler's again once it is done
	e.Scheduler.Done(b.plan, e.now)
	for _, w := range work {
		r := e.requests[w.Seq.Order]
		if w.Samples && !r.ended && r.deadline() > e.now {
			chunks += e.emit(r, begun, len(work))
		}
	}
	e.written = begun.Add(time.Duration(chunks) * e.PerChunk)
	for _, w := range work {
		r := e.requests[w.Seq.Order]
		if !r.ended && r.emitted == r.want() {
			e.Scheduler.Drop(r.seq)
			o := workload.Outcome{Status: workload.Completed, At: r.last}
			if r.deadline() < r.last { // the client gave up while its last chunk was on the way
				o = workload.Outcome{Status: workload.Aborted, At: r.deadline()}
			}
			e.end(r, o)
		}
	}
	e.check()
}

// emit hands out the next token of r, or holds it back until there are enough for a chunk, and returns how many chunks it
// sent. The client sees its first token after those of all other sequences in the step, and the rest of its answer as
// much later.
func (e *loop) emit(r *request, begun sim.Time, seqs int) int {
	interval := max(e.Interval, 1)
	r.emitted++
	if r.sent > 0 && r.emitted < r.want() && r.emitted-r.sent < interval {
		return 0
	}
	if r.sent == 0 {
		r.lag = time.Duration((seqs+interval-1)/interval) * e.PerChunk
	}
	r.last, r.sent = begun.Add(r.lag), r.emitted
	e.log.Tokens = append(e.log.Tokens, Token{r.index, r.emitted - 1, r.last})
	return 1
}

func (e *loop) end(r *request, o workload.Outcome) {
	r.ended = true
	e.active = slices.DeleteFunc(e.active, func(other *request) bool { return other == r })
	e.fruitless = 0
	e.log.Outcomes[r.index] = o
}

// idle reports whether nothing will happen by itself any more: all that is in flight is empty, and another plan would be
// empty too. With a pipeline it takes a round of empty plans to be sure, since a sequence may have to wait for its turn.
func (e *loop) idle() bool {
	for _, b := range e.flight {
		if !b.plan.Empty() {
			return false
		}
	}
	return !e.alive() || e.fruitless > e.InFlight+len(e.stages)
}

// skipAhead is what an idle engine does: it lets time pass until the next arrival, deadline, or the instant that the last
// plan asked for. It returns false if there is none.
func (e *loop) skipAhead() bool {
	for len(e.flight) > 0 {
		e.land()
	}
	next := sim.Never
	if e.arrived < len(e.requests) {
		next = e.requests[e.arrived].due
	}
	if e.alive() && e.wake > e.now {
		next = min(next, e.wake)
	}
	for _, r := range e.active {
		next = min(next, r.deadline())
	}
	if next == sim.Never {
		return false
	}
	e.now = max(e.now, next)
	e.fruitless = 0
	return true
}

func (e *loop) check() {
	if !e.Check {
		return
	}
	if err := e.Scheduler.Check(); err != nil {
		panic(fmt.Sprintf("reference.Run at %v: %v", e.now, err))
	}
}

func (e *loop) finish() Log {
	for _, r := range e.active {
		e.log.Unfinished = append(e.log.Unfinished, r.index)
	}
	return e.log
}
