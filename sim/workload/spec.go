package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Spec describes a workload completely. Give Requests, Duration or a Trace, and a law for everything that applies.
type Spec struct {
	First    int64         // number of the first request: a run on a server that served others goes on counting, so that what is its own is new
	Requests int           // how many; 0: what arrives within Duration, or the whole Trace; with a Trace its first rows
	Duration time.Duration // no request is sent later than this; 0: no such limit

	Arrivals Arrivals
	Rate     float64 // requests per second of Poisson, Gamma and Constant; with a Trace see Trace

	Prompt    Length // tokens of the part of a prompt that is the request's own
	Output    Length // tokens that the answer will turn out to have, if MaxTokens allows
	MaxTokens int    // tokens that the client allows; 0: exactly as many as the output
	Prefix    Prefix // comes on top of Prompt
	Classes   []Class
	Clients   []float64 // shares of the clients that requests come from; none: one client. In a closed loop they are its own
	Sessions  Sessions
	Timeout   time.Duration // the client gives up after it; 0: never

	// MaxConcurrency is how many requests may be under way at once; 0: any number. The others wait at the client, in
	// order, and count as sent when their turn has come.
	MaxConcurrency int

	// Trace is replayed in place of Arrivals, Prompt, Output and Prefix, at its own times divided by Speed (0: 1). A
	// positive Rate instead stretches the times of its n requests so that the last arrives at n/Rate; with an infinite
	// one they arrive at once.
	Trace *Trace
	Speed float64
}

// A FieldError is a fault in one field of a Spec.
type FieldError struct {
	Field   string // path in a scenario, such as "workload.prompt.mean"
	Problem string
}

// Error returns "field: problem".
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// faults collects what is wrong with a Spec, so that a user learns of everything at once.
type faults struct{ list []error }

func (c *faults) add(field, format string, args ...any) {
	c.list = append(c.list, &FieldError{"workload." + field, fmt.Sprintf(format, args...)})
}

// New checks the specification and returns the workload that it describes. The error, if any, joins a *FieldError for
// each independent fault. stream hands out random sources by purpose; as [sim.Kernel.Rand] does, it must return a new
// copy of the same source whenever it is asked for the same name.
func New(s Spec, stream func(name string) rand.Source) (Load, error) {
	var c faults
	s.check(&c)
	if len(c.list) > 0 {
		return nil, errors.Join(c.list...)
	}
	return &load{spec: s, stream: stream}, nil
}

// Notes returns what a reader of the results should know: lengths whose mean the limits have moved, rows of the trace
// that were left out, and the like.
func (s *Spec) Notes() []string {
	if t := s.Trace; t != nil {
		notes := t.Warnings()
		if s.Requests > t.Len() {
			notes = append(notes, fmt.Sprintf("workload.requests: %s has only %d of the %d requests asked for", t.Name, t.Len(), s.Requests))
		}
		return notes
	}
	var notes []string
	if n := s.Prompt.Note(); n != "" {
		notes = append(notes, "workload.prompt: "+n)
	}
	if n := s.Output.Note(); n != "" {
		notes = append(notes, "workload.output: "+n)
	}
	for i := range s.Classes {
		notes = append(notes, s.Classes[i].notes(i)...)
	}
	return notes
}

// Open reports whether requests come at a finite rate whatever the server does. Only such a load can be more than a
// server is able to take: one that comes all at once, or waits for answers, is merely slow.
func (s *Spec) Open() bool {
	switch s.Arrivals.(type) {
	case Burst, Closed:
		if s.Trace == nil {
			return false
		}
	}
	if s.Trace != nil && (math.IsInf(s.Rate, 1) || s.Trace.Span() == 0) {
		return false
	}
	return s.MaxConcurrency == 0
}

func (s *Spec) check(c *faults) {
	if s.Requests < 0 {
		c.add("requests", "must not be negative, got %d", s.Requests)
	}
	if s.Duration < 0 {
		c.add("duration", "must not be negative, got %v", s.Duration)
	}
	if s.Timeout < 0 {
		c.add("timeout", "must not be negative, got %v", s.Timeout)
	}
	if s.MaxConcurrency < 0 {
		c.add("max_concurrency", "must not be negative, got %d", s.MaxConcurrency)
	}
	if s.MaxTokens < 0 || s.MaxTokens > Longest {
		c.add("max_tokens", "must lie between 1 and %d, got %d", Longest, s.MaxTokens)
	}
	s.checkClasses(c)
	s.checkClients(c)
	if s.Trace != nil {
		s.checkTrace(c)
		return
	}
	if s.Requests == 0 && s.Duration == 0 {
		c.add("requests", "must be given, or else workload.duration: nothing bounds the workload")
	}
	s.checkSize(c)
	s.checkArrivals(c)
	s.Prompt.check(c, "prompt")
	s.Output.check(c, "output")
	s.Prefix.check(c)
	s.Sessions.check(c, s)
}

// mostRequests is what one run may hold: each leaves a record of some 60 bytes.
const mostRequests = 200_000_000

// checkSize refuses what no machine has the memory for.
func (s *Spec) checkSize(c *faults) {
	if s.Requests > mostRequests {
		c.add("requests", "must be at most %d, got %d: split the load into several runs", mostRequests, s.Requests)
	}
	if n := s.Rate * s.Duration.Seconds(); s.Requests == 0 && s.Open() && n > mostRequests {
		c.add("duration", "%v at %v requests per second are %.3g requests; a run holds at most %d: shorten it", s.Duration, s.Rate, n, mostRequests)
	}
}

func (s *Spec) checkTrace(c *faults) {
	if s.Prefix.Tokens != 0 {
		c.add("prefix", "does not go with a trace, which has prompts of its own")
	}
	if !s.Sessions.none() {
		c.add("sessions", "does not go with a trace, which says itself what comes when")
	}
	if s.Speed != 0 && !(s.Speed >= 1e-6 && s.Speed <= 1e6) {
		c.add("arrivals.speed", "must lie between 1e-06 and 1e+06, got %v", s.Speed)
	}
	if s.Rate == 0 {
		return
	}
	n := s.Trace.first(s.Requests)
	switch {
	case math.IsInf(s.Rate, 1): // all at once
	case !positive(s.Rate) || s.Rate > maxRate || float64(n)/s.Rate > maxSpan:
		s.checkRate(c, n)
	case s.Trace.rows[n-1].at == 0:
		c.add("rate", "cannot stretch the trace to %v requests per second: all its requests arrive at once", s.Rate)
	}
	if s.Speed != 0 && s.Speed != 1 {
		c.add("arrivals.speed", "does not go with workload.rate, which sets the speed of the trace: give one of them")
	}
}
