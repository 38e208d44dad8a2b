package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Recorder measures a run. It is for one goroutine, the run's own.
type Recorder struct {
	c        Config
	perToken bool
	watches  []*watch

	total, warm Requests             // all requests; those of the warm-up
	ended       int                  // requests
	tells       int                  // how many will have ended when Config.Ended hears of it
	refusals    map[string]Rejection // by kind of reason
	origin      sim.Time             // first arrival at a server, or the end of the warm-up if that is later
	lastAnswer  sim.Time

	records  records
	crowd    crowd
	gaps     *gaps
	tokens   Tokens
	score    scoreboard
	stories  stories
	journeys journeys
	line     line
	rows     *rows
	classes  classBooks
	clients  *clientBooks
	booked   bool // there are books of classes or clients
	pooled   int  // requests that did not complete, but whose gaps are in the pool
}

// New returns a recorder that has seen nothing yet.
func New(c Config) *Recorder {
	r := &Recorder{c: c, gaps: newGaps(), refusals: map[string]Rejection{}, tells: tellEvery}
	r.perToken = c.PerToken || c.Warmup > 0 || c.asked().ITL > 0
	r.classes, r.clients = newClassBooks(c.Classes), newClientBooks(c.Clients)
	r.booked = r.classes != nil || r.clients != nil
	if c.Rows != nil {
		r.rows = newRows(c.Rows)
		r.rows.replicas = c.Several
	}
	return r
}

// Hooks returns hooks for the engine that Config.Engine describes.
func (r *Recorder) Hooks() engine.Hooks { return r.Watch(r.c.Engine) }

// Watch returns hooks for one more engine. A recorder may watch several; a request belongs to one of them.
func (r *Recorder) Watch(e Engine) engine.Hooks {
	e.GPUs = max(e.GPUs, 1)
	w := &watch{r: r, e: e}
	w.filler, _ = e.Cost.(hardware.Filler)
	r.watches = append(r.watches, w)
	return w.hooks()
}

// Ended reports how many requests have ended so far.
func (r *Recorder) Ended() int { return r.ended }

// tellEvery is how many requests end between two calls of Config.Ended: few enough to look alive, enough to cost nothing.
const tellEvery = 256

// tell calls Config.Ended, if anybody listens.
func (r *Recorder) tell() {
	r.tells += tellEvery
	if r.c.Ended != nil {
		r.c.Ended(r.ended)
	}
}

// arrive counts a request in.
func (r *Recorder) arrive(now sim.Time, l *engine.Life, w *watch, st *stay) {
	if r.total.Submitted == 0 {
		r.origin = max(now, r.c.Warmup)
	}
	r.total.Submitted++
	if !measured(l.Request.Arrival, r.c.Warmup) {
		r.warm.Submitted++
	} else if r.booked {
		r.arriveBooks(l.Request)
	}
	r.line.until(now)
	r.line.expect(now.Add(w.e.Ingress))
	if r.rows != nil {
		st.row = r.rows.open(l.Request, w.e.Name)
	}
}

// refusalKinds bounds how many reasons for refusal are told apart.
const refusalKinds = 64

// drop counts out a request of which nothing is measured.
func (r *Recorder) drop(l *engine.Life) {
	o := &l.Outcome
	r.total.end(o.Status)
	if !measured(l.Request.Arrival, r.c.Warmup) {
		r.warm.end(o.Status)
	} else if r.booked {
		r.finishBooks(l)
	}
	if o.Status == workload.Rejected {
		r.refuse(o.Reason)
	}
	if o.Status == workload.Aborted && l.Emitted > 1 && !r.perToken {
		r.pooled++
	}
}

// refuse counts a reason for refusal, given as its kind and, behind a colon, the numbers of this request.
func (r *Recorder) refuse(reason string) {
	kind, example, _ := strings.Cut(reason, ": ")
	if _, known := r.refusals[kind]; !known && len(r.refusals) >= refusalKinds {
		kind, example = "other reasons", ""
	}
	seen := r.refusals[kind]
	if seen.Count++; seen.Count == 1 {
		seen.Reason, seen.Example = kind, example
	}
	r.refusals[kind] = seen
}

func (t *Tokens) add(rec *record) {
	t.Input += int64(rec.prompt)
	t.Output += int64(rec.output)
}

// Flush writes the rows of requests that never ended, and whatever is still buffered, to Config.Rows. It returns the
// first error that writing rows met. Call it once, when the run is over.
func (r *Recorder) Flush() error {
	if r.rows == nil {
		return nil
	}
	return r.rows.flush()
}

