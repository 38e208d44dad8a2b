package workload

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

func TestOneSeedGivesTheSameRequests(t *testing.T) {
	s := basic()
	s.Prefix = Prefix{Groups: 5, Tokens: 100}
	s.Classes = []Class{{Name: "a", Share: 3}, {Name: "b", Share: 1, Priority: 2}}
	if first, second := rows(play(t, s)), rows(play(t, s)); first != second {
		t.Error("two runs of one workload differ")
	}
}

func TestANewConsumerOfChanceShiftsNothing(t *testing.T) {
	plain := play(t, basic())
	s := basic()
	s.Prefix = Prefix{Groups: 5, Tokens: 100}
	s.Classes = []Class{{Name: "a", Share: 3}, {Name: "b", Share: 1}}
	for i, r := range play(t, s) {
		p := plain[i]
		if r.Arrival != p.Arrival || r.Output != p.Output || r.Tokens != p.Tokens+100 {
			t.Fatalf("request %d: %+v became %+v", i, p, r)
		}
	}
	s = basic()
	s.Output = Length{Law: Fixed{10}}
	for i, r := range play(t, s) {
		if p := plain[i]; r.Arrival != p.Arrival || r.Tokens != p.Tokens {
			t.Fatalf("request %d: a new output law made %+v of %+v", i, r, p)
		}
	}
}

func TestALoadCanBeStartedAgain(t *testing.T) {
	l, err := New(basic(), streams(1))
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for range 2 {
		d := &desk{kernel: sim.New(1), answers: always(time.Second)}
		l.Start(d.kernel, d)
		if err := d.kernel.Run(context.Background(), sim.Never); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, rows(d.seen))
	}
	if seen[0] != seen[1] {
		t.Error("the second start plays other requests")
	}
}

func TestRequestsAreComplete(t *testing.T) {
	s := basic()
	s.MaxTokens, s.Timeout = 220, time.Minute
	s.Prefix = Prefix{Groups: 3, Tokens: 64}
	s.Classes = []Class{{Name: "chat", Share: 1, Priority: 1}, {Name: "batch", Share: 3, Priority: 9}}
	labels := map[uint64]bool{}
	groups, batch, cut := map[uint64]int{}, 0, 0
	for i, r := range play(t, s) {
		if r.ID != int64(i) || r.Prompt.Tokens() != int(r.Tokens) || r.MaxTokens != 220 || r.Timeout != time.Minute {
			t.Fatalf("request %d: %+v", i, r)
		}
		if r.Output < 1 || r.Output > 220 {
			t.Fatalf("request %d: an output of %d", i, r.Output)
		}
		if r.Output == 220 {
			cut++
		}
		if want := s.Classes[r.Class].Priority; r.Priority != want {
			t.Fatalf("request %d: priority %d of class %d", i, r.Priority, r.Class)
		}
		batch += int(r.Class)
		if len(r.Prompt) != 2 || r.Prompt[0].Len != 64 {
			t.Fatalf("request %d: prompt %v", i, r.Prompt)
		}
		groups[r.Prompt[0].Label]++
		for _, label := range []uint64{r.Prompt[1].Label, r.Answer} {
			if labels[label] || label&kvcache.Private == 0 {
				t.Fatalf("request %d: label %x was used before, or is not marked as private", i, label)
			}
			labels[label] = true
		}
	}
	if len(groups) != 3 || math.Abs(float64(batch)-750) > 4*math.Sqrt(1000*0.75*0.25) || cut == 0 {
		t.Errorf("groups %v, %d of 1000 in batch, %d cut by max_tokens", groups, batch, cut)
	}
	for label := range groups { // order does not matter: each is checked by itself
		if labels[label] || label&kvcache.Private != 0 {
			t.Errorf("label %x of a prefix is also that of a prompt or an answer, or marked as private", label)
		}
	}
}

func TestKindsOfLabelsNeverCollide(t *testing.T) {
	seen := map[uint64]bool{}
	for _, k := range []kind{uniquePrompt, answer, groupPrefix, traceBlock} {
		for _, i := range []uint64{0, 1, 7, 8, 1 << 20, maxLabel} {
			if l := k.label(i); seen[l] {
				t.Errorf("kind %d, index %d: label %x was used before", k, i, l)
			} else {
				seen[l] = true
			}
		}
	}
}

func TestALimitOnConcurrencyHoldsRequestsAtTheClient(t *testing.T) {
	s := basic()
	s.Requests, s.Arrivals, s.MaxConcurrency = 10, Burst{}, 3
	d := &desk{answers: always(time.Second)}
	var sent []sim.Time
	for i, r := range playAgainst(t, s, d) {
		if r.ID != int64(i) {
			t.Errorf("request %d was sent in place %d", r.ID, i)
		}
		sent = append(sent, r.Arrival)
	}
	want := []sim.Time{0, 0, 0, 1e9, 1e9, 1e9, 2e9, 2e9, 2e9, 3e9}
	if d.most != 3 || !slices.Equal(sent, want) {
		t.Errorf("%d under way at once; sent at %v, want %v", d.most, sent, want)
	}
}

func TestALimitOnConcurrencyThatIsNeverReachedChangesNothing(t *testing.T) {
	s := basic()
	free := rows(play(t, s))
	s.MaxConcurrency = 1000
	if rows(play(t, s)) != free {
		t.Error("requests differ")
	}
}

