package kvcache

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// hybrid returns a pool for a full group and a group with a window, blocks of 16.
func hybrid(blocks, window, inFlight int) *Pool {
	return New(Config{
		Blocks: blocks, BlockSize: 16, PrefixCaching: true, InFlight: inFlight,
		Groups: []Group{{}, {Window: window}},
	})
}

func TestBlocksOutsideTheWindowGoBack(t *testing.T) {
	p := hybrid(100, 33, 0)
	admit(t, p, 0, words("a:160"))
	if u := p.Usage(); u.Held != 20 {
		t.Fatalf("a prompt of 10 blocks holds %d in two groups, want 20", u.Held)
	}
	// Token 160 sees keys 128 to 160, so the first eight blocks of the window group are of no use.
	if next := p.Slide(0, 160); next != 176 {
		t.Errorf("the next block goes back after %d tokens, want 176", next)
	}
	if u := p.Usage(); u.Held != 12 || u.Cached != 8 {
		t.Errorf("held %d, cached %d, want 12 and 8:\n%s", u.Held, u.Cached, p.Describe())
	}
	check(t, p)
	for _, c := range []struct{ computed, held int }{{175, 12}, {176, 11}, {177, 11}, {100, 11}} {
		p.Slide(0, c.computed)
		if u := p.Usage(); u.Held != c.held {
			t.Errorf("after %d tokens %d blocks are held, want %d", c.computed, u.Held, c.held)
		}
	}
	p.Release(0)
	check(t, p)
	if u := p.Usage(); u.Held != 0 {
		t.Errorf("after the release %d blocks are held", u.Held)
	}
}

func TestAPoolWithoutWindowsNeverSlides(t *testing.T) {
	p := caching(10)
	admit(t, p, 0, words("a:100"))
	if next := p.Slide(0, 100); next != math.MaxInt {
		t.Errorf("more to take back after %d tokens", next)
	}
	if u := p.Usage(); u.Held != 7 {
		t.Errorf("%d blocks held, want 7", u.Held)
	}
}

func TestAHybridHitMustServeEveryGroup(t *testing.T) {
	p := hybrid(26, 33, 0) // the window needs the last two blocks before the hit's end
	admit(t, p, 0, words("a:160"))
	p.Slide(0, 160)
	p.Release(0)
	if h := p.Match(words("a:160"), 160); h.Tokens != 144 || h.Idle != 11 {
		t.Fatalf("hit %+v, want 144 tokens in nine blocks of one group and two of the other", h)
	}
	// The eight blocks that left the window were released first, so they are overwritten first.
	admit(t, p, 1, words("b:112"))
	if h := p.Match(words("a:160"), 160); h.Tokens != 0 {
		t.Errorf("hit %d tokens, want 0: the window group has lost the block before the last two\n%s", h.Tokens, p.Describe())
	}
	p.Release(1)
	if h := admit(t, p, 2, words("a:160 c:5")); h.Tokens != 160 {
		t.Errorf("hit %d tokens, want 160: the window group still has the last two blocks\n%s", h.Tokens, p.Describe())
	}
	if u := p.Usage(); u.Held != 14 {
		t.Errorf("%d blocks held, want 11 of the full group and 3 of the other", u.Held)
	}
	p.Release(2)
	check(t, p)
}

func TestAWindowGroupNeedsAtMostItsWindowAndWhatIsInFlight(t *testing.T) {
	p := hybrid(1000, 129, 256)
	// The full group needs 100 blocks, the window group ceil((128+256)/16) + 1 = 25.
	if n := p.Need(Hit{}, 1600); n != 125 {
		t.Errorf("1600 tokens need %d blocks, want 125", n)
	}
	if n := p.Need(Hit{}, 160); n != 20 {
		t.Errorf("160 tokens need %d blocks, want 20", n)
	}
}

func TestHybridPoolsConserveBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New(Config{
			Blocks: rapid.IntRange(4, 60).Draw(t, "blocks"), BlockSize: 4, PrefixCaching: true,
			Groups: []Group{{}, {Window: rapid.IntRange(1, 20).Draw(t, "window")}, {Window: 9}},
		})
		computed := map[SeqID]int{}
		t.Repeat(map[string]func(*rapid.T){
			"admit or grow": func(t *rapid.T) {
				id := SeqID(rapid.IntRange(0, 3).Draw(t, "id"))
				prompt := Prompt{{uint64(id % 2), 20}, {Private | uint64(id), 400}}
				n := computed[id] + rapid.IntRange(1, 12).Draw(t, "tokens")
				if computed[id] == 0 {
					h := p.Match(prompt, 24)
					if n = h.Tokens + n; p.Admit(id, prompt, h, Claim{Tokens: n, Known: n}) {
						computed[id] = n
					}
					return
				}
				p.Slide(id, computed[id])
				if p.Grow(id, n, n) {
					computed[id] = n
				}
			},
			"release": func(t *rapid.T) {
				id := SeqID(rapid.IntRange(0, 3).Draw(t, "id"))
				p.Release(id)
				computed[id] = 0
			},
			"": func(t *rapid.T) {
				if err := p.Check(); err != nil {
					t.Fatalf("%v\n%s", err, p.Describe())
				}
			},
		})
	})
}