// Report says what the run amounted to, up to instant end, where it stopped.
func (r *Recorder) Report(end sim.Time) Report {
	total := settle(r.total)
	r.line.until(end)
	if total.Unfinished == 0 && total.Submitted > 0 {
		end = r.lastAnswer
	}
	span := max(end-r.c.Warmup, 0)
	seconds, warm := span.Seconds(), settle(r.warm)
	uses := make([]used, len(r.watches))
	for i, w := range r.watches {
		uses[i] = w.used(end)
	}
	rep := Report{
		Requests: total, Rejections: r.rejections(), DurationS: seconds, Tokens: r.tokens,
		Latency:     r.records.latency(r.gaps, r.c.Percentiles),
		Goodput:     r.score.goodput(r.c.asked(), total.Submitted-warm.Submitted, seconds),
		Concurrency: little(r.censuses(), end),
		Engine:      engineUse(uses),
		Speculation: speculation(uses),
		GPU:         gpuUse(uses, seconds, r.tokens.Output),
		Attribution: Attribution{WallTime: wallTime(uses), TTFT: r.stories.ttft(), TPOT: r.stories.tpot()},
		Verdict:     r.verdict(total),
		Classes:     r.classes.report(&r.c, seconds), Clients: r.clients.report(),
	}
	if r.c.Disaggregation != nil {
		rep.Disaggregation = r.journeys.report(*r.c.Disaggregation, r.c.Percentiles)
	}
	if r.c.Several {
		rep.Replicas, rep.Fleet = replicaUses(uses), fleetUse(uses, float64(span))
	}
	if r.c.Warmup > 0 {
		rep.Warmup = &Warmup{
			UntilS: r.c.Warmup.Seconds(), Requests: warm, Measured: total.minus(warm), DurationS: seconds, Note: warmupNote,
		}
	}
	rep.Throughput = r.throughput(&rep)
	rep.Warnings = r.warnings(&rep)
	return rep
}

// end counts a request whose outcome is known.
func (q *Requests) end(s workload.Status) {
	switch s {
	case workload.Completed:
		q.Completed++
	case workload.Rejected:
		q.Rejected++
	case workload.Aborted:
		q.Aborted++
	}
}

// settle counts what has not ended as unfinished.
func settle(q Requests) Requests {
	q.Unfinished = q.Submitted - q.Completed - q.Rejected - q.Aborted
	return q
}

func (q Requests) minus(p Requests) Requests {
	return Requests{
		Submitted: q.Submitted - p.Submitted, Completed: q.Completed - p.Completed, Rejected: q.Rejected - p.Rejected,
		Aborted: q.Aborted - p.Aborted, Unfinished: q.Unfinished - p.Unfinished,
	}
}

func (r *Recorder) throughput(rep *Report) Throughput {
	per := func(n float64) float64 { return ratio(n, rep.DurationS) }
	in, out := float64(r.tokens.Input), float64(r.tokens.Output)
	tallies := make([]*tally, len(r.watches))
	for i, w := range r.watches {
		tallies[i] = &w.tally
	}
	return Throughput{
		RequestsPerS: per(float64(r.records.n)), InputTokensPerS: per(in), OutputTokensPerS: per(out),
		TotalTokensPerS: per(in + out), OutputTokensPerSPerGPU: ratio(per(out), rep.meanGPUs()),
		OutputTokensPerSPerUser: ratio(1000, rep.Latency.TPOT.Mean),
		PeakOutputTokensPerS:    busiest(tallies), PeakConcurrentRequests: r.crowd.largest(),
	}
}

func (r *Recorder) censuses() []*census {
	cs := make([]*census, len(r.watches))
	for i, w := range r.watches {
		cs[i] = &w.census
	}
	return cs
}

// rejections lists the reasons, the commonest first.
func (r *Recorder) rejections() []Rejection {
	list := make([]Rejection, 0, len(r.refusals))
	for _, reason := range slices.Sorted(maps.Keys(r.refusals)) {
		list = append(list, r.refusals[reason])
	}
	slices.SortStableFunc(list, func(a, b Rejection) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// warnings says what a reader of the numbers must know.
func (r *Recorder) warnings(rep *Report) []string {
	out := []string{}
	if n := rep.Requests.Rejected; n > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests were rejected; see rejections", n, rep.Requests.Submitted))
	}
	if r.records.n == 0 {
		out = append(out, rep.nothing()+": latencies and throughput are zero because there is nothing to measure")
	}
	if n := rep.Requests.Unfinished; n > 0 {
		out = append(out, fmt.Sprintf("%d requests were still unfinished when the run ended; they count as missed targets", n))
	}
	if s := rep.Engine.Swap; s != nil && s.Refused > 0 {
		out = append(out, fmt.Sprintf("%d preemptions found the swap space full and were recomputed; vLLM V0 stops with an error then", s.Refused))
	}
	if !r.perToken && r.pooled+rep.Requests.Unfinished > 0 {
		out = append(out, "itl also pools the gaps of requests that did not complete")
	}
	return out
}

// nothing says why there is nothing to measure.
func (rep *Report) nothing() string {
	switch w := rep.Warmup; {
	case rep.Requests.Submitted == 0:
		return "no request arrived"
	case w != nil && w.Measured.Submitted == 0:
		return fmt.Sprintf("no request arrived after the warm-up, which lasts %g s", w.UntilS)
	case w != nil:
		return "no request that arrived after the warm-up completed"
	}
	return "no request completed"
}
