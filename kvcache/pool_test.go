package kvcache

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// caching returns a pool of 16-token blocks that keeps prefixes.
func caching(blocks int) *Pool {
	return New(Config{Blocks: blocks, BlockSize: 16, PrefixCaching: true})
}

// words returns a prompt of runs "label:length label:length …", each label being one letter. Capitals are private.
func words(text string) (p Prompt) {
	for f := range strings.FieldsSeq(text) {
		var label rune
		var n int32
		if _, err := fmt.Sscanf(f, "%c:%d", &label, &n); err != nil {
			panic(err)
		}
		run := Run{uint64(label), n}
		if unicode.IsUpper(label) {
			run.Label |= Private
		}
		p = append(p, run)
	}
	return p
}

// admit looks a prompt up and admits all of it.
func admit(t *testing.T, p *Pool, id SeqID, prompt Prompt) Hit {
	t.Helper()
	h := p.Match(prompt, prompt.Tokens())
	if !p.Admit(id, prompt, h, Claim{Tokens: prompt.Tokens(), Known: prompt.Tokens()}) {
		t.Fatalf("sequence %d does not fit:\n%s", id, p.Describe())
	}
	check(t, p)
	return h
}

func check(t *testing.T, p *Pool) {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatalf("%v\n%s", err, p.Describe())
	}
}

func TestAtLeastOneTokenOfAHitIsComputed(t *testing.T) {
	for _, c := range []struct {
		tokens, hit int
	}{{15, 0}, {16, 0}, {17, 16}, {63, 48}, {64, 48}, {65, 64}, {80, 64}} {
		p := caching(100)
		admit(t, p, 0, words("a:200"))
		if h := p.Match(words("a:200"), c.tokens); h.Tokens != c.hit {
			t.Errorf("%d tokens of a cached prompt: %d hit, want %d", c.tokens, h.Tokens, c.hit)
		}
	}
}

func TestBlocksAreTheCeilingOfTokens(t *testing.T) {
	for _, c := range []struct{ tokens, blocks int }{{1, 1}, {15, 1}, {16, 1}, {17, 2}, {32, 2}, {33, 3}} {
		p := New(Config{Blocks: 10, BlockSize: 16})
		if n := p.Need(Hit{}, c.tokens); n != c.blocks {
			t.Errorf("%d tokens need %d blocks, want %d", c.tokens, n, c.blocks)
		}
		p.Admit(0, words("a:100"), Hit{}, Claim{Tokens: 1, Known: 1})
		for tokens := 2; tokens <= c.tokens; tokens++ { // growing token by token ends at the same count
			if !p.Grow(0, tokens, tokens) {
				t.Fatalf("no room for %d tokens", tokens)
			}
		}
		if u := p.Usage(); u.Held != c.blocks || u.Free != 10-c.blocks {
			t.Errorf("%d tokens hold %+v, want %d held", c.tokens, u, c.blocks)
		}
	}
}

func TestTokensAreDividedIntoBlocksWithoutARemainder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, math.MaxInt32)).Draw(t, "size")
		p := New(Config{Blocks: 1, BlockSize: size})
		tokens := rapid.IntRange(0, math.MaxUint32).Draw(t, "tokens")
		for _, n := range []int{tokens, tokens / size * size, max(tokens/size*size-1, 0), math.MaxUint32} {
			if got := p.floor(n); got != n/size {
				t.Fatalf("%d tokens fill %d blocks of %d, want %d", n, got, size, n/size)
			}
		}
	})
}

func TestEqualBlocksAfterDifferentPrefixesDoNotHit(t *testing.T) {
	p := caching(100)
	admit(t, p, 0, words("a:16 s:64"))
	for _, c := range []struct {
		prompt string
		hit    int
	}{
		{"a:16 s:64 x:9", 80}, // the whole prefix
		{"b:16 s:64", 0},      // other tokens before it
		{"s:64", 0},           // nothing before it
		{"a:15 s:65", 0},      // moved by one token
		{"a:16 a:64", 16},     // label a begins again: other tokens
		{"a:8 a:8 s:64", 0},   // and so it does here
		{"a:16 s:32 s:32", 48},
	} {
		if h := p.Match(words(c.prompt), words(c.prompt).Tokens()); h.Tokens != c.hit {
			t.Errorf("%q hits %d tokens, want %d", c.prompt, h.Tokens, c.hit)
		}
	}
}

