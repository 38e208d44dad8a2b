package scheduler_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

func withCaching(_ *scheduler.Limits, c *kvcache.Config) { c.PrefixCaching = true }

// shared is a prompt of which every request has the same 64 tokens.
func shared() kvcache.Prompt { return kvcache.Prompt{{Label: 1 << 40, Len: 64}} }

func TestSarathiFillsStepsOfAChunkAroundTheDecodes(t *testing.T) {
	w := under(t, "sarathi", 1000, scheduler.Settings{ChunkSize: 512}, nil)
	w.add(100, 20)
	w.step()
	w.add(1000, 5)
	w.add(600, 5)
	w.expect("0: 1@100!  1: 511@0+", "0: 1@101!  1: 489@511!  2: 22@0+", "0: 1@102!  1: 1@1000!  2: 510@22", "0: 1@103!  1: 1@1001!  2: 68@532!")
}

// A step has as many tokens as a chunk, whatever the engine could do: that bounds the time between tokens, where chunked
// puts a whole prompt beside the decodes.
func TestSarathiBoundsWhatADecodeWaitsForBelowChunked(t *testing.T) {
	longest := func(w *world) (tokens int32) {
		w.add(100, 60)
		w.step()
		for range 3 {
			w.add(6000, 5)
		}
		for w.step() != "empty" {
		}
		return w.widest
	}
	s, c := under(t, "sarathi", 2000, scheduler.Settings{ChunkSize: 512}, nil), chunked(t, 2000, nil)
	if a, b := longest(s), longest(c); a != 512 || b != 8192 {
		t.Errorf("the longest step has %d tokens under Sarathi, %d under chunked", a, b)
	}
}

// As many decodes as a chunk has tokens leave nothing for prompts, and none of them is left out.
func TestSarathiAdmitsNobodyBesideAChunkFullOfDecodes(t *testing.T) {
	w := under(t, "sarathi", 1000, scheduler.Settings{ChunkSize: 4}, nil)
	for range 6 {
		w.add(1, 20)
	}
	w.expect("0: 1@0+!  1: 1@0+!  2: 1@0+!  3: 1@0+!", "0: 1@1!  1: 1@1!  2: 1@1!  3: 1@1!", "0: 1@2!  1: 1@2!  2: 1@2!  3: 1@2!")
}

func TestSarathiTakesWholeTiles(t *testing.T) {
	for chunk, want := range map[int]int{1: 1, 100: 100, 128: 128, 257: 256, 512: 512, 600: 512, 2048: 2048} { // order does not matter: each is a case of its own
		if got := scheduler.Tiled(chunk); got != want {
			t.Errorf("a chunk size of %d makes steps of %d, want %d", chunk, got, want)
		}
	}
}

// The last admitted loses its memory to the decodes and goes to the front of the line, where a smaller one must not pass.
func TestSarathiPreemptsTheLastToTheFront(t *testing.T) {
	w := under(t, "sarathi", 13, scheduler.Settings{ChunkSize: 512}, nil)
	w.add(95, 40)
	w.add(95, 40)
	w.step()
	w.add(16, 2)
	w.expect("0: 1@95!  1: 1@95!  2: 16@0+!", "-2  -1  0: 1@96!", "0: 1@97!")
	w.finish()
}

// A prompt takes the memory for all of it with its first chunk, so that it is never preempted half-way.
func TestSarathiTakesTheMemoryOfAWholePrompt(t *testing.T) {
	w := under(t, "sarathi", 100, scheduler.Settings{ChunkSize: 128}, nil)
	w.add(1000, 2)
	w.expect("0: 128@0+")
	if u := w.pool.Usage(); u.Held != 63 {
		t.Errorf("%d blocks are held, want 63", u.Held)
	}
}
