package kvcache

import (
	"fmt"
	"math"
	"math/bits"
)

// Config describes a pool.
type Config struct {
	Blocks        int     // usable blocks; vLLM reports one more, its null block
	BlockSize     int     // tokens in a block
	PrefixCaching bool    // keep released blocks findable until they are overwritten
	Groups        []Group // the kinds of layers that draw on the pool; none: one kind, with full attention
	// InFlight is the most tokens that can be scheduled and not yet computed: the batches in the pipeline times
	// max_num_batched_tokens. It bounds what a window group can hold for one sequence; 0: no bound is applied.
	InFlight int
}

// Group is a set of layers that share a block table. All groups take their blocks from the one pool.
type Group struct {
	Window int // keys that a query sees, its own included; 0: all of them
}

// Pool is the paged KV memory of one engine. It implements [Steady] and [Slider]. It tells apart only the blocks that
// may matter to more than one sequence; the others it counts. Once the tables of its sequences have reached their size it
// allocates nothing.
type Pool struct {
	config  Config
	size    int     // tokens in a block
	inverse uint64  // of the size; see floor
	groups  []group // at least one
	simple  bool    // there is one table per sequence, which only ever grows

	blanks int // free blocks that hold nothing
	cached int // free blocks that are findable: those of the ring that begins and ends at block 0
	taken  int // blocks in use that no sequence holds yet
	again  int // holders of blocks beyond the first of each

	blocks  []block  // the segments of those that are told apart; block 0 is the null block, it stands for "no block"
	unused  int32    // top of the stack of names in blocks that name nothing
	extents []extent // contents of private blocks that were left behind, by block.extent
	vacant  []int32  // extents that are not in use

	index     index
	singles   singles // the index of a pool that is not simple
	probe     probe
	sequences []sequence // by SeqID
	evicted   int64
	strayed   bool // a sequence that may come back has left private blocks behind, at least once
}

// A group as the pool sees it.
type group struct {
	window int
	salt   uint64 // keeps the keys of the groups apart
	behind int    // blocks before the next token that its window may reach: ceil((window-1)/size)
	most   int    // blocks that one sequence can need at once
}

// A sequence's memory. It stays when the sequence is gone, for the next one of that ID.
type sequence struct {
	live     bool
	apart    bool // the private blocks are told apart, too, once they are findable
	told     int  // leading blocks that are told apart: those in the tables
	own      int  // the blocks after them, which are only counted
	findable int  // leading blocks that are registered in the index, or would be if anybody could ask for them
	shared   int  // leading blocks that other sequences may have, too
	named    int  // leading blocks that the prompt fills: what follows it has no name to be found by
	prompt   Prompt
	end      cursor // stands after the findable blocks that are told apart
	tables   []table
}

// A table holds the blocks of a sequence in one group, in order, as far as they are told apart.
type table struct {
	parts []part
	gone  int // leading entries that are the null block: out of the window
}

var (
	_ Steady = (*Pool)(nil)
	_ Slider = (*Pool)(nil)
)

// New returns an empty pool. It panics if the configuration has no usable block.
func New(c Config) *Pool {
	if c.Blocks < 1 || c.BlockSize < 1 {
		panic(fmt.Sprintf("kvcache.New: %d blocks of %d tokens: both must be at least 1", c.Blocks, c.BlockSize))
	}
	p := &Pool{config: c, size: c.BlockSize, blanks: c.Blocks, blocks: make([]block, 1), extents: make([]extent, 1), index: newIndex(1 << 6), singles: newSingles(1 << 4)}
	p.inverse = 1<<63/uint64(p.size) + 1
	kinds := c.Groups
	if len(kinds) == 0 {
		kinds = []Group{{}}
	}
	for i, k := range kinds {
		g := group{window: k.Window, salt: uint64(i) * golden, most: math.MaxInt}
		if k.Window > 0 {
			g.behind = (k.Window - 1 + c.BlockSize - 1) / c.BlockSize
			if c.InFlight > 0 {
				g.most = p.ceil(k.Window-1+c.InFlight) + 1
			}
		}
		p.groups = append(p.groups, g)
	}
	p.simple = len(p.groups) == 1 && p.groups[0].window == 0
	return p
}

// Match reads only. It implements [Cache]. A prompt that is asked for again, as the head of a blocked queue is at every
// step, costs no more than the comparison of its runs.
func (p *Pool) Match(prompt Prompt, tokens int) Hit {
	if !p.config.PrefixCaching {
		return Hit{}
	}
	most := math.MaxInt
	if p.simple && !p.strayed { // then nobody's private blocks can be found
		if most = p.floor(prompt.shared()); most == 0 {
			return Hit{Queried: tokens}
		}
	}
	return p.query(prompt, tokens, most)
}

