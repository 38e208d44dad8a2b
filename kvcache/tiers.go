package kvcache

// Tier is a Cache with larger and slower ones below it, which keep copies of full blocks: the host's memory, and perhaps
// something farther away.
type Tier interface {
	// Below reads only. It returns how many tokens of p, next to those of hit h, the lower tiers hold, and how many of
	// these only the farther one does: whole blocks without a gap, and at least one of the first `tokens` tokens is left
	// to compute. Match must just have returned h for p and the same number of tokens.
	Below(p Prompt, tokens int, h Hit) (more, far int)
	// Copied reads only. It returns how many blocks have been copied down from the pool so far, and how many from the
	// host's memory to the farther tier.
	Copied() (down, farther int64)
}

// Tiers are what lies below a pool.
type Tiers struct {
	Host int    // blocks of the host's memory
	Far  *Store // takes what the host's memory has no room for any more; nil: that is lost. Several engines may share one
	// Selective copies a block only when it is asked for a second time, instead of as soon as it is full (SGLang's
	// write_through_selective): what nobody uses again takes no link and no room.
	Selective bool
}

// Tiered is a pool over host memory, as vLLM's native KV offloading (--kv-offloading-size): every block that becomes
// findable in the pool is copied down, once, as long as the host still has it; and it stays there when the pool
// overwrites it. It implements [Cache] and [Tier].
//
// The copy counts as there at once. It is made behind the step that computes the block, and until the pool has lost the
// block nobody asks the host for it.
//
// Private blocks are copied, too: an engine cannot know that nobody will ask for them. They take link and room.
type Tiered struct {
	pool      *Pool
	host, far *Store
	selective bool
	tracks    []track // by SeqID
	copied    int64
	farther   int64
}

// A track is how far the blocks of a sequence have been copied.
type track struct {
	prompt Prompt
	end    cursor // stands after them
	blocks int
}

var (
	_ Cache = (*Tiered)(nil)
	_ Tier  = (*Tiered)(nil)
)

// Over puts a pool with prefix caching and one group of layers over lower tiers. It panics if the pool is none of that, or
// the host has no room.
func Over(p *Pool, below Tiers) *Tiered {
	if !p.config.PrefixCaching || !p.simple {
		panic("kvcache.Over: needs prefix caching and layers without windows")
	}
	return &Tiered{pool: p, host: NewStore(below.Host), far: below.Far, selective: below.Selective}
}

// Match reads only. It implements [Cache] and sees the pool alone. The pool need not look at a prompt of which it cannot have
// anything, but the lower tiers are asked for its keys.
func (t *Tiered) Match(p Prompt, tokens int) Hit {
	t.pool.aim(p)
	return t.pool.Match(p, tokens)
}

// Below reads only. It implements [Tier].
func (t *Tiered) Below(_ Prompt, tokens int, h Hit) (more, far int) {
	first, most := t.pool.floor(h.Tokens), t.pool.floor(max(tokens-1, 0))
	n := first
	for n < most {
		k, ok := t.pool.probe.key(n, t.pool.size)
		if !ok {
			break
		}
		if !t.host.has(k) {
			if t.far == nil || !t.far.has(k) {
				break
			}
			far++
		}
		n++
	}
	return (n - first) * t.pool.size, far * t.pool.size
}

// Copied reads only. It implements [Tier].
func (t *Tiered) Copied() (down, farther int64) { return t.copied, t.farther }

// Admit changes the cache, or nothing at all. It implements [Cache]. What the lower tiers have of the prompt counts as asked
// for, and what only the farther one has comes to the host on its way.
func (t *Tiered) Admit(id SeqID, p Prompt, h Hit, c Claim) bool {
	if !t.pool.Admit(id, p, h, c) {
		return false
	}
	// The beginning last, so that it stays longest: without it the rest is worth nothing.
	for i := min(t.pool.floor(c.Tokens), t.pool.probe.asked) - 1; i >= 0; i-- {
		t.ask(t.pool.probe.keys[i], i < t.pool.floor(h.Tokens))
	}
	for int(id) >= len(t.tracks) {
		t.tracks = append(t.tracks, track{})
	}
	t.tracks[id] = track{prompt: p}
	t.copy(id, min(c.Tokens, c.Known))
	return true
}

// Grow changes the cache, or nothing at all. It implements [Cache].
func (t *Tiered) Grow(id SeqID, tokens, known int) bool {
	if !t.pool.Grow(id, tokens, known) {
		return false
	}
	t.copy(id, min(tokens, known))
	return true
}

// Know changes only what is findable, above and below. It implements [Cache].
func (t *Tiered) Know(id SeqID, known int) {
	t.pool.Know(id, known)
	t.copy(id, known)
}

// ask notes that a block of a prompt was asked for; found: the pool had it.
func (t *Tiered) ask(k key, found bool) {
	switch {
	case t.host.has(k):
		t.host.touch(k)
	case t.far != nil && t.far.has(k):
		t.far.touch(k)
		t.keep(k)
	case found && t.selective:
		t.keep(k)
		t.copied++
	}
}

// keep stores a block in the host's memory. What has to make room for it goes farther.
func (t *Tiered) keep(k key) {
	old, full := t.host.add(k)
	if full && t.far != nil && !t.far.has(old) {
		t.far.add(old)
		t.farther++
	}
}

// copy brings down the blocks that the first `known` tokens of a sequence fill, as far as the host lacks them.
func (t *Tiered) copy(id SeqID, known int) {
	if t.selective {
		return
	}
	at := &t.tracks[id]
	for full := t.pool.floor(known); at.blocks < full; at.blocks++ {
		k, ok := at.end.next(at.prompt, t.pool.size)
		if !ok {
			return
		}
		if !t.host.has(k) {
			t.keep(k)
			t.copied++
		}
	}
}

// Need reads only. It implements [Cache].
func (t *Tiered) Need(h Hit, tokens int) int { return t.pool.Need(h, tokens) }

// Release changes the pool. It implements [Cache].
func (t *Tiered) Release(id SeqID) { t.pool.Release(id) }

// Usage reads only. It implements [Cache] and speaks of the pool.
func (t *Tiered) Usage() Usage { return t.pool.Usage() }

// Available reads only. It implements [Cache] and speaks of the pool.
func (t *Tiered) Available() int { return t.pool.Available() }

// Again reads only. It speaks of the pool, as [Pool.Again] does.
func (t *Tiered) Again() int { return t.pool.Again() }

// Counters reads only. It implements [Cache].
func (t *Tiered) Counters() Counters { return t.pool.Counters() }

// BlockSize implements [Cache].
func (t *Tiered) BlockSize() int { return t.pool.size }

// Check reports the first violated invariant of pool or host by name, or nil.
func (t *Tiered) Check() error {
	if err := t.pool.Check(); err != nil {
		return err
	}
	if t.far != nil {
		if err := t.far.check(); err != nil {
			return err
		}
	}
	return t.host.check()
}
