package workload

import (
	"math"
	"math/rand/v2"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// Content says what the requests of a workload are, one after the other.
type content interface {
	// next makes r the next request and reports whether there is one. The prompt may lie in r.runs.
	next(r *sent) bool
}

// content returns fresh content, from the first request on.
func (s *Spec) content(stream func(string) rand.Source) content {
	if s.Trace != nil {
		return newReplay(s, stream)
	}
	left := int64(s.Requests)
	if left == 0 {
		left = math.MaxInt64
	}
	return &drawn{
		spec:    s,
		times:   timetable{clock: s.clock(stream)},
		until:   s.until(),
		id:      s.First,
		left:    left,
		recurs:  newRecurring(s, stream),
		lengths: newLengths(s, stream),
		prefix:  newPrefixes(s.Prefix, stream("prefix")),
		class:   classChoice(s.Classes, stream("class")),
		client:  newChoice(s.Clients, stream("client")),
		turns:   newTurns(s, stream),
	}
}

// drawn is content from random laws.
type drawn struct {
	spec          *Spec
	times         timetable
	until         sim.Time
	id, left      int64
	lengths       []*lengths // by class; the first stands for all if there is only one
	prefix        prefixes
	recurs        recurring
	class, client choice
	turns         sampler // of sessions; its zero value: there are none
	sessions      int32   // begun
}

func (d *drawn) next(r *sent) bool {
	if d.left == 0 {
		return false
	}
	at := d.times.next()
	if at > d.until {
		d.left = 0
		return false
	}
	r.ID, r.Arrival, r.Answer = d.id, at, answer.label(uint64(d.id))
	r.Client, r.Session, r.MaxTokens, r.Timeout = d.client.draw(), 0, 0, 0
	d.spec.classify(&r.Request, &d.class)
	laws := d.lengths[0]
	if len(d.lengths) > 1 {
		laws = d.lengths[r.Class]
	}
	d.runs(&r.runs, laws)
	r.Tokens, r.Output = r.runs[0].Len+r.runs[1].Len, laws.output.draw()
	r.Prompt = r.runs[:]
	if r.runs[0].Len == 0 {
		r.Prompt = r.runs[1:]
	}
	taken := int64(1)
	if d.turns.law != nil {
		taken = d.converse(r, laws)
	}
	d.spec.complete(&r.Request)
	d.id++
	d.left -= taken
	return true
}

// runs makes the two parts of the next prompt: that of its group, of length 0 if there is none, and its own.
func (d *drawn) runs(runs *[2]kvcache.Run, laws *lengths) {
	if len(d.recurs) > 0 {
		*runs = d.recurs.prompt(d.id)
		return
	}
	runs[1] = kvcache.Run{Label: uniquePrompt.label(uint64(d.id)), Len: laws.prompt.draw()}
	runs[0] = d.prefix.draw()
}

// until is the last instant at which a request may be sent.
func (s *Spec) until() sim.Time {
	if s.Duration == 0 {
		return sim.Never
	}
	return sim.Time(s.Duration)
}

// complete fills in what the client asks for. The server stops at what the client allows, so an answer is never longer.
func (s *Spec) complete(r *Request) {
	if r.MaxTokens == 0 {
		r.MaxTokens = int32(s.MaxTokens)
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = r.Output
	}
	r.Output = min(r.Output, r.MaxTokens)
	if r.Timeout == 0 {
		r.Timeout = s.Timeout
	}
}

// classify puts r into one of the classes.
func (s *Spec) classify(r *Request, class *choice) {
	r.Class, r.Priority = class.draw(), 0
	if len(s.Classes) > 0 {
		r.Priority = s.Classes[r.Class].Priority
	}
}
