package workload

import (
	"math/rand/v2"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// load is a checked Spec. It never changes, so it can be started many times.
type load struct {
	spec   Spec
	stream func(string) rand.Source
}

func (l *load) Requests() int {
	switch s := &l.spec; {
	case s.Duration > 0, !s.Sessions.none():
		return -1
	case s.Trace != nil:
		return s.Trace.first(s.Requests)
	default:
		return s.Requests
	}
}

func (l *load) Start(k *sim.Kernel, server Server) {
	s := &l.spec
	c := &client{
		kernel:  k,
		server:  server,
		content: s.content(l.stream),
		slots:   gate{limit: s.MaxConcurrency},
		until:   s.until(),
		number:  s.First,
		bounded: s.Requests > 0 || s.Trace != nil,
	}
	if closed, ok := s.Arrivals.(Closed); ok && s.Trace == nil {
		startClosed(c, closed, s.Requests)
		return
	}
	c.forgets = s.MaxConcurrency == 0 && s.Sessions.none()
	o := &open{client: c}
	o.arrive, o.handed = o.arrived, o.proceed
	o.draw()
}

// A client sends requests and hears of their end. Its request objects go round: their number is the largest number of
// requests that were ever under way together, plus one.
type client struct {
	kernel  *sim.Kernel
	server  Server
	content content
	slots   gate
	until   sim.Time // nothing is sent after it
	number  int64    // of the next turn of a session
	bounded bool     // the number of requests is limited
	free    []*sent

	forgets bool // nothing follows from how a request ends
}

// A sent request, with what belongs to it while it is under way.
type sent struct {
	Request
	runs  [2]kvcache.Run // room for the prompt
	done  func(Outcome)  // given to the server
	talk  *talk          // the session that it is a turn of; nil: none
	next  func()         // what the client does after the answer; may be nil
	how   Outcome        // how it ended
	ended func()         // gives the slot back and goes on
}

// draw returns the next request, or nil if there is no other.
func (c *client) draw() *sent {
	if len(c.free) == 0 {
		c.newObject()
	}
	last := len(c.free) - 1
	r := c.free[last]
	if !c.content.next(r) {
		return nil
	}
	c.free = c.free[:last]
	return r
}

// object returns a request that is free.
func (c *client) object() *sent {
	if len(c.free) == 0 {
		c.newObject()
	}
	last := len(c.free) - 1
	r := c.free[last]
	c.free = c.free[:last]
	return r
}

// newObject makes one more request object, which is free.
func (c *client) newObject() {
	r := new(sent)
	r.done = func(o Outcome) { c.answered(r, o) }
	r.ended = func() { c.end(r) }
	if c.forgets {
		r.done = func(Outcome) { c.free = append(c.free, r) }
	}
	c.free = append(c.free, r)
}

// send submits r now. The caller has taken a slot for it.
func (c *client) send(r *sent, next func()) {
	r.Arrival = c.kernel.Now()
	if !c.forgets {
		c.remember(r, next)
	}
	c.server.Submit(&r.Request, r.done)
}

// remember notes what follows when r has ended.
func (c *client) remember(r *sent, next func()) {
	r.next = next
	if r.talk != nil {
		r.ID = c.number // turns are not sent in the order in which they are drawn
		c.number++
	}
}

// answered learns how r ended. What follows from it is a later event, so that the server may finish its own with r
// before the object is used again.
func (c *client) answered(r *sent, o Outcome) {
	r.how = o
	if c.slots.limit == 0 && r.next == nil && r.talk == nil {
		c.end(r)
		return
	}
	at := max(o.At, c.kernel.Now())
	if at == r.Arrival && !c.bounded {
		// An answer that takes no time, a refusal, would have the client ask again at the same instant for ever.
		at = at.Add(time.Second)
	}
	c.kernel.At(at, sim.Arrive, r.ended)
}

func (c *client) end(r *sent) {
	next, t := r.next, r.talk
	if t != nil && t.hear(r, r.how) && next == nil {
		c.goOn(t)
	}
	r.next, r.talk = nil, nil
	c.free = append(c.free, r)
	c.slots.give()
	if next != nil {
		next()
	}
}

// open sends requests when their time has come. One event at most is pending, and one request waits for its time or
// for a slot: those behind it are drawn when it has been sent.
type open struct {
	*client
	pending *sent
	holds   bool   // a slot was handed over while the pending request waited for it
	arrive  func() // arrived and proceed, as values
	handed  func()
}

// draw makes the next request pending and schedules its arrival.
func (o *open) draw() {
	if o.pending = o.client.draw(); o.pending != nil {
		o.kernel.At(max(o.pending.Arrival, o.kernel.Now()), sim.Arrive, o.arrive)
	}
}

// arrived sends the pending request and those that arrive at the same instant, in their order.
func (o *open) arrived() {
	now := o.kernel.Now()
	for o.pending.Arrival <= now {
		if !o.holds && !o.slots.take() {
			o.slots.wait(o.handed)
			return
		}
		o.holds = false
		if now > o.until {
			o.pending = nil
			o.slots.give()
			return
		}
		o.send(o.pending, nil)
		if o.pending = o.client.draw(); o.pending == nil {
			return
		}
	}
	o.kernel.At(o.pending.Arrival, sim.Arrive, o.arrive)
}

// proceed goes on with the slot that was handed over.
func (o *open) proceed() {
	o.holds = true
	o.arrived()
}

// A gate lets a limited number of requests through; 0: any number. Those who wait come in their order.
type gate struct {
	limit, taken int
	waiting      []func()
}

// take takes a slot if there is one.
func (g *gate) take() bool {
	if g.limit == 0 {
		return true
	}
	if g.taken == g.limit {
		return false
	}
	g.taken++
	return true
}

// wait has ready called when a slot is handed over.
func (g *gate) wait(ready func()) { g.waiting = append(g.waiting, ready) }

// give gives a slot back: to the first who waits, if there is one.
func (g *gate) give() {
	if g.limit == 0 {
		return
	}
	if len(g.waiting) == 0 {
		g.taken--
		return
	}
	ready := g.waiting[0]
	g.waiting = g.waiting[1:]
	ready()
}
