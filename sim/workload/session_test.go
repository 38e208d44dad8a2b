package workload

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
)

func conversations() Spec {
	return Spec{
		Requests: 6, Arrivals: Constant{}, Rate: 3, // a session a second
		Prompt: Length{Law: Fixed{100}}, Output: Length{Law: Fixed{20}},
		Prefix:   Prefix{Groups: 1, Tokens: 7},
		Sessions: Sessions{Turns: Length{Law: Fixed{3}}, Think: 10 * time.Second},
	}
}

func TestAPromptIsEverythingSaidBefore(t *testing.T) {
	seen := play(t, conversations())
	type sending struct {
		at            sim.Time
		session       int32
		tokens, spans int
	}
	var got []sending
	for i, r := range seen {
		if r.ID != int64(i) {
			t.Errorf("request %d was sent in place %d", r.ID, i)
		}
		got = append(got, sending{r.Arrival, r.Session, int(r.Tokens), len(r.Prompt)})
	}
	// Sessions begin at 1 s and 2 s; answers take 1 s and clients think for 10 s; the prefix is there once.
	want := []sending{{1e9, 1, 107, 2}, {2e9, 2, 107, 2}, {12e9, 1, 227, 4}, {13e9, 2, 227, 4}, {23e9, 1, 347, 6}, {24e9, 2, 347, 6}}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, turn := range [][2]int{{0, 2}, {2, 4}, {1, 3}, {3, 5}} {
		before, after := seen[turn[0]], seen[turn[1]]
		n := len(before.Prompt)
		if !slices.Equal(after.Prompt[:n], before.Prompt) || after.Prompt[n].Label != before.Answer || after.Prompt[n].Len != before.Output {
			t.Errorf("%v does not continue %v and its answer %x", after.Prompt, before.Prompt, before.Answer)
		}
	}
	labels := map[uint64]int{}
	for _, r := range seen {
		labels[r.Answer]++
		labels[r.Prompt[len(r.Prompt)-1].Label]++
	}
	for label, n := range labels { // order does not matter: each is checked for itself
		if n != 1 {
			t.Errorf("label %x stands for %d different texts", label, n)
		}
	}
}

func TestWhatIsSaidDoesNotDependOnTheServer(t *testing.T) {
	s := conversations()
	s.Requests, s.Prompt.Law, s.Sessions.Turns.Law = 300, LogNormal{Mean: 512, P99: 2048}, Uniform{1, 9}
	said := func(answer time.Duration) []string {
		var lines []string
		for _, r := range playAgainst(t, s, &desk{answers: always(answer)}) {
			r.ID, r.Arrival = 0, 0
			lines = append(lines, rows([]Request{r}))
		}
		slices.Sort(lines)
		return lines
	}
	fast, slow := said(time.Millisecond), said(time.Minute)
	if len(fast) != 300 || !slices.Equal(fast, slow) {
		t.Errorf("%d and %d requests, which differ", len(fast), len(slow))
	}
}

func TestASessionEndsWithARefusal(t *testing.T) {
	s := conversations()
	if n := len(playAgainst(t, s, &desk{refuses: true})); n != 2 {
		t.Errorf("%d requests, want the first turns of two sessions", n)
	}
}

func TestSessionsObeyTheLimits(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"concurrency": func(s *Spec) { s.Requests, s.MaxConcurrency = 60, 1 },
		"closed":      func(s *Spec) { s.Requests, s.Arrivals = 60, Closed{Clients: 4, Think: time.Second} },
		"both":        func(s *Spec) { s.Requests, s.Arrivals, s.MaxConcurrency = 60, Closed{Clients: 4}, 1 },
	} {
		s := conversations()
		change(&s)
		d := &desk{answers: always(time.Second)}
		if n := len(playAgainst(t, s, d)); n != 60 {
			t.Errorf("%s: %d requests, want 60", name, n)
		}
		if s.MaxConcurrency > 0 && d.most != 1 {
			t.Errorf("%s: %d at once", name, d.most)
		}
	}
	s := conversations()
	s.Requests, s.Duration = 0, 20*time.Second
	for _, r := range play(t, s) {
		if r.Arrival > 20e9 {
			t.Errorf("sent at %v", r.Arrival)
		}
	}
}

