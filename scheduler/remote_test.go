package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// decoder returns a world of the decode side, where a prompt takes two steps to arrive, with prefix caching.
func decoder(t tester, blocks int, change func(*scheduler.Limits)) *world {
	w := chunked(t, blocks, func(l *scheduler.Limits, c *kvcache.Config) {
		c.PrefixCaching = true
		if change != nil {
			change(l)
		}
	})
	w.lag = 1
	return w
}

// remote sends a request whose prompt has been computed elsewhere, along with so many output tokens.
func (w *world) remote(prompt kvcache.Prompt, output, given int32) *scheduler.Seq {
	s := w.send(prompt, output, 0)
	s.Remote, s.Given = true, given
	return s
}

func TestAPromptFromAPeerTakesItsMemoryAtOnceAndLetsOthersPass(t *testing.T) {
	w := decoder(t, 100, nil)
	s := w.remote(document(1, 790, 1), 3, 0)
	w.add(100, 3)
	w.expect("1: 100@0+!  0<800")
	if held := w.pool.Usage().Held; s.State != scheduler.Loading || held != 50+7 {
		t.Errorf("it is %v, and %d blocks are held, want 57", s.State, held)
	}
	w.expect("1: 1@100!", "1: 1@101!  0: 1@799+!", "0: 1@800!", "0: 1@801!")
	w.finish()
}

func TestTheFirstTokenMayComeWithThePrompt(t *testing.T) {
	w := decoder(t, 100, nil)
	s := w.remote(document(1, 790, 1), 3, 1)
	w.expect("0<800", "empty", "0: 1@800+!", "0: 1@801!")
	if w.finish(); s.Out != 3 {
		t.Errorf("it has %d tokens, want 3", s.Out)
	}
}

func TestWhatThePrefixCacheHasIsNotFetched(t *testing.T) {
	w := decoder(t, 100, nil)
	w.send(document(1, 640, 1), 1, 0)
	w.expect("0: 650@0+!")
	s := w.remote(document(1, 640, 2), 1, 0)
	p := w.sched.Plan(w.now)
	if len(p.Loads) != 1 || p.Loads[0].Blocks != 1 || !p.Loads[0].Remote || s.Hit != 640 {
		t.Errorf("loads %+v, hit %d: want the one block behind the document", p.Loads, s.Hit)
	}
}

func TestAPromptThatDoesNotArriveIsComputedHere(t *testing.T) {
	w := decoder(t, 100, nil)
	w.send(document(1, 640, 1), 1, 0)
	w.expect("0: 650@0+!")
	s := w.remote(document(1, 640, 2), 2, 1)
	w.sched.Plan(w.now)
	w.sched.(scheduler.Loader).Ready(s, 640)
	w.expect("1: 10@640+!", "1: 1@650!")
	w.finish()
}

func TestMemoryForDecodesIsKeptFreeWhenAPromptIsFetched(t *testing.T) {
	reserve := func(l *scheduler.Limits) { l.ReservedDecodeTokens = 160 }
	w := decoder(t, 100, reserve)
	w.remote(document(1, 630, 1), 1, 0) // 40 blocks
	w.remote(document(2, 630, 2), 1, 0) // 40 more, and 10 for each of the two: that fits
	w.remote(document(3, 150, 3), 1, 0) // 10 more would fit, but not with 10 for each of the three
	w.expect("0<640  1<640", "empty", "0: 1@639+!  1: 1@639+!", "2<160")
	w.finish()

	w = decoder(t, 100, reserve)
	w.remote(document(1, 1590, 1), 1, 0)
	w.expect("0<1600") // alone it may have the whole pool
	w.finish()
}

func TestMemoryOnHoldStaysUntilItIsFreed(t *testing.T) {
	w := chunked(t, 100, func(_ *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching = true })
	hold := w.sched.(scheduler.Holder)
	a, b := w.add(800, 2), w.add(800, 1)
	w.expect("0: 800@0+!  1: 800@0+!")
	c := w.add(160, 1)
	hold.Hold(a)
	w.check()
	if u := w.pool.Usage(); u.Held != 50 || a.State != scheduler.Held || b.State != scheduler.Gone {
		t.Errorf("%+v, states %v and %v", u, a.State, b.State)
	}
	again := w.send(a.Tokens[:1], 1, 0)
	w.expect("2: 160@0+!  3: 16@784+!")
	hold.Free(a)
	w.check()
	if u := w.pool.Usage(); u.Held != 0 || c.State != scheduler.Gone || again.Hit != 784 {
		t.Errorf("%+v, state %v, hit %d", u, c.State, again.Hit)
	}
}

func TestALoadOnHoldKeepsTheMemoryThatIsWrittenTo(t *testing.T) {
	w := decoder(t, 100, nil)
	s := w.remote(document(1, 790, 1), 3, 0)
	w.expect("0<800")
	w.sched.(scheduler.Holder).Hold(s)
	w.check()
	w.add(1600, 1)
	w.expect("empty", "empty") // what arrives now changes nothing
	w.sched.(scheduler.Holder).Free(s)
	w.expect("1: 1600@0+!")
	w.finish()
}

// The cohort and the simple loop must take the same steps however prompts come in.
func TestPromptsFromPeersTakeTheSameStepsWithAndWithoutACohort(t *testing.T) {
	for _, async := range []bool{false, true} {
		run := func(named bool) (held []int, steps int) {
			w := decoder(t, 120, func(l *scheduler.Limits) { l.Named, l.AsyncScheduling = named, async })
			if async {
				w.depth = 2
			}
			for i := range 40 {
				w.remote(document(uint64(i%5+1), int32(64+37*(i%7)), uint64(100+i)), int32(2+i%23), int32(i%2))
				for range i % 4 {
					w.step()
					held = append(held, w.pool.Usage().Held)
				}
			}
			for range 600 {
				w.step()
				held = append(held, w.pool.Usage().Held)
			}
			w.finish()
			return held, int(w.now)
		}
		named, n := run(true)
		unnamed, m := run(false)
		if n != m {
			t.Errorf("async %v: %d steps and %d", async, n, m)
		}
		for i := range named {
			if named[i] != unnamed[i] {
				t.Fatalf("async %v: after step %d the named loop holds %d blocks, the cohort %d", async, i, named[i], unnamed[i])
			}
		}
	}
}
