package kvcache

import "testing"

// admitOver looks a prompt up in both tiers and admits all of it as if it were computed. It returns the tokens that the pool
// and the host had.
func admitOver(t *testing.T, c *Tiered, id SeqID, prompt Prompt) (hit, below int) {
	t.Helper()
	n := prompt.Tokens()
	h := c.Match(prompt, n)
	below = c.Below(prompt, n, h)
	if !c.Admit(id, prompt, h, Claim{Tokens: n, Known: n}) {
		t.Fatalf("sequence %d does not fit:\n%s", id, c.pool.Describe())
	}
	checkOver(t, c)
	return h.Tokens, below
}

func checkOver(t *testing.T, c *Tiered) {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatThePoolOverwritesTheHostStillHas(t *testing.T) {
	c := Over(caching(5), 100)
	admitOver(t, c, 0, words("a:64"))
	if c.Copied() != 4 {
		t.Errorf("%d blocks copied, want the 4 full ones", c.Copied())
	}
	c.Release(0)
	admitOver(t, c, 1, words("b:80")) // takes the whole pool
	c.Release(1)
	hit, below := admitOver(t, c, 2, words("a:64 C:5"))
	if hit != 0 || below != 64 {
		t.Errorf("the pool had %d tokens and the host %d, want 0 and 64", hit, below)
	}
	if c.Copied() != 9 {
		t.Errorf("%d blocks copied, want 9: what the host has is not copied again", c.Copied())
	}
}

func TestAtLeastOneTokenIsLeftToCompute(t *testing.T) {
	c := Over(caching(4), 100)
	admitOver(t, c, 0, words("a:64"))
	c.Release(0)
	admitOver(t, c, 1, words("b:64"))
	c.Release(1)
	if _, below := admitOver(t, c, 2, words("a:64")); below != 48 {
		t.Errorf("the host offers %d of 64 tokens, want 48", below)
	}
}

func TestTheHostGoesOnWhereThePoolEnds(t *testing.T) {
	c := Over(caching(6), 100)
	admitOver(t, c, 0, words("a:64"))
	c.Release(0)
	admitOver(t, c, 1, words("b:64")) // overwrites the last two blocks of a
	c.Release(1)
	if hit, below := admitOver(t, c, 2, words("a:70")); hit != 32 || below != 32 {
		t.Errorf("the pool had %d tokens and the host %d, want 32 and 32", hit, below)
	}
}

func TestAFullHostForgetsWhatNobodyAskedForLongest(t *testing.T) {
	c := Over(caching(4), 4)
	run := func(id SeqID, text string) int {
		_, below := admitOver(t, c, id, words(text))
		c.Release(id)
		return below
	}
	run(0, "a:32")
	run(1, "b:32")
	run(2, "z:64") // b and a are gone from the pool, and from the host
	if below := run(3, "a:33"); below != 0 {
		t.Errorf("the host still has %d tokens of a", below)
	}
	// Now it has the last two blocks of z, and a.
	run(4, "D:16") // and D instead of the third of z
	run(5, "b:64") // and b alone, which fills the pool
	if below := run(6, "a:33"); below != 0 {
		t.Errorf("the host has %d tokens of a", below)
	}
}

func TestTheBeginningOfAPrefixStaysLongest(t *testing.T) {
	h := &host{capacity: 3, blocks: make([]block, 1), index: newIndex(1 << 6)}
	for i := range uint64(3) {
		h.add(key{hash: i + 1})
	}
	h.touch(key{hash: 1})
	h.add(key{hash: 9})
	for hash, want := range map[uint64]bool{1: true, 2: false, 3: true, 9: true} { // order does not matter: lookups
		if got := h.index.find(key{hash: hash}) != 0; got != want {
			t.Errorf("block %d is there: %v, want %v", hash, got, want)
		}
	}
	if err := h.check(); err != nil {
		t.Error(err)
	}
}

func TestAnswersAreCopiedAsTheyGrow(t *testing.T) {
	c := Over(caching(10), 100)
	prompt := words("A:20 B:100")
	c.Match(prompt, 20)
	if !c.Admit(0, prompt, Hit{}, Claim{Tokens: 20, Known: 20}) {
		t.Fatal("does not fit")
	}
	if c.Copied() != 1 {
		t.Errorf("20 known tokens: %d blocks copied, want 1", c.Copied())
	}
	c.Grow(0, 40, 31)
	if c.Copied() != 1 {
		t.Errorf("%d blocks copied although 31 known tokens fill one", c.Copied())
	}
	c.Know(0, 32)
	if c.Copied() != 2 {
		t.Errorf("%d blocks copied, want 2", c.Copied())
	}
	checkOver(t, c)
}

func TestATierNeedsPrefixCaching(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Over(New(Config{Blocks: 4, BlockSize: 16}), 10)
}
