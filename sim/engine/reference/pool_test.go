package reference_test

import (
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/engine/reference"
)

func prompt(runs ...kvcache.Run) kvcache.Prompt { return runs }

// admit gives a sequence what it finds and the rest, as a scheduler would.
func admit(t *testing.T, p *reference.Pool, id kvcache.SeqID, of kvcache.Prompt, tokens int) kvcache.Hit {
	t.Helper()
	hit := p.Match(of, tokens)
	if !p.Admit(id, of, hit, kvcache.Claim{Tokens: tokens, Known: tokens}) {
		t.Fatalf("sequence %d does not fit: %+v", id, p.Usage())
	}
	sound(t, p)
	return hit
}

func sound(t *testing.T, p *reference.Pool) {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestBlocksAreTokensRoundedUp(t *testing.T) {
	for _, c := range []struct{ tokens, blocks int }{{1, 1}, {15, 1}, {16, 1}, {17, 2}, {32, 2}, {33, 3}} {
		p := reference.NewPool(10, 16, false)
		admit(t, p, 0, prompt(kvcache.Run{Label: 1, Len: 40}), c.tokens)
		if got := p.Usage(); got.Held != c.blocks || got.Free != 10-c.blocks {
			t.Errorf("%d tokens: %+v, want %d held", c.tokens, got, c.blocks)
		}
	}
}

func TestAHitLeavesATokenToCompute(t *testing.T) {
	for _, c := range []struct{ tokens, hit int }{{15, 0}, {16, 0}, {17, 16}, {64, 48}, {65, 64}} {
		p := reference.NewPool(20, 16, true)
		of := prompt(kvcache.Run{Label: 1, Len: 100})
		admit(t, p, 0, of, c.tokens)
		if hit := admit(t, p, 1, of, c.tokens); hit != (kvcache.Hit{Tokens: c.hit}) {
			t.Errorf("%d tokens again: hit %+v, want %d tokens in blocks that are held", c.tokens, hit, c.hit)
		}
	}
}

func TestContentIsWhatCountsNotHowItIsCutIntoRuns(t *testing.T) {
	p := reference.NewPool(20, 4, true)
	admit(t, p, 0, prompt(kvcache.Run{Label: 1, Len: 6}, kvcache.Run{Label: 2, Len: 10}), 16)
	for _, c := range []struct {
		name string
		of   kvcache.Prompt
		want int
	}{
		{"the same", prompt(kvcache.Run{Label: 1, Len: 6}, kvcache.Run{Label: 2, Len: 3}), 8},
		{"a longer first run", prompt(kvcache.Run{Label: 1, Len: 9}), 4},
		{"the second run alone", prompt(kvcache.Run{Label: 2, Len: 10}), 0},
	} {
		if got := p.Match(c.of, c.of.Tokens()).Tokens; got != c.want {
			t.Errorf("%s: %d tokens found, want %d", c.name, got, c.want)
		}
	}
}

func TestTheTailIsOverwrittenFirst(t *testing.T) {
	p := reference.NewPool(5, 16, true)
	of := prompt(kvcache.Run{Label: 1, Len: 65})
	admit(t, p, 0, of, 64)
	p.Release(0)
	sound(t, p)
	if got := p.Match(of, 65); got != (kvcache.Hit{Tokens: 64, Idle: 4}) {
		t.Fatalf("after the release: %+v", got)
	}
	// One block is blank; each further one costs the cached prompt its last.
	for id, want := range []int{64, 48, 32, 16, 0} {
		admit(t, p, kvcache.SeqID(id), prompt(kvcache.Run{Label: uint64(10 + id), Len: 10}), 10)
		if got := p.Match(of, 65).Tokens; got != want {
			t.Errorf("with %d blocks taken %d tokens are found, want %d", id+1, got, want)
		}
	}
	if got := p.Counters().Evicted; got != 4 {
		t.Errorf("%d blocks evicted, want 4", got)
	}
}

func TestTheOlderOfTwoEqualBlocksIsFound(t *testing.T) {
	p := reference.NewPool(4, 16, true)
	of := prompt(kvcache.Run{Label: 1, Len: 17})
	admit(t, p, 0, of, 16) // computed side by side: neither finds the other
	if !p.Admit(1, of, kvcache.Hit{}, kvcache.Claim{Tokens: 16, Known: 16}) {
		t.Fatal("the second does not fit")
	}
	p.Release(1)
	if got := p.Match(of, 17); got != (kvcache.Hit{Tokens: 16, Idle: 0}) {
		t.Errorf("hit %+v, want the block that sequence 0 holds", got)
	}
	p.Release(0)
	sound(t, p)
	if got := p.Usage(); got != (kvcache.Usage{Free: 2, Cached: 2, Total: 4}) {
		t.Errorf("usage %+v, want both kept", got)
	}
}

func TestAdmitAndGrowChangeNothingWhenFull(t *testing.T) {
	p := reference.NewPool(4, 16, true)
	of := prompt(kvcache.Run{Label: 1, Len: 100})
	admit(t, p, 0, of, 48)
	p.Release(0)
	admit(t, p, 0, prompt(kvcache.Run{Label: 2, Len: 100}), 16)
	before := p.Usage()
	hit := p.Match(of, 49)
	if need := p.Need(hit, 65); hit.Idle != 3 || need != 5 {
		t.Fatalf("hit %+v needs %d, want 3 idle blocks and 2 new ones", hit, need)
	}
	for _, c := range []struct{ tokens, spare int }{{65, 0}, {48, 1}} {
		if p.Admit(1, of, hit, kvcache.Claim{Tokens: c.tokens, Known: 49, Spare: c.spare}) {
			t.Errorf("%+v was admitted", c)
		}
	}
	if p.Grow(0, 65, 100) {
		t.Error("sequence 0 grew beyond the pool")
	}
	sound(t, p)
	if p.Usage() != before || p.Match(of, 49) != hit {
		t.Errorf("usage %+v, was %+v", p.Usage(), before)
	}
	if !p.Grow(0, 64, 64) || p.Usage().Held != 4 {
		t.Error("sequence 0 did not grow to the whole pool")
	}
}

func TestPromisedTokensAreFoundOnceTheyAreKnown(t *testing.T) {
	p := reference.NewPool(10, 16, true)
	of := prompt(kvcache.Run{Label: 1, Len: 20}, kvcache.Run{Label: 2, Len: 30})
	admit(t, p, 0, of, 20)
	if !p.Grow(0, 33, 31) {
		t.Fatal("no room")
	}
	for _, c := range []struct{ known, want int }{{31, 16}, {32, 32}} {
		p.Know(0, c.known)
		if got := p.Match(of, 50).Tokens; got != c.want {
			t.Errorf("%d tokens known: %d found, want %d", c.known, got, c.want)
		}
	}
}