func TestBlocksThatSpanRunsAreShared(t *testing.T) {
	p := caching(100)
	admit(t, p, 0, words("s:10 t:3 u:30"))
	if h := p.Match(words("s:10 t:3 u:19 z:30"), 62); h.Tokens != 32 {
		t.Errorf("hit %d tokens, want 32", h.Tokens)
	}
	if h := p.Match(words("s:10 t:4 u:30"), 44); h.Tokens != 0 {
		t.Errorf("hit %d tokens, want 0: the first block differs in token 13", h.Tokens)
	}
}

func TestTailOfAReleasedSequenceIsOverwrittenFirst(t *testing.T) {
	p := caching(6)
	admit(t, p, 0, words("a:64"))
	p.Release(0)
	check(t, p)
	want := "2 blank, 4 cached, 0 held of 6 blocks of 16 tokens\n" +
		"cached  1:4+\n"
	if got := p.Describe(); got != want {
		t.Fatalf("after the release:\n%swant:\n%s", got, want)
	}
	admit(t, p, 1, words("b:48")) // takes the two blank blocks, and block 4
	want = "0 blank, 3 cached, 3 held of 6 blocks of 16 tokens\n" +
		"cached  1:3+\n" +
		"seq 1   2:3+\n"
	if got := p.Describe(); got != want {
		t.Fatalf("after three blocks were taken:\n%swant:\n%s", got, want)
	}
	if h := p.Match(words("a:64"), 64); h.Tokens != 48 || h.Idle != 3 {
		t.Errorf("the prefix hits %+v, want 48 tokens in 3 idle blocks", h)
	}
	if n := p.Counters().Evicted; n != 1 {
		t.Errorf("%d blocks evicted, want 1", n)
	}
}

func TestBlankBlocksAreTakenBeforeCachedOnes(t *testing.T) {
	p := caching(4)
	admit(t, p, 0, words("a:20")) // one full block, one partial
	admit(t, p, 1, words("b:20"))
	p.Release(0)
	p.Release(1)
	admit(t, p, 2, words("c:17"))
	if h := p.Match(words("a:20"), 20); h.Tokens != 16 {
		t.Errorf("a cached block was overwritten while a blank one was free:\n%s", p.Describe())
	}
}

func TestLookupTakesTheFirstRegisteredThatStillExists(t *testing.T) {
	p := caching(8)
	a := words("a:16 z:1")
	var copies []int32 // computed side by side, since no sequence looked for the others' block
	for id := range SeqID(3) {
		p.Admit(id, a, Hit{}, Claim{Tokens: 17, Known: 17})
		copies = append(copies, p.sequences[id].tables[0].parts[0].first)
	}
	found := func() int32 { p.look(a, 1); return p.probe.parts[0].first }
	if got := found(); got != copies[0] {
		t.Errorf("lookup finds block %d, want the first registered of %v", got, copies)
	}
	p.Release(0)
	admit(t, p, 3, words("b:64")) // takes all that is free: the first copy is lost
	if got := found(); got != copies[1] {
		t.Errorf("lookup finds block %d, want the second of %v:\n%s", got, copies, p.Describe())
	}
	check(t, p)
}

func TestGrowChangesNothingWhenFull(t *testing.T) {
	p := caching(4)
	admit(t, p, 0, words("a:48"))
	before := p.Describe()
	if p.Grow(0, 65, 65) {
		t.Fatal("five blocks were taken from a pool of four")
	}
	if after := p.Describe(); after != before {
		t.Errorf("a refused Grow changed the pool:\n%swas:\n%s", after, before)
	}
}

func TestAdmitChangesNothingWhenItLeavesTooFewSpareBlocks(t *testing.T) {
	p := caching(6)
	admit(t, p, 0, words("a:32"))
	p.Release(0)
	prompt := words("a:32 b:32")
	h := p.Match(prompt, 64)
	before := p.Describe()
	if need := p.Need(h, 64); need != 4 { // two new blocks, and two idle ones leave the free pool
		t.Errorf("need %d blocks, want 4", need)
	}
	if p.Admit(1, prompt, h, Claim{Tokens: 64, Known: 64, Spare: 3}) {
		t.Fatal("admitted with 2 blocks left, 3 were to be spared")
	}
	if after := p.Describe(); after != before {
		t.Errorf("a refused Admit changed the pool:\n%swas:\n%s", after, before)
	}
	if !p.Admit(1, prompt, h, Claim{Tokens: 64, Known: 64, Spare: 2}) {
		t.Error("refused, though 2 blocks stay free")
	}
	check(t, p)
}

