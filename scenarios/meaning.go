package scenarios

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/servesim/servesim/sim/workload"
)

// defaults fills in what depends on whether a whole section was given.
func (r *reader) defaults() {
	s := r.s
	s.Workload.Prompt.fill(512, 2048, s.given("workload.prompt"))
	s.Workload.Output.fill(200, 900, s.given("workload.output"))
	if turns := &s.Workload.Sessions.Turns; turns.Dist == "" && s.Explicit("workload.sessions.turns") {
		turns.Dist = turns.infer(s.given("workload.sessions.turns"))
	}
	if !s.Explicit("slo") {
		s.SLO = SLO{TTFT: time.Second, TPOT: 50 * time.Millisecond}
	}
	a := &s.Workload.Arrivals
	if s.Explicit("workload.arrivals.name") {
		return
	}
	switch { // the numbers given name the law
	case a.File != "":
		a.Name = "trace"
	case s.Explicit("workload.arrivals.clients"):
		a.Name = "closed"
	case s.Explicit("workload.arrivals.burstiness"):
		a.Name = "gamma"
	}
}

// meaning checks what single values cannot show: names that must be known, and values that do not go together.
func (r *reader) meaning() {
	r.lengths()
	a := &r.s.Workload.Arrivals
	if a.Name == "trace" && a.File == "" {
		r.wrong("workload.arrivals", "a trace needs file, the name of the file to replay")
	}
	if r.s.Engine.APIServerCount > 0 && r.s.Explicit("frontend.api_servers") && r.s.Engine.APIServerCount != r.s.Frontend.APIServers {
		r.wrong("engine.api_server_count", "says %d where frontend.api_servers says %d; give one of them", r.s.Engine.APIServerCount, r.s.Frontend.APIServers)
	}
	if len(r.mistakes) == 0 && a.Name != "trace" {
		r.workload()
	}
	_, found := r.s.deploy(r.touches)
	r.mistakes = append(r.mistakes, found...)
	if len(r.mistakes) == 0 {
		r.mistakes = r.s.checkParts()
	}
}

// wrong reports a mistake at the place that the value of a path came from.
func (r *reader) wrong(path, format string, args ...any) {
	r.mistakes.add(r.s.place(path), path, format, args...)
}

// touches reports whether a mistake has been found in a section: what follows from a wrong value is no mistake of its
// own.
func (r *reader) touches(section string) bool { return r.mistakes.touch(section) }

func (m Mistakes) touch(section string) bool {
	for _, one := range m {
		if head, _, _ := strings.Cut(one.Path, "."); head == section {
			return true
		}
	}
	return false
}

func (r *reader) lengths() {
	for path, l := range r.s.laws() {
		if why := l.missing(r.s.given(path)); why != "" && !r.touches("workload") {
			r.wrong(path, "%s %s", l.Dist, why)
		}
	}
}

// given returns a function that reports whether a key of a section was written.
func (s *Scenario) given(section string) func(key string) bool {
	return func(key string) bool { return s.Explicit(join(section, key)) }
}

// laws yields the length laws that there are, with their paths.
func (s *Scenario) laws() func(func(string, *Length) bool) {
	return func(yield func(string, *Length) bool) {
		w := &s.Workload
		on := yield("workload.prompt", &w.Prompt) && yield("workload.output", &w.Output)
		if on && w.Sessions.Turns.Dist != "" {
			on = yield("workload.sessions.turns", &w.Sessions.Turns)
		}
		for i := range w.Classes {
			c := &w.Classes[i]
			if on && c.Prompt.Dist != "" {
				on = yield(join(classPath(i), "prompt"), &c.Prompt)
			}
			if on && c.Output.Dist != "" {
				on = yield(join(classPath(i), "output"), &c.Output)
			}
		}
	}
}

// workload lets the workload check itself.
func (r *reader) workload() {
	_, err := workload.New(r.s.spec(nil), nil)
	r.mistakes = append(r.mistakes, r.s.workloadMistakes(err)...)
}

