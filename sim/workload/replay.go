package workload

import (
	"math"
	"math/rand/v2"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// replay is content from a trace.
type replay struct {
	spec  *Spec
	trace *Trace
	i, n  int
	scale float64 // of the time axis
	class choice
}

func newReplay(s *Spec, stream func(string) rand.Source) *replay {
	p := &replay{
		spec:  s,
		trace: s.Trace,
		n:     s.Trace.first(s.Requests),
		scale: 1,
		class: classChoice(s.Classes, stream("class")),
	}
	switch {
	case math.IsInf(s.Rate, 1):
		p.scale = 0
	case s.Rate > 0:
		p.scale = float64(p.n) / s.Rate / p.trace.rows[p.n-1].at.Seconds()
	case s.Speed > 0:
		p.scale = 1 / s.Speed
	}
	return p
}

// time is when row i arrives; a trace at its own speed keeps every nanosecond.
func (p *replay) time(i int) sim.Time {
	t := p.trace.rows[i].at
	switch {
	case p.scale == 1:
		return t
	case i == p.n-1 && p.spec.Rate > 0 && p.scale > 0:
		return at(float64(p.n) / p.spec.Rate)
	}
	return at(t.Seconds() * p.scale)
}

func (p *replay) next(r *sent) bool {
	if p.i == p.n {
		return false
	}
	when := p.time(p.i)
	if when > p.spec.until() {
		p.n = p.i
		return false
	}
	t, row, id := p.trace, &p.trace.rows[p.i], uint64(p.i)
	r.Request = Request{
		ID:      int64(p.i),
		Arrival: when,
		Tokens:  row.tokens,
		Output:  row.output,
		Answer:  t.answer(p.i),
	}
	if row.runs > 0 {
		r.Prompt = kvcache.Prompt(t.runs[row.from : row.from+row.runs : row.from+row.runs])
	} else {
		r.runs[0] = kvcache.Run{Label: uniquePrompt.label(id), Len: row.tokens}
		r.Prompt = r.runs[:1:1]
	}
	if len(t.tags) > 0 {
		t.tags[row.tag].apply(&r.Request)
	} else {
		p.spec.classify(&r.Request, &p.class)
	}
	p.spec.complete(&r.Request)
	p.i++
	return true
}

func (g *tag) apply(r *Request) {
	r.MaxTokens, r.Priority, r.Class, r.Client, r.Session, r.Timeout = g.max, g.priority, g.class, g.client, g.session, g.timeout
}

// answer returns the label of the answer to the request of row i.
func (t *Trace) answer(i int) uint64 {
	if len(t.tags) > 0 && t.tags[t.rows[i].tag].hasAnswer {
		return t.tags[t.rows[i].tag].answer
	}
	return answer.label(uint64(i))
}