func TestGeneratedTokensAreFoundByTheNextTurn(t *testing.T) {
	p := caching(100)
	turn := words("a:40 r:1000")
	p.Admit(0, turn, Hit{}, Claim{Tokens: 40, Known: 40})
	for n := 41; n <= 72; n++ {
		p.Grow(0, n, n)
	}
	p.Release(0)
	if h := p.Match(words("a:40 r:32 b:50"), 122); h.Tokens != 64 {
		t.Errorf("the follow-up hits %d tokens, want 64", h.Tokens)
	}
}

func TestContentThatIsNotKnownYetIsNotFound(t *testing.T) {
	p := caching(100)
	p.Admit(0, words("a:40 r:100"), Hit{}, Claim{Tokens: 48, Known: 40})
	if h := p.Match(words("a:40 r:100"), 100); h.Tokens != 32 {
		t.Errorf("hit %d tokens, want 32", h.Tokens)
	}
	p.Know(0, 48)
	if h := p.Match(words("a:40 r:100"), 100); h.Tokens != 48 {
		t.Errorf("hit %d tokens, want 48", h.Tokens)
	}
	check(t, p)
}

func TestAPoolWithoutPrefixCachingFindsNothing(t *testing.T) {
	p := New(Config{Blocks: 10, BlockSize: 16})
	admit(t, p, 0, words("a:64"))
	p.Release(0)
	if h := p.Match(words("a:64"), 64); h != (Hit{}) {
		t.Errorf("hit %+v", h)
	}
	if u := p.Usage(); u != (Usage{Free: 10, Total: 10}) {
		t.Errorf("after the release: %+v", u)
	}
}

func TestACopiedBlockCostsAsMuchAsTheFirst(t *testing.T) {
	p := caching(1000)
	for id := range SeqID(100) { // each recomputes the last block, and registers it beside the others
		admit(t, p, id, words("a:64"))
	}
	for id := range SeqID(100) {
		p.Release(id)
	}
	check(t, p)
	if u := p.Usage(); u.Cached != 103 {
		t.Errorf("%d blocks cached, want 3 shared and 100 copies of the fourth", u.Cached)
	}
	admit(t, p, 0, words("b:15984")) // overwrite all but one
	if u := p.Usage(); u.Free+u.Cached != 1 {
		t.Errorf("usage %+v", u)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	p := caching(2000)
	prompts := []Prompt{words("s:160 a:900 x:200"), words("s:160 B:950 Y:200"), words("s:160 C:800 Z:200")}
	turn := func() {
		for id, prompt := range prompts {
			h := p.Match(prompt, 900)
			p.Admit(SeqID(id), prompt, h, Claim{Tokens: 900, Known: 900})
			for n := 901; n < 1000; n++ {
				p.Grow(SeqID(id), n, n)
			}
		}
		for id := range prompts {
			p.Release(SeqID(id))
		}
	}
	turn()
	if n := testing.AllocsPerRun(10, turn); n != 0 {
		t.Errorf("%v allocations per turn", n)
	}
	check(t, p)
}

func TestAgainCountsHoldersBeyondTheFirst(t *testing.T) {
	p := caching(100)
	want := func(n int) {
		t.Helper()
		if got := p.Again(); got != n {
			t.Errorf("%d blocks are held again, want %d:\n%s", got, n, p.Describe())
		}
	}
	admit(t, p, 0, words("a:64 b:32"))
	want(0)
	admit(t, p, 1, words("a:64 c:32"))
	admit(t, p, 2, words("a:64 d:32"))
	want(8) // two others hold the four blocks of a
	p.Release(0)
	want(4)
	p.Release(2)
	p.Release(1)
	want(0)
	admit(t, p, 3, words("a:64 b:32")) // finds them idle
	want(0)
}
