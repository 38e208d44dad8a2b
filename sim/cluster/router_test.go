package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

const ms = sim.Time(time.Millisecond)

func TestRoundRobinGoesInTurn(t *testing.T) {
	w := newWorld(t, 3, "round-robin")
	for i := range sim.Time(7) {
		w.send(i*ms, 10, 5, nil)
	}
	w.run(t, sim.Never)
	if want := []int{0, 1, 2, 0, 1, 2, 0}; !slices.Equal(w.sent, want) {
		t.Errorf("sent to %v, want %v", w.sent, want)
	}
	if w.ended != 7 {
		t.Errorf("%d of 7 requests ended", w.ended)
	}
}

// Each request takes a millisecond a token. Those sent at 0 go to 0, 1, 2; the one of replica 1 is over by 5 ms.
func TestLeastRequestsFindsTheReplicaThatHasFinished(t *testing.T) {
	w := newWorld(t, 3, "least-requests")
	w.send(0, 10, 20, nil)
	w.send(0, 10, 3, nil)
	w.send(0, 10, 20, nil)
	w.send(5*ms, 10, 20, nil)
	w.send(6*ms, 10, 20, nil) // all have one: behind the last picked
	w.run(t, sim.Never)
	if want := []int{0, 1, 2, 1, 2}; !slices.Equal(w.sent, want) {
		t.Errorf("sent to %v, want %v", w.sent, want)
	}
}

// 500 + 20 tokens on the first weigh as much as ten requests of 40 + 12 on the second.
func TestLeastTokensCountsPromptsAndWhatAnswersMayHave(t *testing.T) {
	w := newWorld(t, 2, "least-tokens")
	w.send(0, 500, 20, nil)
	for range 11 {
		w.send(0, 40, 12, nil)
	}
	w.run(t, sim.Never)
	want := []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}
	if !slices.Equal(w.sent, want) {
		t.Errorf("sent to %v, want %v", w.sent, want)
	}
}

func TestPowerOfTwoChoicesTakesTheShorterOfTwo(t *testing.T) {
	w := newWorld(t, 2, "power-of-two")
	for range 50 {
		w.send(0, 10, 20, nil)
	}
	w.run(t, sim.Never)
	open := [2]int{}
	for i, at := range w.sent { // with two replicas both are always drawn
		if open[at]++; open[at] > open[1-at]+1 {
			t.Fatalf("request %d goes to the longer of two queues: %v", i, open)
		}
	}
}

// Equals take turns: neither a burst nor single requests, far apart, favour a place in the list.
func TestTiesFavourNoPlaceInTheList(t *testing.T) {
	for _, name := range []string{"round-robin", "least-requests", "least-tokens", "vllm-dp", "vllm-dp-2025", "prefix-affinity"} {
		for _, gap := range []sim.Time{0, sim.Time(time.Second)} {
			t.Run(fmt.Sprint(name, " ", gap), func(t *testing.T) {
				w := newWorld(t, 4, name)
				for i := range sim.Time(500) {
					w.send(i*gap, 10, 5, nil)
				}
				w.run(t, sim.Never)
				count := [4]int{}
				for _, i := range w.sent {
					count[i]++
				}
				if count != [4]int{125, 125, 125, 125} {
					t.Errorf("got %v of 500 requests, want 125 each", count)
				}
			})
		}
	}
	for _, name := range []string{"random", "power-of-two", "session-affinity"} {
		w := newWorld(t, 4, name)
		for i := range sim.Time(500) {
			w.send(i*sim.Time(time.Second), 10, 5, nil)
		}
		w.run(t, sim.Never)
		count := [4]int{}
		for _, i := range w.sent {
			count[i]++
		}
		if slices.Min(count[:]) < 95 { // 125 ± 3 standard deviations
			t.Errorf("%s: got %v of 500 requests", name, count)
		}
	}
}

// Replica 0 works on a long answer, replica 1 on short ones. At 110 ms the news of 100 ms say one running on 0 and none
// on 1, so replica 1 gets a request, which is over by 150 ms. The old score still holds it against replica 1 then (4 for
// what was sent, 1 for what runs on 0) and sends the next one to the busy replica; the new one knows that it has ended.
func TestTheBalancersNewsAreStale(t *testing.T) {
	for name, want := range map[string][]int{"vllm-dp-2025": {0, 1, 1, 0, 1}, "vllm-dp": {0, 1, 1, 1, 1}} { // order does not matter: two cases
		w := newWorld(t, 2, name)
		w.send(0, 10, 400, nil)
		w.send(0, 10, 5, nil)
		w.send(110*ms, 10, 5, nil)
		w.send(150*ms, 10, 5, nil)
		w.send(210*ms, 10, 5, nil) // news again: all is well
		w.run(t, sim.Never)
		if !slices.Equal(w.sent, want) {
			t.Errorf("%s: sent to %v, want %v", name, w.sent, want)
		}
	}
}

