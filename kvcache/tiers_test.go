package kvcache

import "testing"

// admitOver looks a prompt up in both tiers and admits all of it as if it were computed. It returns the tokens that the pool
// and the host had.
func admitOver(t *testing.T, c *Tiered, id SeqID, prompt Prompt) (hit, below int) {
	t.Helper()
	n := prompt.Tokens()
	h := c.Match(prompt, n)
	below, _ = c.Below(prompt, n, h)
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
	c := Over(caching(5), Tiers{Host: 100})
	admitOver(t, c, 0, words("a:64"))
	if c.copied != 4 {
		t.Errorf("%d blocks copied, want the 4 full ones", c.copied)
	}
	c.Release(0)
	admitOver(t, c, 1, words("b:80")) // takes the whole pool
	c.Release(1)
	hit, below := admitOver(t, c, 2, words("a:64 C:5"))
	if hit != 0 || below != 64 {
		t.Errorf("the pool had %d tokens and the host %d, want 0 and 64", hit, below)
	}
	if c.copied != 9 {
		t.Errorf("%d blocks copied, want 9: what the host has is not copied again", c.copied)
	}
}

func TestAtLeastOneTokenIsLeftToCompute(t *testing.T) {
	c := Over(caching(4), Tiers{Host: 100})
	admitOver(t, c, 0, words("a:64"))
	c.Release(0)
	admitOver(t, c, 1, words("b:64"))
	c.Release(1)
	if _, below := admitOver(t, c, 2, words("a:64")); below != 48 {
		t.Errorf("the host offers %d of 64 tokens, want 48", below)
	}
}

func TestTheHostGoesOnWhereThePoolEnds(t *testing.T) {
	c := Over(caching(6), Tiers{Host: 100})
	admitOver(t, c, 0, words("a:64"))
	c.Release(0)
	admitOver(t, c, 1, words("b:64")) // overwrites the last two blocks of a
	c.Release(1)
	if hit, below := admitOver(t, c, 2, words("a:70")); hit != 32 || below != 32 {
		t.Errorf("the pool had %d tokens and the host %d, want 32 and 32", hit, below)
	}
}

func TestAPrivatePromptIsLookedUpByItsOwnKeys(t *testing.T) {
	c := Over(caching(20), Tiers{Host: 100})
	admitOver(t, c, 0, words("a:64 b:16"))
	if hit, below := admitOver(t, c, 1, words("A:80")); hit != 0 || below != 0 {
		t.Errorf("the pool had %d tokens and the host %d of a prompt that nobody has seen", hit, below)
	}
}

func TestAFullHostForgetsWhatNobodyAskedForLongest(t *testing.T) {
	c := Over(caching(4), Tiers{Host: 4})
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
	h := NewStore(3)
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
	c := Over(caching(10), Tiers{Host: 100})
	prompt := words("A:20 B:100")
	c.Match(prompt, 20)
	if !c.Admit(0, prompt, Hit{}, Claim{Tokens: 20, Known: 20}) {
		t.Fatal("does not fit")
	}
	if c.copied != 1 {
		t.Errorf("20 known tokens: %d blocks copied, want 1", c.copied)
	}
	c.Grow(0, 40, 31)
	if c.copied != 1 {
		t.Errorf("%d blocks copied although 31 known tokens fill one", c.copied)
	}
	c.Know(0, 32)
	if c.copied != 2 {
		t.Errorf("%d blocks copied, want 2", c.copied)
	}
	checkOver(t, c)
}

func TestATierNeedsPrefixCaching(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Over(New(Config{Blocks: 4, BlockSize: 16}), Tiers{Host: 10})
}

// tiered is a pool of five blocks over so many of the host, over a farther store.
func tiered(host, far int, selective bool) *Tiered {
	return Over(caching(5), Tiers{Host: host, Far: NewStore(far), Selective: selective})
}

// serve admits prompts one after the other, and returns what the pool, and the host and the farther tier, had of the last.
func serve(t *testing.T, c *Tiered, prompts ...string) (hit, more, far int) {
	t.Helper()
	for _, text := range prompts {
		p := words(text)
		n := p.Tokens()
		h := c.Match(p, n)
		more, far = c.Below(p, n, h)
		if !c.Admit(0, p, h, Claim{Tokens: n, Known: n}) {
			t.Fatalf("%s does not fit:\n%s", text, c.pool.Describe())
		}
		checkOver(t, c)
		c.Release(0)
		hit = h.Tokens
	}
	return hit, more, far
}

func TestWhatTheHostHasNoRoomForGoesFarther(t *testing.T) {
	c := tiered(5, 100, false)
	hit, more, far := serve(t, c, "a:80", "b:80", "a:70")
	if hit != 0 || more != 64 || far != 64 {
		t.Errorf("the pool has %d tokens, what is below %d, of which %d are far; want 0, 64 and 64", hit, more, far)
	}
	if down, farther := c.Copied(); down != 10 || farther != 5+4 {
		t.Errorf("%d blocks copied down and %d farther, want 10, and a's 5 and b's 4 that a's return pushed out", down, farther)
	}
	if hit, more, far = serve(t, c, "c:80", "a:70"); hit != 0 || more != 64 || far != 64 {
		t.Errorf("once more: %d, %d, %d", hit, more, far)
	}
}

func TestWhatComesBackFromFarIsOnTheHostAgain(t *testing.T) {
	c := tiered(7, 100, false)
	serve(t, c, "a:64", "b:80", "a:64") // a is back on the host
	if _, more, far := serve(t, c, "C:80", "a:64"); more != 48 || far == 48 {
		t.Errorf("%d tokens are below, %d of them far", more, far)
	}
}

func TestAStoreIsSharedByTwoPools(t *testing.T) {
	far := NewStore(100)
	one, other := Over(caching(5), Tiers{Host: 4, Far: far}), Over(caching(5), Tiers{Host: 4, Far: far})
	serve(t, one, "a:64", "b:80")
	if hit, more, n := serve(t, other, "a:70"); hit != 0 || more != 64 || n != 64 {
		t.Errorf("the other engine finds %d in its pool, %d below, %d far", hit, more, n)
	}
}

func TestSelectivelyOnlyWhatIsAskedForTwiceIsCopied(t *testing.T) {
	c := tiered(100, 100, true)
	serve(t, c, "a:64 B:16")
	if c.copied != 0 {
		t.Errorf("%d blocks copied that were asked for once", c.copied)
	}
	serve(t, c, "a:64 C:16")
	if c.copied != 4 {
		t.Errorf("%d blocks copied, want the 4 that were found", c.copied)
	}
	serve(t, c, "a:64 D:16")
	if c.copied != 4 {
		t.Errorf("%d blocks copied, want still 4", c.copied)
	}
	if hit, more, far := serve(t, c, "E:80", "a:64 F:16"); hit != 0 || more != 64 || far != 0 {
		t.Errorf("the pool has %d, the host %d, far %d", hit, more, far)
	}
}
