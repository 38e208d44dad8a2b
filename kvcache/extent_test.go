package kvcache

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPrivateBlocksAreANumber(t *testing.T) {
	p := caching(20)
	turn := words("s:40 A:60 B:100")
	admit := func(id SeqID) {
		if !p.Admit(id, turn, p.Match(turn, 100), Claim{Tokens: 100, Known: 100}) {
			t.Fatalf("does not fit:\n%s", p.Describe())
		}
		check(t, p)
	}
	admit(0)
	if !p.Grow(0, 120, 112) {
		t.Fatal("no room to grow")
	}
	// Block 2 has the first private token. The last block is full only up to token 112.
	want := "12 blank, 0 cached, 8 held of 20 blocks of 16 tokens\nseq 0   1:2+ (5+1)\n"
	if got := p.Describe(); got != want {
		t.Errorf("held:\n%swant\n%s", got, want)
	}
	p.Release(0)
	check(t, p)
	want = "13 blank, 7 cached, 0 held of 20 blocks of 16 tokens\ncached  (5+0) 1:2+\n"
	if got := p.Describe(); got != want {
		t.Errorf("released:\n%swant\n%s", got, want)
	}
	if !p.Take(15) || p.Take(6) {
		t.Fatal("15 blocks can be taken, and then 5")
	}
	want = "0 blank, 5 cached, 15 held, 15 of them taken, of 20 blocks of 16 tokens\ncached  (3+0) 1:2+\n"
	if got := p.Describe(); got != want {
		t.Errorf("the tail is overwritten first:\n%swant\n%s", got, want)
	}
	check(t, p)
}

func TestASequenceFindsWhatItLeftWhenItWasPreempted(t *testing.T) {
	p := caching(20)
	turn := words("s:40 A:60 B:100")
	p.Admit(0, turn, Hit{}, Claim{Tokens: 112, Known: 112})
	p.Release(0)
	p.Take(15) // leaves five of seven
	if h := p.Match(turn, 112); h != (Hit{Tokens: 80, Idle: 5, Queried: 112}) {
		t.Errorf("hit %+v, want the five blocks", h)
	}
	want := "0 blank, 5 cached, 15 held, 15 of them taken, of 20 blocks of 16 tokens\ncached  3:2+ 2+ 1:2+\n"
	if got := p.Describe(); got != want {
		t.Errorf("after the lookup:\n%swant\n%s", got, want)
	}
	check(t, p)
}

func TestTheLastBlockThatIsComputedAnewIsKeptTwice(t *testing.T) {
	p := caching(20)
	turn := words("A:64")
	for range 2 {
		h := p.Match(turn, 16) // too few tokens for a hit: the block is computed again
		p.Admit(0, turn, h, Claim{Tokens: 16, Known: 16})
		check(t, p)
		p.Release(0)
		check(t, p)
	}
	if u := p.Usage(); u.Cached != 2 {
		t.Errorf("%d blocks cached, want both copies:\n%s", u.Cached, p.Describe())
	}
}

func TestASequenceIsPlainOnceAllThatOthersMayShareIsFindable(t *testing.T) {
	for _, c := range []struct {
		prompt        string
		tokens, known int
		plain         bool
	}{
		{"s:40 A:60", 100, 100, true},
		{"s:40 A:60", 32, 32, true},     // the third block has private tokens
		{"s:40 A:60", 100, 31, false},   // the second block is not known yet
		{"s:40 A:60", 30, 30, false},    // nor is it here
		{"s:100 r:60", 130, 130, false}, // somebody may ask for the answer
		{"A:100 r:60", 10, 10, true},
	} {
		p := caching(20)
		p.Admit(0, words(c.prompt), Hit{}, Claim{Tokens: c.tokens, Known: c.known})
		if got := p.Plain(0); got != c.plain {
			t.Errorf("%q with %d tokens, %d known: plain %v", c.prompt, c.tokens, c.known, got)
		}
	}
	p := New(Config{Blocks: 20, BlockSize: 16})
	p.Admit(0, words("s:100 r:60"), Hit{}, Claim{Tokens: 10, Known: 10})
	if !p.Plain(0) {
		t.Error("without a prefix cache nobody can ask for anything")
	}
	p = hybrid(20, 33, 0)
	p.Admit(0, words("A:100"), Hit{}, Claim{Tokens: 10, Known: 10})
	if p.Plain(0) {
		t.Error("a sequence whose windows give blocks back is plain")
	}
}

func TestSettlingMoreThanWasTakenPanics(t *testing.T) {
	p := caching(20)
	p.Admit(0, words("A:100"), Hit{}, Claim{Tokens: 16, Known: 16})
	p.Take(1)
	p.Settle(0, 32, 32)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	p.Settle(0, 33, 33)
}