// workloadMistakes gives the faults of a workload their places.
func (s *Scenario) workloadMistakes(err error) Mistakes {
	var m Mistakes
	for _, e := range flatten(err) {
		var f *workload.FieldError
		if errors.As(e, &f) {
			m.add(s.place(f.Field), f.Field, "%s", f.Problem)
		} else {
			m.add(s.place("workload"), "workload", "%v", e)
		}
	}
	return m
}

// flatten returns the errors that were joined into one.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// isZero reports whether the variable that p points at is zero.
func isZero(p any) bool { return reflect.ValueOf(p).Elem().IsZero() }

// spec returns the workload as the workload package takes it; a trace, if there is one, has been read.
func (s *Scenario) spec(trace *workload.Trace) workload.Spec {
	w := &s.Workload
	spec := workload.Spec{
		Requests: w.Requests, Duration: w.Duration, MaxTokens: w.MaxTokens, Timeout: w.Timeout,
		MaxConcurrency: w.MaxConcurrency, Trace: trace,
	}
	for _, c := range w.Classes {
		class := workload.Class{Name: c.Name, Share: c.Share, Priority: int32(c.Priority)}
		if c.Prompt.Dist != "" {
			class.Prompt = c.Prompt.law()
		}
		if c.Output.Dist != "" {
			class.Output = c.Output.law()
		}
		spec.Classes = append(spec.Classes, class)
	}
	if trace != nil {
		spec.Rate, spec.Speed = w.Rate, w.Arrivals.Speed
		return spec
	}
	spec.Rate, spec.Arrivals = s.rate(), s.arrivals()
	spec.Prompt, spec.Output = w.Prompt.law(), w.Output.law()
	if w.Sessions.Turns.Dist != "" {
		spec.Sessions = workload.Sessions{Turns: w.Sessions.Turns.law(), Think: w.Sessions.Think}
	}
	if a := w.Arrivals.Name; a != "closed" {
		spec.Clients = w.Clients.shares()
	}
	if w.Prefix.Tokens > 0 || w.Prefix.Distinct > 0 {
		spec.Prefix = workload.Prefix{Groups: w.Prefix.Groups, Tokens: w.Prefix.Tokens, Distinct: w.Prefix.Distinct}
	}
	if w.Requests == 0 && w.Duration == 0 {
		spec.Requests = defaultRequests
	}
	return spec
}

// rescales reports whether drawn times are stretched where that is left open: as vLLM's benchmark does, which has no
// sessions.
func (s *Scenario) rescales() bool {
	return s.Workload.Arrivals.Name == "gamma" && s.Workload.Sessions.Turns.Dist == ""
}

// shares returns the share of each client; none if there is only one.
func (c *Clients) shares() []float64 {
	if len(c.Shares) == 0 && c.Count > 1 {
		return workload.Zipf(c.Count, c.Skew)
	}
	var shares []float64
	for _, share := range c.Shares {
		shares = append(shares, float64(share))
	}
	return shares
}

const (
	defaultRequests = 1000 // as vLLM's benchmark
	defaultRate     = 10   // requests per second
)

func (s *Scenario) rate() float64 {
	if s.Workload.Rate == 0 {
		return defaultRate
	}
	return s.Workload.Rate
}

// arrivals returns the law of arrivals. An infinite rate is a burst under any law that has a rate.
func (s *Scenario) arrivals() workload.Arrivals {
	a := &s.Workload.Arrivals
	switch {
	case a.Name == "closed":
		return workload.Closed{Clients: a.Clients, Think: a.Think}
	case a.Name == "burst" || s.Workload.Rate == inf:
		return workload.Burst{}
	case a.Name == "constant":
		return workload.Constant{}
	case a.Name == "gamma":
		return workload.Gamma{Burstiness: a.Burstiness, Rescale: a.Rescale.Or(s.rescales())}
	}
	return workload.Poisson{Rescale: a.Rescale.Or(false)}
}