// query looks up as much of a prompt as Match may find, and at most so many blocks.
func (p *Pool) query(prompt Prompt, tokens, most int) Hit {
	most = min(most, p.floor(max(tokens-1, 0)))
	if p.simple {
		p.look(prompt, most)
		return Hit{Tokens: p.probe.hit * p.size, Idle: p.probe.idle, Queried: tokens}
	}
	blocks, idle := p.lookAll(prompt, most)
	return Hit{Tokens: blocks * p.size, Idle: idle, Queried: tokens}
}

// Need reads only. It implements [Cache].
func (p *Pool) Need(h Hit, tokens int) int {
	fresh := max(p.ceil(tokens)-p.floor(h.Tokens), 0)
	if p.simple {
		return fresh + h.Idle
	}
	need := h.Idle
	for i := range p.groups {
		need += min(fresh, p.groups[i].most)
	}
	return need
}

// Admit changes the cache, or nothing at all. It implements [Cache]. It panics if id has memory already.
func (p *Pool) Admit(id SeqID, prompt Prompt, h Hit, c Claim) bool {
	hit, want := p.floor(h.Tokens), p.ceil(c.Tokens)
	fresh := max(want-hit, 0) * len(p.groups)
	if h.Idle+fresh+c.Spare > p.Available() {
		return false
	}
	s := p.open(id)
	s.prompt = prompt
	if p.config.PrefixCaching {
		s.shared, s.named = p.floor(prompt.shared()), p.floor(prompt.Tokens())
	}
	// Who finds its private blocks again tells them apart, as it will not need all of them: the last one is always
	// computed anew.
	s.apart = hit > s.shared || !p.simple
	if hit > 0 {
		p.adopt(s, hit)
	}
	p.overwrite(fresh)
	p.fill(s, want, min(c.Tokens, c.Known))
	return true
}

// Grow changes the cache, or nothing at all. It implements [Cache].
func (p *Pool) Grow(id SeqID, tokens, known int) bool {
	s := p.sequence(id)
	want := p.ceil(tokens)
	if fresh := (want - s.blocks()) * len(p.groups); fresh > 0 {
		if fresh > p.Available() {
			return false
		}
		p.overwrite(fresh)
	}
	p.fill(s, want, min(tokens, known))
	return true
}

// Know changes only what is findable. It implements [Cache].
func (p *Pool) Know(id SeqID, known int) { p.fill(p.sequence(id), 0, known) }

// Plain reads only. It implements [Steady].
func (p *Pool) Plain(id SeqID) bool {
	s := p.sequence(id)
	return p.simple && s.findable >= s.shared
}

// Take changes the cache, or nothing at all. It implements [Steady].
func (p *Pool) Take(blocks int) bool {
	if blocks > p.Available() {
		return false
	}
	p.overwrite(blocks)
	p.taken += blocks
	return true
}

// Settle changes the cache. It implements [Steady]. It panics if too few blocks have been taken.
func (p *Pool) Settle(id SeqID, tokens, known int) {
	s := p.sequence(id)
	p.fill(s, p.grown(s, tokens), min(tokens, known))
}

// grown gives a sequence of what has been taken as many blocks as hold its tokens, and returns their number.
func (p *Pool) grown(s *sequence, tokens int) int {
	want := p.ceil(tokens)
	if p.taken -= max(want-s.blocks(), 0); p.taken < 0 {
		panic("kvcache: a sequence grew by more blocks than were taken")
	}
	return want
}

// Release changes the cache. It implements [Cache]. A sequence without memory is left alone.
func (p *Pool) Release(id SeqID) {
	if s := p.holder(id); s != nil {
		p.close(s, false)
	}
}

// Leave changes the cache. It implements [Steady]. A sequence without memory is left alone.
func (p *Pool) Leave(id SeqID, tokens, known int) {
	if s := p.holder(id); s != nil {
		p.fill(s, p.grown(s, tokens), min(tokens, known))
		p.close(s, true)
	}
}

// Usage reads only. It implements [Cache].
func (p *Pool) Usage() Usage {
	total := p.config.Blocks
	return Usage{Free: p.blanks, Cached: p.cached, Held: total - p.Available(), Total: total}
}

// Available reads only. It implements [Cache].
func (p *Pool) Available() int { return p.blanks + p.cached }

// Again reads only. It returns how many blocks the sequences would hold in addition if none were shared: the holders of each
// block beyond its first.
func (p *Pool) Again() int { return p.again }

// Counters reads only. It implements [Cache].
func (p *Pool) Counters() Counters { return Counters{Evicted: p.evicted} }

// BlockSize implements [Cache].
func (p *Pool) BlockSize() int { return p.size }

// floor returns the blocks that so many tokens fill. A product takes a fraction of the time of a division: the inverse of
// the size in units of 2⁻⁶³, rounded up, errs by less than one block in 2³¹ for half a word of tokens.
func (p *Pool) floor(tokens int) int {
	blocks, _ := bits.Mul64(2*uint64(uint32(tokens)), p.inverse)
	return int(blocks)
}

// ceil returns the blocks that hold so many tokens.
func (p *Pool) ceil(tokens int) int { return p.floor(tokens + p.size - 1) }
