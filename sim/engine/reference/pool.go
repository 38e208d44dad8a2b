package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servesim/servesim/kvcache"
)

// Pool is paged KV memory with a prefix cache. A block that is full of known tokens can be found by its content, which
// is compared literally: a block is the same as another if all the tokens up to its end are the same.
type Pool struct {
	blockSize int
	caching   bool
	blocks    []block
	queue     []int                    // blocks that nobody holds, the next to be overwritten first: blank ones lead
	tables    map[kvcache.SeqID]*table // what each sequence holds
	contents  map[blockContent]int     // numbers every content ever seen, from 1
	holders   map[int][]int            // content: the blocks that can be found under it, oldest registration first
	evicted   int64
}

type block struct {
	refs    int // sequences that hold it
	content int // what it can be found under; 0: it is blank
}

// table is one sequence's memory.
type table struct {
	tokens   kvcache.Prompt
	blocks   []int
	findable int // leading blocks that are registered
	chain    int // content of the last of them
}

// blockContent is what a block holds: its tokens, after all the blocks before it.
type blockContent struct {
	before int // content of the block before; 0: none
	tokens string
}

var _ kvcache.Cache = (*Pool)(nil)

// NewPool returns an empty pool of so many usable blocks of blockSize tokens; vLLM's null block is not one of them.
// Without caching no block can ever be found by its content.
func NewPool(blocks, blockSize int, caching bool) *Pool {
	p := &Pool{
		blockSize: blockSize,
		caching:   caching,
		blocks:    make([]block, blocks),
		tables:    map[kvcache.SeqID]*table{},
		contents:  map[blockContent]int{},
		holders:   map[int][]int{},
	}
	for i := range blocks {
		p.queue = append(p.queue, i)
	}
	return p
}

// Match reads what can be found. It implements [kvcache.Cache].
func (p *Pool) Match(prompt kvcache.Prompt, tokens int) kvcache.Hit {
	found := p.find(prompt, (tokens-1)/p.blockSize)
	hit := kvcache.Hit{Tokens: len(found) * p.blockSize}
	for _, b := range found {
		if p.blocks[b].refs == 0 {
			hit.Idle++
		}
	}
	return hit
}

// find returns the blocks that hold the leading ones of prompt, `most` of them at most.
func (p *Pool) find(prompt kvcache.Prompt, most int) []int {
	var found []int
	before := 0
	for i := 0; p.caching && i < most; i++ {
		before = p.contentOf(prompt, i, before)
		holders := p.holders[before]
		if len(holders) == 0 {
			break
		}
		found = append(found, holders[0])
	}
	return found
}

// Need reads only. It implements [kvcache.Cache].
func (p *Pool) Need(h kvcache.Hit, tokens int) int {
	return max(0, p.blocksFor(tokens)-h.Tokens/p.blockSize) + h.Idle
}

// Admit gives a new sequence its blocks, or changes nothing. It implements [kvcache.Cache].
func (p *Pool) Admit(id kvcache.SeqID, prompt kvcache.Prompt, h kvcache.Hit, c kvcache.Claim) bool {
	if p.Need(h, c.Tokens)+c.Spare > len(p.queue) {
		return false
	}
	t := &table{tokens: prompt}
	for _, b := range p.find(prompt, h.Tokens/p.blockSize) {
		if p.blocks[b].refs == 0 {
			at := slices.Index(p.queue, b)
			p.queue = slices.Delete(p.queue, at, at+1)
		}
		p.blocks[b].refs++
		t.blocks = append(t.blocks, b)
		t.findable++
		t.chain = p.blocks[b].content
	}
	p.tables[id] = t
	p.fill(t, c.Tokens, c.Known)
	return true
}

// Grow makes room for more tokens, or changes nothing. It implements [kvcache.Cache].
func (p *Pool) Grow(id kvcache.SeqID, tokens, known int) bool {
	t := p.tables[id]
	if p.blocksFor(tokens)-len(t.blocks) > len(p.queue) {
		return false
	}
	p.fill(t, tokens, known)
	return true
}

// Know makes blocks findable whose tokens have become known. It implements [kvcache.Cache].
func (p *Pool) Know(id kvcache.SeqID, known int) { p.register(p.tables[id], known) }

// Release takes back the blocks of a sequence, its last first: those that cannot be found go to the front of the queue,
// to be used at once; the others to its end. A sequence without blocks is left alone.
func (p *Pool) Release(id kvcache.SeqID) {
	t := p.tables[id]
	if t == nil {
		return
	}
	for _, b := range slices.Backward(t.blocks) {
		p.blocks[b].refs--
		switch {
		case p.blocks[b].refs > 0:
		case p.blocks[b].content == 0:
			p.queue = slices.Insert(p.queue, 0, b)
		default:
			p.queue = append(p.queue, b)
		}
	}
	delete(p.tables, id)
}

