package engine

import (
	"cmp"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Two engines may share a request: one computes the prompt, and its KV travels to the other, which decodes. Whoever
// coordinates them (see package cluster) holds a Ticket at each.
//
// The engine that decodes has the request's one Life: its client, its timer, its outcome. It opens it with Expect, before
// there is anything to do, and queues it with Join. When the scheduler has taken the memory for the prompt, Config.Fetch is
// called; Landed says that the KV is there.
//
// The engine that computes the prompt has a leg of it, from Prefill: a life that no client knows of, and of which only
// Config.Legs hears. When the leg is over its KV stays, until Free.

// A Ticket names a life to whoever coordinates several engines. It is valid until the life has ended; a leg's, until Free.
type Ticket struct{ l *life }

// Life returns what the engine knows of it.
func (t Ticket) Life() *Life { return &t.l.Life }

// Keeps reports whether a leg that is just over has its KV: it may have lost its memory while its last step was under way.
func (t Ticket) Keeps() bool { return t.l.seq.State == scheduler.Running }

// A Journey is the way of a request over two engines: where the time went, one part after the other, and what travelled.
// Whoever coordinates the engines keeps it; both lives show it.
type Journey struct {
	Spans  [Parts]time.Duration
	Until  sim.Time // what Spans cover, from the request's arrival on
	Bytes  int64    // of KV that had to travel
	Saved  int64    // of KV that did not, since the decoding engine's prefix cache had it
	Sent   sim.Time // the transfer began: its first bytes, of several chunks
	Landed sim.Time // and was over
	Failed bool     // the KV was gone when it was asked for
	Closed bool     // the first token has been streamed: what follows is no part of it
}

// Part is a part of a Journey.
type Part uint8

// The parts of a journey, in the order in which they are reported; what comes after them is the decoding engine's own.
const (
	AtFrontend Part = iota // from the client to the first queue, and to the engine that computes the prompt
	InQueue                // of the engine that computes the prompt
	InPrefill              // from its admission there to the end of its last step
	InHandover             // between the engines, apart from KV: the router, notices, polls
	InMemory               // in the queue of the decoding engine, until there is memory for the prompt
	InTransfer             // of KV, as far as anything waited for it
	Parts
)

// To adds the time until instant t to a part.
func (j *Journey) To(p Part, t sim.Time) {
	if t > j.Until && !j.Closed {
		j.Spans[p] += t.Sub(j.Until)
		j.Until = t
	}
}

// A stray is a load from a peer that has arrived, or failed.
type stray struct {
	l      *life
	tokens int32
}

// Expect opens the life of a request whose prompt another engine computes. It reports false if the request can never be
// served here; done has been called then.
func (e *Engine) Expect(r *workload.Request, done func(workload.Outcome)) (Ticket, bool) {
	l := e.open(r, done, opening{queued: e.kernel.Now()})
	if l.ended {
		return Ticket{l}, false
	}
	l.seq.Remote = true
	return Ticket{l}, true
}

// Join puts an expected request in the scheduler's queue at instant at, together with so many output tokens that are to
// come along with its prompt.
func (e *Engine) Join(t Ticket, at sim.Time, given int32) {
	t.l.Queued, t.l.seq.Given = at, given
	e.enqueue(t.l)
}

// Refusal reads only. It says why the engine would refuse a request, or "".
func (e *Engine) Refusal(r *workload.Request) string {
	limit := cmp.Or(r.MaxTokens, r.Output)
	return e.refuse(&life{seq: scheduler.Seq{Tokens: r.Prompt, Prompt: r.Tokens, MaxTokens: limit}, want: min(r.Output, limit)})
}

// Decline takes a request and refuses it.
func (e *Engine) Decline(r *workload.Request, done func(workload.Outcome), reason string) {
	e.open(r, done, opening{queued: e.kernel.Now(), refusal: reason})
}

// Answer gives the client of an expected request its first token, which reaches it at instant at: the other engine has
// sampled it, and streams it itself. It is not to be given again when the prompt's KV is there.
func (e *Engine) Answer(t Ticket, at sim.Time) {
	t.l.held++
	e.emit(t.l, at)
}

// Greet returns when the front end would be through with a prompt that came in now, and has it do the work.
func (e *Engine) Greet(tokens int32) sim.Time {
	return e.desk.tokenise(e.kernel.Now(), tokens).Add(e.c.Frontend.Ingress)
}

// Landed says that the first `tokens` tokens of a fetched prompt have KV here: all of them, or fewer if something failed.
// If its client has given up meanwhile, the memory that waited for it is given back.
func (e *Engine) Landed(t Ticket, tokens int32) {
	e.strays = append(e.strays, stray{t.l, tokens})
	e.wakeAt(e.kernel.Now())
}

// Prefill takes the leg of a request that is its prompt: r asks for one token. It joins the scheduler's queue at instant at.
// done is called when the leg is over, whatever its outcome, once; if it is completed its KV stays until Free. A leg that is
// refused is over at once.
func (e *Engine) Prefill(r *workload.Request, at sim.Time, done func(workload.Outcome)) Ticket {
	l := e.open(r, done, opening{queued: at, leg: true})
	if !l.ended {
		l.keep = true
		e.enqueue(l)
	}
	return Ticket{l}
}

// Free ends a leg: its KV is given back if it is over, and it stops if it is not.
func (e *Engine) Free(t Ticket) {
	if !t.l.ended {
		t.l.keep = false
		e.abort(t.l)
		return
	}
	e.released = append(e.released, t.l)
	e.wakeAt(e.kernel.Now())
}

// Holds returns how many lives keep memory for a peer: legs whose KV has not been fetched, and fetched prompts whose clients
// have given up before their KV was there.
func (e *Engine) Holds() int { return e.holds }

// An opening is how a life begins.
type opening struct {
	queued  sim.Time // when it will join the scheduler's queue
	leg     bool
	refusal string // why it is refused; "": the engine says whether it is
}

// open begins the life of a request, or refuses it.
func (e *Engine) open(r *workload.Request, done func(workload.Outcome), o opening) *life {
	now := e.kernel.Now()
	e.counts.Submitted++
	l := e.begin(r, done)
	l.Queued, l.leg = o.queued, o.leg
	if h := e.hooks(l).Arrived; h != nil {
		h(now, &l.Life)
	}
	reason := o.refusal
	if reason == "" {
		reason = e.refuse(l)
	}
	if reason != "" {
		e.reject(l, reason)
	} else if r.Timeout > 0 {
		e.wait(l)
	}
	return l
}

func (e *Engine) reject(l *life, reason string) {
	e.end(l, workload.Outcome{Status: workload.Rejected, Reason: reason, At: e.kernel.Now()})
	e.retire(l)
}

// wait has the client give up when its patience ends. That begins when it sends, which may be before the request is here.
func (e *Engine) wait(l *life) {
	r := l.Request
	t := e.kernel.At(max(e.kernel.Now(), r.Arrival.Add(r.Timeout)), sim.Arrive, func() { e.abort(l) })
	l.timer = &t
}

// hooks returns those that hear of a life.
func (e *Engine) hooks(l *life) *Hooks {
	if l.leg {
		return &e.c.Legs
	}
	return &e.c.Hooks
}

// hold drops a life whose memory must stay, and reports whether it did: that of a leg that is over, or of a prompt on its
// way to somebody who has given up.
func (e *Engine) hold(l *life) bool {
	if !l.queued {
		return false
	}
	if s := l.seq.State; s != scheduler.Running && s != scheduler.Loading {
		return false
	}
	e.holder.Hold(&l.seq)
	e.active--
	e.holds++
	l.onHold = true
	return true
}

// fetch passes on a load from a peer.
func (e *Engine) fetch(now sim.Time, load *scheduler.Load) {
	l := e.lives[load.Seq.ID]
	l.fetching = true
	e.fetching++
	e.c.Fetch(now, Ticket{l}, load)
}

// takeIn tells the scheduler what has arrived from peers, and gives back what they have fetched.
func (e *Engine) takeIn(now sim.Time) {
	for _, l := range e.released {
		e.give(l)
	}
	clear(e.released)
	e.released = e.released[:0]
	for i := range e.strays {
		e.arrived(&e.strays[i], now)
	}
	clear(e.strays)
	e.strays = e.strays[:0]
}

func (e *Engine) arrived(a *stray, now sim.Time) {
	l := a.l
	e.fetching--
	l.fetching = false
	if l.onHold {
		e.give(l)
		return
	}
	e.loader.Ready(&l.seq, int(a.tokens))
	if l.seq.Out == 0 || l.ended {
		return
	}
	l.lag = e.desk.lag(1)
	if l.Emitted == 0 { // the first token came along
		out := e.desk.turn(now)
		l.held++
		l.lost = 0 // if it had lost its memory before, no token was missed
		e.desk.write(out, 1)
		e.emit(l, out.Add(l.lag))
	}
}

// give gives back the memory of a life on hold.
func (e *Engine) give(l *life) {
	e.holder.Free(&l.seq)
	e.holds--
	e.retire(l)
}

// enqueue puts a life in the inbox, in the order of the instants at which the front end is through with it.
func (e *Engine) enqueue(l *life) {
	e.inbox = append(e.inbox, l)
	for at := len(e.inbox) - 1; at > 0 && e.inbox[at-1].Queued > l.Queued; at-- {
		e.inbox[at-1], e.inbox[at] = l, e.inbox[at-1] // a short prompt overtakes a long one that another process tokenises
	}
	e.wakeAt(l.Queued)
}
