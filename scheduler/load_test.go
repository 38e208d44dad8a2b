package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// offloading returns a world under vLLM's V1 scheduler whose pool of so many blocks stands over ample host memory. A load
// takes two steps.
func offloading(t tester, blocks int, change func(*scheduler.Limits)) *world {
	l, pool := setting(blocks, func(l *scheduler.Limits, c *kvcache.Config) {
		c.PrefixCaching = true
		if change != nil {
			change(l)
		}
	})
	w := newWorld(t, scheduler.Chunked(l, kvcache.Over(pool, kvcache.Tiers{Host: 10_000})), pool)
	w.lag = 1
	return w
}

// document returns a prompt that begins with a document of so many tokens and ends with a question of 10.
func document(label uint64, tokens int32, question uint64) kvcache.Prompt {
	return kvcache.Prompt{{Label: label << 32, Len: tokens}, {Label: 1<<40 + question, Len: 10}}
}

func TestALoadLetsOthersPass(t *testing.T) {
	w := offloading(t, 100, nil)
	w.send(document(1, 800, 1), 1, 0)
	w.send(document(2, 1590, 2), 1, 0) // does not fit beside it, and overwrites it
	w.expect("0: 810@0+!", "1: 1600@0+!")
	again := w.send(document(1, 800, 3), 2, 0)
	w.add(100, 1)
	w.expect("3: 100@0+!  2<800")
	if again.State != scheduler.Loading || w.pool.Usage().Held != 50 {
		t.Errorf("it is %v and %d blocks are held, want 50", again.State, w.pool.Usage().Held)
	}
	w.expect("empty", "2: 10@800+!", "2: 1@810!")
	w.finish()
	c := w.sched.Counters()
	if c.HostHits != 800 || c.HostQueries != 810+1600+810+100 || c.LoadedBlocks != 50 {
		t.Errorf("%d tokens of %d found on the host, %d blocks loaded", c.HostHits, c.HostQueries, c.LoadedBlocks)
	}
	if c.StoredBlocks != 50+100+6 { // the third's own block is not full
		t.Errorf("%d blocks stored", c.StoredBlocks)
	}
}

func TestWhatIsStillOnItsWayIsNotFound(t *testing.T) {
	w := offloading(t, 100, nil)
	w.send(document(1, 640, 1), 1, 0)
	w.send(document(2, 1590, 2), 1, 0)
	w.expect("0: 650@0+!", "1: 1600@0+!")
	w.send(document(1, 640, 3), 1, 0)
	w.send(document(1, 640, 4), 1, 0)
	w.expect("2<640  3<640") // each loads it for itself
	w.expect("empty", "2: 10@640+!  3: 10@640+!")
	w.finish()
}

func TestALoadLeavesWhatUnfinishedPrefillsNeed(t *testing.T) {
	w := offloading(t, 100, func(l *scheduler.Limits) { l.MaxNumBatchedTokens = 320 })
	w.send(document(1, 480, 1), 1, 0)
	w.finish()
	w.add(1600, 1)
	w.finish() // all 100 blocks: the document is gone
	w.add(1270, 1)
	w.expect("2: 320@0+") // holds 20 blocks, needs 60 more
	w.send(document(1, 480, 3), 1, 0)
	w.expect("2: 320@320")
	if running, waiting := w.sched.Load(); running != 1 || waiting != 1 {
		t.Fatalf("%d run and %d wait", running, waiting)
	}
	w.expect("2: 320@640", "2: 310@960!", "3<480") // 30 blocks were free beyond those of the other only now
	w.finish()
}

func TestALoadThatFailsIsComputed(t *testing.T) {
	w := offloading(t, 100, nil)
	w.send(document(1, 800, 1), 1, 0)
	w.send(document(2, 1590, 2), 1, 0)
	w.expect("0: 810@0+!", "1: 1600@0+!")
	s := w.send(document(1, 800, 3), 1, 0)
	w.expect("2<800")
	w.loads, w.due = nil, nil
	w.sched.(scheduler.Loader).Ready(s, 0)
	w.expect("2: 810@0+!")
	w.finish()
}

func TestWhoGivesUpDuringItsLoadLeavesItsMemory(t *testing.T) {
	w := offloading(t, 100, nil)
	w.send(document(1, 800, 1), 1, 0)
	w.send(document(2, 1590, 2), 1, 0)
	w.expect("0: 810@0+!", "1: 1600@0+!")
	s := w.send(document(1, 800, 3), 1, 0)
	w.expect("2<800")
	w.sched.Drop(s)
	w.finish()
}

// The head of the line needs the memory that the one behind it holds. Nobody runs, so nobody would ever give way.
func TestAHeadThatDoesNotFitDoesNotBlockLoadedMemory(t *testing.T) {
	w := offloading(t, 100, func(l *scheduler.Limits) { l.Priority = true })
	w.send(document(1, 800, 1), 1, 0)
	w.send(document(2, 1590, 2), 1, 0)
	w.expect("0: 810@0+!", "1: 1600@0+!")
	w.send(document(1, 800, 3), 1, 5)
	w.expect("2<800")
	w.send(kvcache.Prompt{{Label: 7 << 32, Len: 1500}}, 1, 0)
	w.expect("empty", "2: 10@800+!", "3: 1500@0+!")
	w.finish()
}

// An engine that starts over host memory which another has filled has nothing to do with those copies.
func TestCopiesMadeBeforeAreNotCountedAgain(t *testing.T) {
	l, pool := setting(100, func(_ *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching = true })
	over := kvcache.Over(pool, kvcache.Tiers{Host: 10_000})
	first := newWorld(t, scheduler.Chunked(l, over), pool)
	first.send(document(1, 800, 1), 1, 0)
	first.expect("0: 810@0+!")
	first.finish()
	second := newWorld(t, scheduler.Chunked(l, over), pool)
	second.send(document(2, 320, 2), 1, 0)
	second.expect("0: 330@0+!")
	second.finish()
	if a, b := first.sched.Counters().StoredBlocks, second.sched.Counters().StoredBlocks; a != 50 || b != 20 {
		t.Errorf("%d blocks stored and %d, want 50 and 20", a, b)
	}
}
