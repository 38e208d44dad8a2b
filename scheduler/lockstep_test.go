package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// ranks returns a world of three ranks with so many blocks each, and their pools.
func ranks(t tester, blocks int, async bool) (*world, []*kvcache.Pool) {
	var pools []*kvcache.Pool
	var caches []kvcache.Cache
	l, _ := setting(blocks, nil)
	l.AsyncScheduling = async
	for range 3 {
		_, pool := setting(blocks, nil)
		pools, caches = append(pools, pool), append(caches, pool)
	}
	w := newWorld(t, scheduler.Lockstep(l, caches, scheduler.Chunked), pools[0])
	if async {
		w.depth = 2
	}
	return w, pools
}

func TestRanksThatKnowNothingYetTakeTurns(t *testing.T) {
	w, pools := ranks(t, 100, false)
	for range 6 {
		w.add(32, 5)
	}
	p := w.sched.Plan(w.now)
	if len(p.Work) != 6 || len(p.Ranks) != 3 || p.Step.Tokens != 6*32 {
		t.Fatalf("%d rows, %d ranks, %d tokens", len(p.Work), len(p.Ranks), p.Step.Tokens)
	}
	for i, pool := range pools {
		if held := pool.Usage().Held; held != 4 || p.Ranks[i].Seqs != 2 {
			t.Errorf("rank %d holds %d blocks for %d sequences, want 4 for 2", i, held, p.Ranks[i].Seqs)
		}
	}
}

// TestRanksPlanAsTheyWouldAlone: requests that come at once are dealt out in turn, so that three engines with every third
// of them take the same steps, preemptions and all.
func TestRanksPlanAsTheyWouldAlone(t *testing.T) {
	together, pools := ranks(t, 40, false)
	var alone [3]*world
	for i := range alone {
		alone[i] = chunked(t, 40, nil)
	}
	for i := range int32(30) {
		together.add(50+7*i, 60+i)
		alone[i%3].add(50+7*i, 60+i)
	}
	for steps := 0; ; steps++ {
		p := together.sched.Plan(together.now)
		together.flying = append(together.flying, p)
		for i, w := range alone {
			q := w.sched.Plan(w.now)
			w.flying = append(w.flying, q)
			if !p.Empty() && p.Ranks[i] != q.Step {
				t.Fatalf("step %d: rank %d plans %+v, alone %+v", steps, i, p.Ranks[i], q.Step)
			}
			w.complete()
		}
		if p.Empty() {
			break
		}
		together.complete()
		if err := together.sched.Check(); err != nil {
			t.Fatal(err)
		}
	}
	var preemptions int64
	for i, w := range alone {
		preemptions += w.sched.Counters().Preemptions
		if u := pools[i].Usage(); u.Held != 0 {
			t.Errorf("rank %d still holds %d blocks", i, u.Held)
		}
	}
	if r, q := together.sched.Load(); r+q != 0 || preemptions == 0 || together.sched.Counters().Preemptions != preemptions {
		t.Errorf("%d run, %d wait, %+v, alone %d preemptions", r, q, together.sched.Counters(), preemptions)
	}
}

func TestRanksThatPlanAheadEndToo(t *testing.T) {
	w, pools := ranks(t, 40, true)
	for i := range int32(30) {
		w.add(50+7*i, 60+i)
	}
	w.finish()
	for i, pool := range pools {
		if u := pool.Usage(); u.Held != 0 {
			t.Errorf("rank %d still holds %d blocks", i, u.Held)
		}
	}
}

func TestTheBalancerKeepsAwayFromFullMemory(t *testing.T) {
	for _, c := range []struct {
		requests, waiting int
		usage, want       float64
	}{{10, 4, 0.5, 10}, {10, 4, 1, 22}, {10, 0, 1, 10}, {3, 1, 0.75, 4.5}} {
		if got := scheduler.BalancerScore(c.requests, c.waiting, c.usage); got != c.want {
			t.Errorf("%d requests, %d waiting, %v of the cache: %v, want %v", c.requests, c.waiting, c.usage, got, c.want)
		}
	}
}
