package workload

import (
	"math/rand/v2"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// Sessions makes conversations of the requests: the prompt of a turn is everything said before, and a text of its own.
// So the context grows with every turn, and a server that keeps the KV of the turn before need not compute it again.
// The zero value makes every request stand alone.
//
// The law of arrivals says when sessions begin, at Rate divided by the mean number of turns, so that in the long run
// Rate requests come per second. What is said is drawn when a session begins: it is the same, however fast the server
// answers. A session one of whose requests is refused or given up ends there.
type Sessions struct {
	Turns Length        // requests in a session; no law: one
	Think time.Duration // from the end of an answer to the next turn
}

// none reports whether every request stands alone.
func (s Sessions) none() bool { return s.Turns.Law == nil }

// mostTurns bounds the turns of a session: what is said grows with their square.
const mostTurns = 1 << 16

func (s Sessions) check(c *faults, spec *Spec) {
	if s.none() {
		return
	}
	s.Turns.check(c, "sessions.turns")
	if mean := s.Turns.Mean(); mean > mostTurns {
		c.add("sessions.turns", "must be at most %d on average, got %.0f", mostTurns, mean)
	}
	if s.Think < 0 {
		c.add("sessions.think", "must not be negative, got %v", s.Think)
	}
	if spec.Prefix.Distinct > 0 {
		c.add("prefix.distinct", "does not go with sessions, whose prompts grow from turn to turn")
	}
	if rescales(spec.Arrivals) {
		c.add("arrivals.rescale", "does not go with sessions: nobody knows how many of them there will be")
	}
}

// rescales reports whether the law stretches its times to a known number of requests.
func rescales(a Arrivals) bool {
	switch a := a.(type) {
	case Poisson:
		return a.Rescale
	case Gamma:
		return a.Rescale
	}
	return false
}

// openings is the rate at which sessions begin.
func (s *Spec) openings() float64 {
	if s.Sessions.none() {
		return s.Rate
	}
	return s.Rate / s.Sessions.Turns.Mean()
}

// A talk is a session under way.
type talk struct {
	spec   *Spec
	first  Request       // its class, its client, its number
	ahead  []turn        // what is still to be said
	said   []kvcache.Run // the newest answer included
	tokens int32         // in said
	over   bool          // the client has no more to say, or no reason to
}

// A turn is one request of a session, and its answer, in tokens.
type turn struct{ own, output int32 }

// turnsBits is how many bits of a label's index number the turns of a session.
const turnsBits = 24

// label is that of the next turn's own text, or of its answer.
func (t *talk) label(k kind) uint64 {
	return k.label(uint64(t.first.Session)<<turnsBits | uint64(len(t.said)/2))
}

// converse makes r the first turn of a new session and returns how many requests that takes.
func (d *drawn) converse(r *sent, laws *lengths) int64 {
	n := min(int64(d.turns.draw()), d.left)
	d.sessions++
	r.Session = d.sessions
	t := &talk{spec: d.spec, first: r.Request, ahead: make([]turn, n-1)}
	for i := range t.ahead {
		t.ahead[i] = turn{laws.prompt.draw(), laws.output.draw()}
	}
	r.runs[1].Label, r.Answer = t.label(turnPrompt), t.label(turnAnswer)
	r.talk = t
	return n
}

// hear takes the answer to r into the conversation, and reports whether it goes on.
func (t *talk) hear(r *sent, o Outcome) bool {
	if t.over = len(t.ahead) == 0 || o.Status != Completed; t.over {
		return false
	}
	if len(t.said) == 0 {
		t.said = append(t.said, r.Prompt...)
	}
	t.said = append(t.said, kvcache.Run{Label: r.Answer, Len: r.Output})
	t.tokens = r.Tokens + r.Output
	return true
}

// speak makes r the next turn.
func (t *talk) speak(r *sent) {
	next := t.ahead[0]
	t.ahead = t.ahead[1:]
	r.Request = Request{
		Tokens: t.tokens + next.own, Output: next.output, Answer: t.label(turnAnswer),
		Class: t.first.Class, Priority: t.first.Priority, Client: t.first.Client, Session: t.first.Session,
	}
	t.said = append(t.said, kvcache.Run{Label: t.label(turnPrompt), Len: next.own})
	r.Prompt, r.talk = t.said, t
	t.spec.complete(&r.Request)
}

// goOn has the next turn of an open load's session sent when its client has thought, and has a slot.
func (c *client) goOn(t *talk) {
	c.kernel.After(t.spec.Sessions.Think, sim.Arrive, func() {
		if c.slots.take() {
			c.say(t)
		} else {
			c.slots.wait(func() { c.say(t) })
		}
	})
}

// say sends the next turn, unless it is too late for it. The caller has taken a slot for it.
func (c *client) say(t *talk) {
	if c.kernel.Now() > c.until {
		c.slots.give()
		return
	}
	r := c.object()
	t.speak(r)
	c.send(r, nil)
}

// discuss sends r, and then the other turns of its session, if it has one, each with a slot of its own.
func (c *client) discuss(p *sim.Process, r *sent) {
	t := r.talk
	p.Wait(func(done func()) { c.send(r, done) })
	for t != nil && !t.over {
		if think := t.spec.Sessions.Think; think > 0 {
			p.Sleep(think)
		}
		if !c.slots.take() {
			p.Wait(c.slots.wait)
		}
		if p.Now() > c.until {
			c.slots.give()
			return
		}
		p.Wait(func(done func()) {
			next := c.object()
			t.speak(next)
			c.send(next, done)
		})
	}
}

// newTurns draws how many turns sessions have; its zero value, that there are none.
func newTurns(s *Spec, stream func(string) rand.Source) (turns sampler) {
	if !s.Sessions.none() {
		turns = s.Sessions.Turns.sampler(stream("turns"))
		turns.hi = min(turns.hi, mostTurns)
	}
	return turns
}
