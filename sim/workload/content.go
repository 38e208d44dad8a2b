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
		until:   s.until(),
		id:      s.First,
		left:    left,
		simple:  s.Prefix.Tokens == 0 && s.Prefix.Distinct == 0,
		lengths: newLengths(s, stream),
		client:  newChoice(s.Clients, stream("client")),
		class:   classChoice(s.Classes, stream("class")),
		turns:   newTurns(s, stream),
		recurs:  newRecurring(s, stream),
		prefix:  newPrefixes(s.Prefix, stream("prefix")),
		times:   timetable{clock: s.clock(stream)},
	}
}

// drawn is content from random laws.
type drawn struct {
	spec          *Spec
	until         sim.Time
	id, left      int64
	simple        bool       // every prompt is all its own
	lengths       []*lengths // by class; the first stands for all if there is only one
	client, class choice
	turns         sampler // of sessions; its zero value: there are none
	sessions      int32   // begun
	recurs        recurring
	prefix        prefixes
	times         timetable
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
	r.Client, r.Class, r.Priority, r.Session, r.MaxTokens, r.Timeout = d.client.draw(), 0, 0, 0, 0, 0
	laws := d.lengths[0]
	if len(d.spec.Classes) > 0 {
		laws = d.classify(r)
	}
	if d.simple {
		r.Tokens = laws.prompt.draw()
		r.runs[1] = kvcache.Run{Label: uniquePrompt.label(uint64(d.id)), Len: r.Tokens}
		r.Prompt = r.runs[1:]
	} else {
		d.compose(r, laws)
	}
	r.Output = laws.output.draw()
	taken := int64(1)
	if d.turns.law != nil {
		taken = d.converse(r, laws)
	}
	d.spec.complete(&r.Request)
	d.id++
	d.left -= taken
	return true
}

// classify puts r into one of the classes, and returns its laws.
func (d *drawn) classify(r *sent) *lengths {
	d.spec.classify(&r.Request, &d.class)
	return d.lengths[min(int(r.Class), len(d.lengths)-1)]
}

// compose makes the prompt of r of two parts: that of its group, if there is one, and its own.
func (d *drawn) compose(r *sent, laws *lengths) {
	if len(d.recurs) > 0 {
		r.runs = d.recurs.prompt(d.id)
	} else {
		own := kvcache.Run{Label: uniquePrompt.label(uint64(d.id)), Len: laws.prompt.draw()}
		r.runs = [2]kvcache.Run{d.prefix.draw(), own}
	}
	r.Tokens = r.runs[0].Len + r.runs[1].Len
	r.Prompt = r.runs[:]
	if r.runs[0].Len == 0 {
		r.Prompt = r.runs[1:]
	}
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

// classify puts r into one of the classes, if there are any.
func (s *Spec) classify(r *Request, class *choice) {
	if len(s.Classes) > 0 {
		r.Class = class.draw()
		r.Priority = s.Classes[r.Class].Priority
	}
}