func TestTheBalancersScores(t *testing.T) {
	for _, c := range []struct {
		n            news
		open         int
		counts, kv   float64
		whatItIsLike string
	}{
		{news{waiting: 0, running: 10, usage: 0.9}, 10, 10, 10, "nobody waits"},
		{news{waiting: 5, running: 10, usage: 0.5}, 12, 30, 15, "they wait, but not for memory"},
		{news{waiting: 5, running: 10, usage: 1}, 12, 30, 15 + 6*5*0.5, "they wait for memory"},
		{news{waiting: 0, running: 3, usage: 0.1}, 9, 3, 9, "six were sent since the news"},
	} {
		if a, b := scoreCounts(&c.n, c.open), scoreKV(&c.n, c.open); a != c.counts || b != c.kv {
			t.Errorf("%s: scores %v and %v, want %v and %v", c.whatItIsLike, a, b, c.counts, c.kv)
		}
	}
}

// shared makes the first 160 tokens of a prompt the same for all.
func shared(r *workload.Request) {
	own := r.Prompt[0]
	r.Prompt = kvcache.Prompt{{Label: 7, Len: 160}, {Label: own.Label, Len: own.Len - 160}}
}

func TestPrefixAffinityStaysUntilTheOthersAreAheadByMoreThanThePrefix(t *testing.T) {
	w := newWorld(t, 2, "prefix-affinity")
	w.send(0, 200, 5, shared)        // to 0, which then has the prefix
	w.send(20*ms, 200, 5, shared)    // 0 again: 40 tokens are to be computed there, 200 on 1
	w.send(40*ms, 300, 5, nil)       // nobody has it: 1's turn
	w.send(100*ms, 100, 40, nil)     // 0's turn: 140 tokens under way
	w.send(101*ms, 200, 40, shared)  // 140 + 40 on 0, 0 + 200 on 1: 0, and 220 are under way
	w.send(102*ms, 200, 40, shared)  // 220 + 40 on 0, 0 + 200 on 1
	w.send(110*ms, 200, 5, shared)   // by now 1 has the prefix, too: 220 + 40 and 240 + 40
	w.send(1000*ms, 170, 40, shared) // both idle, both have it: 1's turn
	w.run(t, sim.Never)
	if want := []int{0, 0, 1, 0, 0, 1, 0, 1}; !slices.Equal(w.sent, want) {
		t.Errorf("sent to %v, want %v", w.sent, want)
	}
	if c := w.replicas[0].Scheduler.Counters(); c.PrefixHits != 3*160 {
		t.Errorf("replica 0 found %d tokens, want %d", c.PrefixHits, 3*160)
	}
}

// What is asked of few replicas is what asking all would have found.
func TestPrefixAffinityFindsTheLowestCost(t *testing.T) {
	w := newWorld(t, 8, "prefix-affinity")
	checked := 0
	inner := w.router
	w.router = routerFunc(func(r *workload.Request, up []*Replica) Choice {
		lowest := int64(1 << 60)
		for _, rep := range up {
			lowest = min(lowest, rep.Tokens-int64(rep.Cache.Match(r.Prompt, int(r.Tokens)).Tokens))
		}
		choice := inner.Route(r, up)
		rep := up[choice.Replica]
		if got := rep.Tokens - int64(rep.Cache.Match(r.Prompt, int(r.Tokens)).Tokens); got != lowest {
			t.Errorf("request %d goes to a replica that costs %d, the lowest is %d", r.ID, got, lowest)
		}
		checked++
		return choice
	})
	for i := range 400 {
		w.send(sim.Time(i)*3*ms/2, int32(170+37*i%300), int32(10+i%70), func(r *workload.Request) {
			if i%4 == 0 {
				return
			}
			shared(r)
			r.Prompt[0].Label = uint64(i * i % 11)
		})
	}
	w.run(t, sim.Never)
	if checked != 400 {
		t.Errorf("%d of 400 requests were checked", checked)
	}
}

type routerFunc func(*workload.Request, []*Replica) Choice

func (f routerFunc) Route(r *workload.Request, up []*Replica) Choice { return f(r, up) }

func TestSessionsStayTogetherAndFewMoveWhenAReplicaLeaves(t *testing.T) {
	w := newWorld(t, 4, "session-affinity")
	moved, of := 0, 0
	for session := int32(1); session <= 200; session++ {
		r := &workload.Request{Session: session, ID: int64(session)}
		first := w.router.Route(r, w.replicas)
		again := &workload.Request{Session: session, ID: int64(1000 + session), Client: 7}
		if w.router.Route(again, w.replicas) != first {
			t.Fatalf("session %d is torn apart", session)
		}
		if first.Replica == 3 {
			of++
			continue
		}
		if w.router.Route(r, w.replicas[:3]) != first {
			moved++
		}
	}
	if moved != 0 || of < 30 || of > 70 {
		t.Errorf("%d sessions of other replicas moved when one left that had %d of 200", moved, of)
	}
	client := func(id int64) Choice {
		return w.router.Route(&workload.Request{Client: 5, ID: id}, w.replicas)
	}
	if client(1) != client(2) {
		t.Error("a client without sessions is torn apart")
	}
}