func TestInTheLongRunSessionsKeepTheRate(t *testing.T) {
	s := conversations()
	s.Requests, s.Arrivals, s.Rate, s.Sessions.Turns.Law = 30000, Poisson{}, 10, Uniform{1, 5}
	seen := play(t, s)
	if last := seen[len(seen)-1].Arrival.Seconds(); math.Abs(last/3000-1) > 0.05 {
		t.Errorf("the last of 30,000 requests came after %v s at 10 per second", last)
	}
}

func TestClassesHaveLengthsAndClientsShares(t *testing.T) {
	s := basic()
	s.Requests = 20000
	s.Classes = []Class{{Name: "chat", Share: 3}, {Name: "report", Share: 1, Prompt: Length{Law: Fixed{9000}}, Output: Length{Law: Fixed{1}}}}
	s.Clients = []float64{10, 1}
	var class, client [2]int
	for _, r := range play(t, s) {
		class[r.Class]++
		client[r.Client]++
		if long := r.Tokens == 9000 && r.Output == 1; long != (r.Class == 1) {
			t.Fatalf("class %d has %d tokens and an answer of %d", r.Class, r.Tokens, r.Output)
		}
	}
	if share := float64(class[1]) / 20000; math.Abs(share-0.25) > 0.01 {
		t.Errorf("the second class has a share of %v", share)
	}
	if share := float64(client[1]) / 20000; math.Abs(share-1.0/11) > 0.01 {
		t.Errorf("the second client has a share of %v", share)
	}
}

func TestALawOfAClassShiftsNoOtherDraw(t *testing.T) {
	plain := basic()
	plain.Classes = []Class{{Name: "a", Share: 1}}
	own := plain
	own.Classes = []Class{{Name: "a", Share: 1, Output: Length{Law: Fixed{5}}}}
	a, b := play(t, plain), play(t, own)
	for i := range a {
		if a[i].Tokens != b[i].Tokens || a[i].Arrival != b[i].Arrival || b[i].Output != 5 {
			t.Fatalf("request %d: %+v became %+v", i, a[i], b[i])
		}
	}
}

func TestWhatDoesNotGoTogetherIsRefused(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"workload.prefix.distinct: does not go with sessions":              func(s *Spec) { s.Prefix.Distinct = 3 },
		"workload.arrivals.rescale: does not go with sessions":             func(s *Spec) { s.Arrivals = Poisson{Rescale: true} },
		"workload.sessions.turns: must be at most":                         func(s *Spec) { s.Sessions.Turns.Law = Fixed{1 << 20} },
		"workload.sessions.think: must not be negative":                    func(s *Spec) { s.Sessions.Think = -1 },
		"workload.clients: the share of client 1 must be":                  func(s *Spec) { s.Clients = []float64{1, 0} },
		"workload.clients: does not go with closed":                        func(s *Spec) { s.Clients, s.Arrivals = []float64{1, 1}, Closed{Clients: 2} },
		"workload.classes[0].output.mean: must lie between 1 and 16777216": func(s *Spec) { s.Classes = []Class{{Share: 1, Output: Length{Law: Fixed{0}}}} },
	} {
		s := conversations()
		change(&s)
		if _, err := New(s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestZipfSharesFallWithTheRank(t *testing.T) {
	if got := Zipf(4, 1); !slices.Equal(got, []float64{1, 1.0 / 2, 1.0 / 3, 1.0 / 4}) {
		t.Errorf("got %v", got)
	}
	if got := Zipf(3, 0); !slices.Equal(got, []float64{1, 1, 1}) {
		t.Errorf("got %v", got)
	}
}