// Usage counts the blocks one by one. It implements [kvcache.Cache].
func (p *Pool) Usage() kvcache.Usage {
	u := kvcache.Usage{Total: len(p.blocks)}
	for _, b := range p.blocks {
		switch {
		case b.refs > 0:
			u.Held++
		case b.content > 0:
			u.Cached++
		default:
			u.Free++
		}
	}
	return u
}

// Available counts the blocks that can be taken now. It implements [kvcache.Cache].
func (p *Pool) Available() int { return p.Usage().Available() }

// Counters returns the running totals. It implements [kvcache.Cache].
func (p *Pool) Counters() kvcache.Counters { return kvcache.Counters{Evicted: p.evicted} }

// BlockSize returns the tokens in a block. It implements [kvcache.Cache].
func (p *Pool) BlockSize() int { return p.blockSize }

func (p *Pool) blocksFor(tokens int) int { return (tokens + p.blockSize - 1) / p.blockSize }

// fill takes blocks until `tokens` tokens fit, and registers those that known tokens fill.
func (p *Pool) fill(t *table, tokens, known int) {
	for len(t.blocks) < p.blocksFor(tokens) {
		t.blocks = append(t.blocks, p.take())
	}
	p.register(t, min(tokens, known))
}

// take returns the block at the front of the queue; what it held is forgotten.
func (p *Pool) take() int {
	b := p.queue[0]
	p.queue = p.queue[1:]
	if c := p.blocks[b].content; c > 0 {
		at := slices.Index(p.holders[c], b)
		p.holders[c] = slices.Delete(p.holders[c], at, at+1)
		p.evicted++
	}
	p.blocks[b] = block{refs: 1}
	return b
}

// register makes the blocks findable that the first `known` tokens fill. A content that other blocks hold already keeps
// them all: tables only ever grow at their end, so no block is exchanged for its equal.
func (p *Pool) register(t *table, known int) {
	for p.caching && t.findable < known/p.blockSize {
		b := t.blocks[t.findable]
		t.chain = p.contentOf(t.tokens, t.findable, t.chain)
		p.blocks[b].content = t.chain
		p.holders[t.chain] = append(p.holders[t.chain], b)
		t.findable++
	}
}

// contentOf returns the number of the i-th block of prompt, when what stands before it has the number `before`.
func (p *Pool) contentOf(prompt kvcache.Prompt, i, before int) int {
	var text strings.Builder
	for pos := i * p.blockSize; pos < (i+1)*p.blockSize; pos++ {
		label, offset := tokenAt(prompt, pos)
		fmt.Fprintf(&text, "%d[%d] ", label, offset)
	}
	c := blockContent{before, text.String()}
	if p.contents[c] == 0 {
		p.contents[c] = len(p.contents) + 1
	}
	return p.contents[c]
}

// tokenAt names the token at a position: its run's label and its place in the run.
func tokenAt(prompt kvcache.Prompt, pos int) (label uint64, offset int) {
	for _, run := range prompt {
		if pos < int(run.Len) {
			return run.Label, pos
		}
		pos -= int(run.Len)
	}
	panic("reference.Pool: a position beyond the end of the sequence's runs")
}

// Check reports a violated invariant of the pool, or nil.
func (p *Pool) Check() error {
	holds := make([]int, len(p.blocks))
	for _, t := range p.tables { // order does not matter: sums
		for _, b := range t.blocks {
			holds[b]++
		}
	}
	idle := 0
	for i, b := range p.blocks {
		if b.refs != holds[i] {
			return fmt.Errorf("block references: block %d counts %d holders, but %d sequences hold it", i, b.refs, holds[i])
		}
		if b.refs == 0 {
			idle++
		}
		if (b.content > 0) != slices.Contains(p.holders[b.content], i) {
			return fmt.Errorf("prefix cache: block %d and the index disagree on whether it can be found", i)
		}
	}
	if idle != len(p.queue) {
		return fmt.Errorf("conservation of blocks: %d are held by nobody, but %d are queued", idle, len(p.queue))
	}
	blank := true
	for _, b := range p.queue {
		if p.blocks[b].refs > 0 {
			return fmt.Errorf("conservation of blocks: block %d is queued and held", b)
		}
		if !blank && p.blocks[b].content == 0 {
			return fmt.Errorf("free order: the blank block %d stands behind a findable one", b)
		}
		blank = p.blocks[b].content == 0
	}
	return nil
}

// Again counts how many blocks the sequences would hold in addition if none were shared.
func (p *Pool) Again() (n int) {
	for _, b := range p.blocks {
		n += max(b.refs-1, 0)
	}
	return n
}
