package engine

import (
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// A life is a Life and what only the engine may know of it. It is recycled together with its sequence. When an answer ends
// its life has not been touched for long: what is needed then fills few cache lines.
type life struct {
	Life
	done   func(workload.Outcome)
	joined int64         // beats when it went unnamed; -1: plans name it
	lag    time.Duration // from the turn of a step's chunks to its own chunk's arrival at the client
	seq    scheduler.Seq
	want   int32 // tokens at which the answer ends
	held   int32 // tokens made, but held back until they make a chunk
	queued bool  // the scheduler holds the sequence
	ended  bool  // the client has its outcome

	leg      bool // a part of a request, computed here for another engine
	keep     bool // its memory stays when it is over
	fetching bool // its prompt's KV is on its way from a peer
	onHold   bool // it is over, and its memory stays

	timer *sim.Timer // of its client's patience; nil: it has no end
	peg   peg        // files it under the beat in which its answer ends by itself
	ready sim.Time   // when its newest token leaves the last pipeline stage; kept with several stages only
	lost  int64      // plans made when it was last preempted; 0: not since its newest token
}

type peg = sim.Peg[life]

// begin opens a life for a request: a slot, a sequence, and the answer's run behind the prompt's.
func (e *Engine) begin(r *workload.Request, done func(workload.Outcome)) *life {
	l := e.blank()
	limit := r.MaxTokens
	if limit == 0 { // a client without a limit of its own asks for exactly what it will get
		limit = r.Output
	}
	l.want = min(r.Output, limit)
	l.Request, l.done = r, done
	s := &l.seq
	s.Tokens = append(append(s.Tokens, r.Prompt...), kvcache.Run{Label: r.Answer, Len: limit})
	s.ID, s.Prompt, s.MaxTokens = kvcache.SeqID(l.Slot), r.Tokens, limit
	s.Priority, s.Class, s.Client = r.Priority, r.Class, r.Client
	s.Arrival, s.Order = e.kernel.Now(), e.order
	if e.c.Predict != nil {
		s.Guess = e.c.Predict(r)
	}
	e.order++
	return l
}

// blank returns a life in which nothing has happened, in a slot that is free; its sequence has room for tokens.
func (e *Engine) blank() *life {
	last := len(e.freeIDs) - 1
	if last < 0 {
		l := &life{Life: Life{Slot: int32(len(e.lives))}, joined: -1}
		l.Seq = &l.seq
		e.lives = append(e.lives, l)
		return l
	}
	l := e.lives[e.freeIDs[last]]
	e.freeIDs = e.freeIDs[:last]
	slot, room := l.Slot, l.seq.Tokens[:0]
	*l = life{}
	l.Slot, l.Seq, l.seq.Tokens, l.joined = slot, &l.seq, room, -1
	return l
}

// end tells observers and the client how the request ended. It leaves the scheduler alone.
func (e *Engine) end(l *life, o workload.Outcome) {
	switch o.Status {
	case workload.Completed:
		e.counts.Completed++
	case workload.Rejected:
		e.counts.Rejected++
	case workload.Aborted:
		e.counts.Aborted++
	}
	l.ended, l.Outcome = true, o
	if l.timer != nil {
		l.timer.Cancel()
	}
	if h := e.hooks(l).Finished; h != nil {
		h(e.kernel.Now(), &l.Life)
	}
	if l.done != nil {
		l.done(o)
	}
}

// A retirement is a life that has ended while plans that may name it were in flight.
type retirement struct {
	slot  int32
	after int64 // free once so many plans are done
}

// drop takes an ended life out of the scheduler.
func (e *Engine) drop(l *life) {
	if (l.keep || l.fetching) && e.hold(l) {
		return
	}
	if l.queued {
		if len(e.loads) > 0 {
			e.forgetLoad(&l.seq)
		}
		e.c.Scheduler.Drop(&l.seq)
		e.active--
	}
	e.retire(l)
}

// retire frees the life's slot, at once if no plan in flight can name it.
func (e *Engine) retire(l *life) {
	if e.flying.n == 0 {
		e.freeIDs = append(e.freeIDs, l.Slot)
		return
	}
	e.retired = append(e.retired, retirement{l.Slot, e.planned})
}

// reap frees the slots of retired lives that no plan in flight names any more.
func (e *Engine) reap() {
	done := e.done()
	if e.retired[0].after > done {
		return
	}
	n := 0
	for n < len(e.retired) && e.retired[n].after <= done {
		e.freeIDs = append(e.freeIDs, e.retired[n].slot)
		n++
	}
	e.retired = e.retired[:copy(e.retired, e.retired[n:])]
}
