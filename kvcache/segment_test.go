package kvcache

import "testing"

func TestASegmentIsCutWhereAnotherPromptEnds(t *testing.T) {
	p := caching(12)
	admit(t, p, 0, words("a:160"))
	admit(t, p, 1, words("a:64 b:16")) // adopts four of the ten blocks
	want := "1 blank, 0 cached, 11 held of 12 blocks of 16 tokens\n" +
		"seq 0   1:4+*2 2:6+\n" +
		"seq 1   1:4+*2 3+\n"
	if got := p.Describe(); got != want {
		t.Fatalf("shared:\n%swant:\n%s", got, want)
	}
	p.Release(0)
	check(t, p)
	p.Release(1)
	check(t, p)
	want = "1 blank, 11 cached, 0 held of 12 blocks of 16 tokens\n" +
		"cached  2:6+ 3+ 1:4+\n"
	if got := p.Describe(); got != want {
		t.Fatalf("released:\n%swant:\n%s", got, want)
	}
}

func TestACopyOfABlockCutsItOutOfItsSegment(t *testing.T) {
	p := caching(20)
	admit(t, p, 0, words("a:160"))
	admit(t, p, 1, words("a:80")) // computes its last block anew, the fifth
	want := "9 blank, 0 cached, 11 held of 20 blocks of 16 tokens\n" +
		"seq 0   1:4+*2 2+ 3:5+\n" +
		"seq 1   1:4+*2 4+\n"
	if got := p.Describe(); got != want {
		t.Fatalf("computed twice:\n%swant:\n%s", got, want)
	}
	p.Release(0) // leaves the first of the copies where it is found
	if h := p.Match(words("a:160"), 160); h.Tokens != 144 || h.Idle != 5 {
		t.Errorf("hit %+v, want nine blocks, five of them idle", h)
	}
	check(t, p)
}

func TestARememberedHitShrinksWithItsLastSegment(t *testing.T) {
	p := caching(12)
	a := words("a:160")
	admit(t, p, 0, a)
	p.Release(0)
	if h := p.Match(a, 160); h.Tokens != 144 || h.Idle != 9 {
		t.Fatalf("hit %+v, want nine idle blocks", h)
	}
	p.Take(5) // two blank blocks, and the last three of a
	check(t, p)
	if h := p.Match(a, 160); h.Tokens != 112 || h.Idle != 7 {
		t.Errorf("hit %+v, want seven idle blocks", h)
	}
	if n := p.Counters().Evicted; n != 3 {
		t.Errorf("%d blocks evicted, want 3", n)
	}
}