func TestADurationEndsAnEndlessBurst(t *testing.T) {
	s := basic()
	s.Requests, s.Duration, s.Arrivals, s.MaxConcurrency = 0, 10*time.Second, Burst{}, 4
	if n := len(play(t, s)); n != 44 { // four at each of 0, 1 … 10 s
		t.Errorf("%d requests", n)
	}
	d := &desk{refuses: true}
	if n := len(playAgainst(t, s, d)); n != 44 {
		t.Errorf("%d requests against a server that refuses at once", n)
	}
}

func TestRefusalsNeitherStopNorHangAnyLoad(t *testing.T) {
	for _, s := range []Spec{
		{Requests: 100, Arrivals: Burst{}},
		{Requests: 100, Arrivals: Burst{}, MaxConcurrency: 2},
		{Requests: 100, Arrivals: Poisson{}, Rate: 10},
		{Requests: 100, Arrivals: Closed{Clients: 3}},
		{Duration: 33 * time.Second, Arrivals: Closed{Clients: 3}},
	} {
		s.Prompt, s.Output = Length{Law: Fixed{10}}, Length{Law: Fixed{10}}
		if n := len(playAgainst(t, s, &desk{refuses: true})); n < 100 {
			t.Errorf("%#v: only %d requests", s.Arrivals, n)
		}
	}
}

func TestClientsOfAClosedLoopWaitForTheirAnswers(t *testing.T) {
	s := basic()
	s.Requests, s.Arrivals = 7, Closed{Clients: 2, Think: 2 * time.Second}
	d := &desk{answers: func(r *Request) time.Duration { return time.Duration(r.Client+1) * time.Second }}
	type sending struct {
		at     sim.Time
		client int32
	}
	var got []sending
	for i, r := range playAgainst(t, s, d) {
		if r.ID != int64(i) {
			t.Errorf("request %d was sent in place %d", r.ID, i)
		}
		got = append(got, sending{r.Arrival, r.Client})
	}
	// Client 0 sends every 1 + 2 s, client 1 every 2 + 2 s; at 12 s all seven are gone.
	want := []sending{{0, 0}, {0, 1}, {3e9, 0}, {4e9, 1}, {6e9, 0}, {8e9, 1}, {9e9, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAClosedLoopObeysALimitOnConcurrency(t *testing.T) {
	s := basic()
	s.Requests, s.Arrivals, s.MaxConcurrency = 20, Closed{Clients: 8}, 3
	d := &desk{answers: always(time.Second)}
	if n := len(playAgainst(t, s, d)); n != 20 || d.most != 3 {
		t.Errorf("%d requests, %d at once", n, d.most)
	}
}

func TestAClosedLoopEndsWithItsDuration(t *testing.T) {
	s := basic()
	s.Requests, s.Duration, s.Arrivals = 0, 5*time.Second, Closed{Clients: 2}
	if n := len(play(t, s)); n != 12 {
		t.Errorf("%d requests", n)
	}
}

func TestAnAnswerStillOnItsWayHoldsItsSlot(t *testing.T) {
	k := sim.New(1)
	s := basic()
	s.Requests, s.Arrivals, s.MaxConcurrency = 2, Burst{}, 1
	l, err := New(s, streams(1))
	if err != nil {
		t.Fatal(err)
	}
	f := &foresight{kernel: k}
	l.Start(k, f)
	if err := k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if want := []sim.Time{0, 5e9}; !slices.Equal(f.sent, want) {
		t.Errorf("sent at %v, want %v", f.sent, want)
	}
}

// foresight is a server that tells at once that the client will see its answer in five seconds.
type foresight struct {
	kernel *sim.Kernel
	sent   []sim.Time
}

func (f *foresight) Submit(r *Request, done func(Outcome)) {
	f.sent = append(f.sent, r.Arrival)
	done(Outcome{At: r.Arrival.Add(5 * time.Second)})
}

func TestMemoryFollowsTheRequestsInFlight(t *testing.T) {
	s := basic()
	s.Requests = 100_000
	k := sim.New(1)
	d := &echo{kernel: k, dones: make(map[*Request]bool)}
	l, err := New(s, streams(1))
	if err != nil {
		t.Fatal(err)
	}
	l.Start(k, d)
	if err := k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if d.n != s.Requests || len(d.dones) > 60 { // 10 per second that last for a second each
		t.Errorf("%d requests in %d objects", d.n, len(d.dones))
	}
}

// echo answers after a second and counts the objects that it sees.
type echo struct {
	kernel *sim.Kernel
	n      int
	dones  map[*Request]bool
}

func (e *echo) Submit(r *Request, done func(Outcome)) {
	e.n++
	e.dones[r] = true
	e.kernel.After(time.Second, sim.Finish, func() { done(Outcome{At: e.kernel.Now()}) })
}

// null answers at once.
type null struct{ n int }

func (s *null) Submit(r *Request, done func(Outcome)) {
	s.n += kvcache.Prompt(r.Prompt).Tokens()
	done(Outcome{At: r.Arrival})
}

func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name string
		a    Arrivals
	}{{"poisson", Poisson{}}, {"rescaled", Poisson{Rescale: true}}, {"gamma", Gamma{Burstiness: 0.5}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			s := basic()
			s.Requests, s.Arrivals = b.N, c.a
			content, r := s.content(streams(1)), new(sent)
			for range b.N {
				content.next(r)
			}
		})
	}
}

func BenchmarkPlay(b *testing.B) {
	b.ReportAllocs()
	s := basic()
	s.Requests, s.Arrivals = b.N, Poisson{}
	l, err := New(s, streams(1))
	if err != nil {
		b.Fatal(err)
	}
	k := sim.New(1)
	l.Start(k, new(null))
	if err := k.Run(context.Background(), sim.Never); err != nil {
		b.Fatal(err)
	}
}
