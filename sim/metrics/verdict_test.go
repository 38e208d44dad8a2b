package metrics

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// mm1 plays n Poisson arrivals at utilisation rho against one exponential server and returns the queue it saw.
func mm1(seed uint64, n int, rho float64) *line {
	r := rand.New(rand.NewPCG(seed, 0))
	var q line
	var arrival, free float64
	var starts []float64 // of requests not yet in service
	for range n {
		arrival += r.ExpFloat64() / rho
		for len(starts) > 0 && starts[0] <= arrival {
			q.leave(sim.Time(starts[0]*1e9), 0)
			starts = starts[1:]
		}
		q.join(sim.Time(arrival * 1e9))
		start := max(arrival, free)
		free = start + r.ExpFloat64()
		starts = append(starts, start)
	}
	for _, s := range starts {
		q.leave(sim.Time(s*1e9), 0)
	}
	return &q
}

func TestVerdictTellsAnOverloadedQueueFromANoisyOne(t *testing.T) {
	for _, c := range []struct {
		rho  float64
		n    int
		want string // how often of 100 seeds at least
		less int
	}{
		{0.5, 1000, Stable, 100},
		{0.8, 1000, Stable, 97},
		{0.8, 20000, Stable, 90},
		{1.2, 1000, Overloaded, 95},
		{1.2, 20000, Overloaded, 100},
		{1.5, 300, Overloaded, 95},
		{3, 100, Overloaded, 100},
	} {
		count := map[string]int{}
		for seed := range uint64(100) {
			count[mm1(seed, c.n, c.rho).verdict(true).State]++
		}
		if count[c.want] < c.less {
			t.Errorf("rho %v, %d requests: %v, want %s in %d of 100", c.rho, c.n, count, c.want, c.less)
		}
		if c.rho < 1 && count[Overloaded] > 0 {
			t.Errorf("rho %v, %d requests: called overloaded %d times of 100", c.rho, c.n, count[Overloaded])
		}
	}
}

func TestVerdictCallsABurstBackloggedAndSaysWhenItDrained(t *testing.T) {
	var q line
	for range 500 {
		q.join(0)
	}
	for i := range 500 {
		q.leave(sim.Time(i+1)*1e9, 0)
	}
	v := q.verdict(false)
	if v.State != Backlogged || !strings.Contains(v.Why, "up to 500 requests") || !strings.Contains(v.Why, "drained by 500.0 s") {
		t.Errorf("%+v", v)
	}
}

func TestVerdictForgivesARushThatIsOverWhenArrivalsEnd(t *testing.T) {
	var q line
	now := sim.Time(0)
	for i := range 3000 { // two in, one out in the middle third; one in, two out elsewhere
		q.join(now)
		now += 1e9
		leave := 1
		if i < 1000 || i >= 2000 {
			leave = min(2, q.waiting)
		} else if i%2 == 0 {
			leave = 0
		}
		for range leave {
			q.leave(now, 0)
		}
	}
	if v := q.verdict(true); v.State != Backlogged {
		t.Errorf("%+v", v)
	}
}

func TestVerdictOfNothingIsStable(t *testing.T) {
	if v := (&line{}).verdict(true); v.State != Stable || v.Why == "" {
		t.Errorf("%+v", v)
	}
}

func TestVerdictSaysThatNoRequestWasAccepted(t *testing.T) {
	rep, _ := play(t, run{requests: []workload.Request{ask(0, 2000, 1), ask(ms, 2000, 1)}})
	if v := rep.Verdict; v.State != Stable || v.Why != "no request was accepted: all 2 were rejected" {
		t.Errorf("%+v", v)
	}
}

// hurried asks for n answers of 45.1 ms each, so many of them apart, by clients who wait no longer than a time.
func hurried(n int, apart, patience time.Duration) []workload.Request {
	list := make([]workload.Request, n)
	for i := range list {
		list[i] = ask(time.Duration(i)*apart, 10, 8)
		list[i].Timeout = patience
	}
	return list
}

func TestVerdictNamesTheRequestsThatWereAborted(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   run
		state string
		why   []string
	}{
		// One seat serves a third of what comes; patience keeps the queue at some fifteen.
		{"for want of a seat", run{requests: hurried(500, 15*ms, 200*ms), seats: seats{max: 1}}, Overloaded, []string{"or just given up", "of 500 requests were aborted"}},
		{"in a closed loop", run{requests: hurried(500, 15*ms, 200*ms), seats: seats{max: 1}}, Stable, []string{"of 500 requests were aborted"}},
		{"in their steps", run{requests: hurried(500, 100*ms, 20*ms)}, Stable, []string{"500 of 500 requests were aborted by their clients, 0 of them after more time in the queue"}},
		{"by nobody", run{requests: hurried(500, 100*ms, time.Second)}, Stable, []string{"as seen by arrivals"}},
	} {
		c.run.config.Open = c.name != "in a closed loop"
		rep, _ := play(t, c.run)
		identities(t, rep)
		for _, why := range c.why {
			if rep.Verdict.State != c.state || !strings.Contains(rep.Verdict.Why, why) {
				t.Errorf("aborted %s: %+v, want %s: %s; %+v", c.name, rep.Verdict, c.state, why, rep.Requests)
			}
		}
		if c.name == "by nobody" && strings.Contains(rep.Verdict.Why, "abort") {
			t.Errorf("%+v", rep.Verdict)
		}
	}
}

func TestVerdictForgivesThoseWhoGaveUpBeforeTheQueueWasEmptyAgain(t *testing.T) {
	var q line
	for i := range 2000 { // now and then three come at once, and one of them goes
		now := sim.Time(i) * 1e9
		q.join(now)
		if i%10 == 0 {
			q.join(now)
			q.join(now)
			q.leave(now, 0)
			q.giveUp()
			q.leave(now, 0)
		}
		q.leave(now, 0)
	}
	if v := q.verdict(true); v.State != Stable || q.gaveUp != 200 {
		t.Errorf("%+v, %d gave up", v, q.gaveUp)
	}
}

func TestWhoHasBeenSentJoinsTheQueueWhenItIsThere(t *testing.T) {
	var q line
	q.expect(30)
	q.expect(10) // by a shorter way
	q.expect(20)
	for _, c := range []struct {
		now     sim.Time
		waiting int
	}{{5, 0}, {10, 1}, {25, 2}} {
		if q.until(c.now); q.waiting != c.waiting {
			t.Errorf("at %d there are %d waiting, want %d", c.now, q.waiting, c.waiting)
		}
	}
	q.leave(26, 30) // it gives up on its way
	if q.until(100); q.waiting != 2 || q.seen != 2 || q.last != 20 {
		t.Errorf("%d of %d are waiting, the last since %d", q.waiting, q.seen, q.last)
	}
	q.expect(110)
	if q.until(110); q.waiting != 3 {
		t.Errorf("%d are waiting, want 3", q.waiting)
	}
}