func TestBlocksOfARunAreNeighboursInTheIndex(t *testing.T) {
	p := caching(200)
	admit(t, p, 0, words("a:1600 b:8 c:24"))
	if want := 3 + 1 + 1; p.index.used != want { // ceil(100 / 39) stretches, one block of two runs, and one of c alone
		t.Errorf("102 blocks lie in %d slots, want %d", p.index.used, want)
	}
	p.Release(0)
	p.Take(200)
	check(t, p)
	if p.index.used != 0 {
		t.Errorf("%d slots are in use when nothing is cached", p.index.used)
	}
}

func TestWhatNobodyComesBackForIsOneEntry(t *testing.T) {
	p := caching(20)
	admit(t, p, 0, words("s:32 A:40"))
	admit(t, p, 1, words("B:48"))
	admit(t, p, 2, words("C:64 D:20"))
	for _, id := range []SeqID{1, 2, 0} { // of the last one the shared blocks come behind the private ones
		p.Leave(id, 0, 0)
		check(t, p)
	}
	want := "8 blank, 12 cached, 0 held of 20 blocks of 16 tokens\ncached  (10+0) 1:2+\n"
	if got := p.Describe(); got != want {
		t.Errorf("all gone:\n%swant\n%s", got, want)
	}
	admit(t, p, 0, words("E:32"))
	p.Leave(0, 0, 0)
	check(t, p)
	want = "6 blank, 14 cached, 0 held of 20 blocks of 16 tokens\ncached  (10+0) 1:2+ (2+0)\n"
	if got := p.Describe(); got != want {
		t.Errorf("another gone:\n%swant\n%s", got, want)
	}
	if !p.Take(17) {
		t.Fatal("17 blocks cannot be taken")
	}
	check(t, p)
	want = "0 blank, 3 cached, 17 held, 17 of them taken, of 20 blocks of 16 tokens\ncached  1+ (2+0)\n"
	if got := p.Describe(); got != want {
		t.Errorf("overwritten in the order in which they came:\n%swant\n%s", got, want)
	}
	if n := p.Counters().Evicted; n != 11 {
		t.Errorf("%d blocks were overwritten, want 11", n)
	}
}

// grow takes in both pools the blocks by which a sequence grows, or in none.
func grow(pools [2]*Pool, from, to int) bool {
	n := pools[0].ceil(to) - pools[0].ceil(from)
	return pools[0].Take(n) && pools[1].Take(n)
}

// Whether a sequence that never comes back is released or leaves for good cannot be seen from outside.
func TestLeavingForGoodLooksLikeARelease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{Blocks: rapid.IntRange(4, 20).Draw(t, "blocks"), BlockSize: 4, PrefixCaching: true}
		pools := [2]*Pool{New(config), New(config)}
		live := map[SeqID]int{} // tokens that fit
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "end one") {
				ids := slices.Sorted(maps.Keys(live))
				id := ids[rapid.IntRange(0, len(ids)-1).Draw(t, "which")]
				tokens := live[id]
				if grown := tokens + rapid.IntRange(0, 9).Draw(t, "grown by"); pools[0].Plain(id) && grow(pools, tokens, grown) {
					tokens = grown
					pools[0].Settle(id, tokens, tokens-1)
				}
				pools[0].Release(id)
				pools[1].Leave(id, tokens, tokens-1)
				delete(live, id)
			} else {
				p := Prompt{
					{Label: uint64(rapid.IntRange(1, 2).Draw(t, "shared")), Len: int32(rapid.IntRange(0, 9).Draw(t, "its length"))},
					{Label: Private | uint64(n), Len: int32(rapid.IntRange(1, 20).Draw(t, "private"))},
				}
				tokens := p.Tokens()
				p = append(p, Run{Label: Private | uint64(n) | 1<<32, Len: 9})
				var admitted [2]bool
				for i, pool := range pools {
					h := pool.Match(p, tokens)
					admitted[i] = pool.Admit(SeqID(n), p, h, Claim{Tokens: tokens, Known: tokens})
				}
				if admitted[0] != admitted[1] {
					t.Fatalf("admitted: %v", admitted)
				}
				if admitted[0] {
					live[SeqID(n)] = tokens
				}
			}
			if a, b := pools[0].Usage(), pools[1].Usage(); a != b || pools[0].Counters() != pools[1].Counters() {
				t.Fatalf("released: %+v %+v\nleft: %+v %+v", a, pools[0].Counters(), b, pools[1].Counters())
			}
			if err := pools[1].Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
