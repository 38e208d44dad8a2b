package metrics

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// prices are round, so that tests can be worked out by hand: 1 ms of arithmetic per prefill token, 2 ms of weights, 100 µs
// of KV per decode, 1 ms of network, 500 µs of launches; 300 µs of exposed and 200 µs of other host time.
type prices struct{}

func (prices) Cost(s hardware.Step) hardware.Cost {
	by := hardware.Causes{
		Compute: time.Duration(s.Tokens-s.Decodes) * time.Millisecond, Weights: 2 * time.Millisecond,
		KVRead: time.Duration(s.Decodes) * 100 * time.Microsecond, Network: time.Millisecond,
		Overhead: 500 * time.Microsecond,
	}
	return hardware.Cost{
		Device: by.Total(), Exposed: 300 * time.Microsecond, Host: 200 * time.Microsecond, By: by,
		FLOPs: 1e9 * float64(s.Tokens), Bytes: 1e6, Joules: 1,
	}
}

// seats is a small scheduler with what these tests need: a token budget shared in order of arrival, a number of seats, and
// the eviction of a sequence when it has a given number of tokens.
type seats struct {
	budget, max      int
	evict            map[int64]int32 // by Order: at how many arrived tokens
	waiting, running []*scheduler.Seq
	plans            [5]scheduler.Plan
	turn             int
	counters         scheduler.Counters
	ahead            bool // decodes without waiting for the token before
	pause            int  // plans without admissions after an eviction
}

func (s *seats) Refuse(q *scheduler.Seq) string {
	if q.Prompt > 1000 {
		return "too long, by far"
	}
	return ""
}
func (s *seats) Add(q *scheduler.Seq) { s.waiting = append(s.waiting, q) }

func (s *seats) Plan(sim.Time) *scheduler.Plan {
	s.turn = (s.turn + 1) % len(s.plans)
	p := &s.plans[s.turn]
	*p = scheduler.Plan{Work: p.Work[:0]}
	left := s.budget
	for _, q := range slices.Clone(s.running) {
		if at, ok := s.evict[q.Order]; ok && q.Out == at {
			delete(s.evict, q.Order)
			s.running = slices.DeleteFunc(s.running, func(r *scheduler.Seq) bool { return r == q })
			q.State, q.Computed, q.Pending = scheduler.Preempted, 0, 0
			q.Preemptions++
			s.counters.Preemptions++
			s.waiting = append(s.waiting, q)
			p.Preempted = append(p.Preempted, q)
			s.pause = 3
			continue
		}
		left -= s.work(p, q, left)
	}
	if s.pause > 0 && len(s.running) > 0 {
		s.pause--
		return p
	}
	for len(s.waiting) > 0 && len(s.running) < s.max && left > 0 {
		q := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.running = append(s.running, q)
		q.State = scheduler.Running
		p.Admitted = append(p.Admitted, q)
		left -= s.work(p, q, left)
	}
	return p
}

// work adds as much of q to the plan as the budget allows.
func (s *seats) work(p *scheduler.Plan, q *scheduler.Seq, left int) int {
	known := q.Known() + q.Pending
	n := min(known-q.Computed, int32(left))
	if n <= 0 || q.Pending > 0 && !s.ahead || q.Out+q.Pending >= q.MaxTokens {
		return 0
	}
	w := scheduler.Work{Seq: q, Tokens: n, Past: q.Computed, Samples: q.Computed+n == known}
	w.Decode = w.Samples && n == 1 && q.Computed >= q.Prompt
	if w.Decode {
		p.Step.AddDecode(int(w.Past), hardware.Window{})
	} else {
		p.Step.AddChunk(int(n), int(w.Past), w.Samples, hardware.Window{})
	}
	q.Computed += n
	if w.Samples {
		q.Pending++
	}
	p.Work = append(p.Work, w)
	return int(n)
}

func (s *seats) Done(p *scheduler.Plan, _ sim.Time) {
	for _, w := range p.Work {
		if w.Samples && w.Seq.State != scheduler.Gone {
			w.Seq.Out++
			w.Seq.Pending = max(w.Seq.Pending-1, 0)
		}
	}
}

func (s *seats) Drop(q *scheduler.Seq) {
	q.State = scheduler.Gone
	gone := func(r *scheduler.Seq) bool { return r == q }
	s.running = slices.DeleteFunc(s.running, gone)
	s.waiting = slices.DeleteFunc(s.waiting, gone)
}
func (s *seats) Load() (int, int)             { return len(s.running), len(s.waiting) }
func (s *seats) Counters() scheduler.Counters { return s.counters }
func (s *seats) Check() error                 { return nil }

// A run is what a test plays.
type run struct {
	requests []workload.Request
	seats    seats
	config   Config
	frontend engine.Frontend
	async    bool
	until    sim.Time
	stages   int
	spy      func(*engine.Hooks) // may wrap the recorder's hooks
}

// ask is a request: when it arrives, and its tokens.
func ask(at time.Duration, prompt, output int32) workload.Request {
	return workload.Request{
		Arrival: sim.Time(at), Tokens: prompt, Output: output, MaxTokens: output,
		Prompt: kvcache.Prompt{{Label: uint64(at) + 1, Len: prompt}},
	}
}

// play runs the requests through a real engine and returns the report and the recorder behind it.
func play(t *testing.T, r run) (Report, *Recorder) {
	t.Helper()
	k := sim.New(1)
	if r.seats.budget == 0 {
		r.seats.budget = 100
	}
	if r.seats.max == 0 {
		r.seats.max = 8
	}
	r.config.Engine.Cost = prices{}
	r.config.Engine.Counters = r.seats.Counters
	r.config.Engine.Usage = func() kvcache.Usage {
		return kvcache.Usage{Free: 10 - len(r.seats.running), Held: len(r.seats.running), Total: 10}
	}
	rec := New(r.config)
	hooks := rec.Hooks()
	if r.spy != nil {
		r.spy(&hooks)
	}
	r.seats.ahead = r.async
	inFlight := 1
	if r.async {
		inFlight = 2
	}
	inFlight = max(inFlight, r.stages)
	e := engine.New(k, engine.Config{
		Scheduler: &r.seats, Cost: prices{}, InFlight: inFlight, Async: r.async, Stages: r.stages,
		Frontend: r.frontend, Hooks: hooks,
	})
	for i := range r.requests {
		q := &r.requests[i]
		q.ID = int64(i)
		k.At(q.Arrival, sim.Arrive, func() { e.Submit(q, nil) })
	}
	if r.until == 0 {
		r.until = sim.Time(time.Hour)
	}
	if err := k.Run(context.Background(), r.until); err != nil {
		t.Fatal(err)
	}
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Flush(); err != nil {
		t.Fatal(err)
	}
	return rec.Report(k.Now()), rec
}
