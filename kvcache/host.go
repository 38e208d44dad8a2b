package kvcache

import "fmt"

// Tier is a Cache with a larger and slower one below it, which keeps copies of full blocks: the host's memory.
type Tier interface {
	// Below reads only. It returns how many tokens of p, next to those of hit h, the lower tier holds: whole blocks
	// without a gap, and at least one of the first `tokens` tokens is left to compute. Match must just have returned h
	// for p and the same number of tokens.
	Below(p Prompt, tokens int, h Hit) int
	// Copied reads only. It returns how many blocks have been copied down so far.
	Copied() int64
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
	pool   *Pool
	host   host
	tracks []track // by SeqID
	copied int64
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

// Over returns a tier of so many host blocks below a pool with prefix caching and one group of layers. It panics if the
// pool is none of that.
func Over(p *Pool, blocks int) *Tiered {
	if !p.config.PrefixCaching || !p.simple() || blocks < 1 {
		panic(fmt.Sprintf("kvcache.Over: %d host blocks: needs at least 1, prefix caching and layers without windows", blocks))
	}
	return &Tiered{pool: p, host: host{capacity: blocks, blocks: make([]block, 1), index: newIndex(1 << 6)}}
}

// Match reads only. It implements [Cache] and sees the pool alone.
func (t *Tiered) Match(p Prompt, tokens int) Hit { return t.pool.Match(p, tokens) }

// Below reads only. It implements [Tier].
func (t *Tiered) Below(_ Prompt, tokens int, h Hit) int {
	first, most := t.pool.floor(h.Tokens), t.pool.floor(max(tokens-1, 0))
	n := first
	for n < most {
		k, ok := t.pool.probe.key(n, t.pool.size)
		if !ok || t.host.index.find(k) == 0 {
			break
		}
		n++
	}
	return (n - first) * t.pool.size
}

// Copied reads only. It implements [Tier].
func (t *Tiered) Copied() int64 { return t.copied }

// Admit changes the cache, or nothing at all. It implements [Cache]. What the host has of the prompt counts as asked for.
func (t *Tiered) Admit(id SeqID, p Prompt, h Hit, c Claim) bool {
	if !t.pool.Admit(id, p, h, c) {
		return false
	}
	// The beginning last, so that it stays longest: without it the rest is worth nothing.
	for i := min(t.pool.floor(c.Tokens), len(t.pool.probe.keys)) - 1; i >= 0; i-- {
		t.host.touch(t.pool.probe.keys[i])
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

// copy brings down the blocks that the first `known` tokens of a sequence fill, as far as the host lacks them.
func (t *Tiered) copy(id SeqID, known int) {
	at := &t.tracks[id]
	for full := t.pool.floor(known); at.blocks < full; at.blocks++ {
		k, ok := at.end.next(at.prompt, t.pool.size)
		if !ok {
			return
		}
		if t.host.index.find(k) == 0 {
			t.host.add(k)
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
	return t.host.check()
}

// host is a set of blocks by content. When it is full the one makes room that was stored or asked for longest ago.
type host struct {
	capacity int
	blocks   []block // ring by last use, from block 0 to block 0
	index    index
}

// add stores a block that is not there yet.
func (h *host) add(k key) {
	b := int32(len(h.blocks))
	if int(b) <= h.capacity {
		h.blocks = append(h.blocks, block{})
	} else {
		b = h.blocks[0].next
		h.unlink(b)
		h.index.remove(h.blocks, b)
	}
	h.blocks[b] = block{key: k}
	h.index.add(h.blocks, b)
	h.link(b)
}

// touch notes that a block was asked for, if it is there.
func (h *host) touch(k key) {
	if b := h.index.find(k); b != 0 {
		h.unlink(b)
		h.link(b)
	}
}

// link puts a block at the end of the ring.
func (h *host) link(b int32) {
	last := h.blocks[0].prev
	h.blocks[b].prev, h.blocks[b].next = last, 0
	h.blocks[last].next, h.blocks[0].prev = b, b
}

func (h *host) unlink(b int32) {
	k := &h.blocks[b]
	h.blocks[k.prev].next, h.blocks[k.next].prev = k.next, k.prev
}

// check: there are no more blocks than fit, each is in the ring once, and the index finds it.
func (h *host) check() error {
	n := 0
	for b := h.blocks[0].next; b != 0 && n < len(h.blocks); b = h.blocks[b].next {
		n++
		if f := h.index.find(h.blocks[b].key); f != b {
			return fmt.Errorf("kvcache: host: block %d is found as %d", b, f)
		}
	}
	if n != len(h.blocks)-1 || n > h.capacity {
		return fmt.Errorf("kvcache: host: %d blocks in the ring, %d in all, %d fit", n, len(h.blocks)-1, h.capacity)
	}
	return nil
}
