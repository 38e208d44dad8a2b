package kvcache

import "iter"

// The shared blocks of long prompts come in runs, and so they are kept: blocks that follow each other in a stretch are
// registered, adopted, given up and overwritten together, as one entry, a segment. Nothing of that can be seen from
// outside. A segment is cut in two where somebody adopts only its beginning, or has a copy of one of its blocks: only
// single blocks stand in a ring of copies. Its tail is overwritten first, as that of an extent, by counting down.

// A part of a table is what was one segment when the sequence came by it. The holders of a segment are not told when it is
// cut: they find the rest of their part behind its first segment. Whoever holds a segment holds all its blocks.
type part struct {
	first  int32 // segment; 0: the null block
	blocks int32 // in all
}

// place registers n blocks of one stretch, k being the key of the first, for the sequence that holds them, and adds them to
// its parts: in one segment where nobody has them yet, and as single blocks where somebody has.
func (p *Pool) place(parts []part, k key, n int32) []part {
	for n > 0 {
		b, m := p.enter(k, n, 1)
		parts = append(parts, part{b, m})
		k.at += m
		n -= m
	}
	return parts
}

// enter registers the first m of n blocks of one stretch that so many sequences hold, as a segment b: those that nobody has
// yet, or a single one if somebody has it.
func (p *Pool) enter(k key, n, refs int32) (b, m int32) {
	twin, m := p.index.room(p.blocks, k, n)
	if twin != 0 { // then m is 0
		p.single(twin, k.at)
		m = 1
	}
	b = p.name()
	p.blocks[b] = block{key: k, refs: refs, more: m - 1}
	p.index.add(p.blocks, b)
	return b, m
}

// single cuts the segment that has the block at this place of its stretch, so that this block is a segment of its own.
func (p *Pool) single(b, at int32) {
	if p.blocks[b].extent > 0 {
		return // only its first block is in the index
	}
	if before := at - p.blocks[b].key.at; before > 0 {
		b = p.halve(b, before)
	}
	if p.blocks[b].more > 0 {
		p.halve(b, 1)
	}
}

// halve cuts a segment in two, the first of n blocks. It returns the second.
func (p *Pool) halve(b, n int32) int32 {
	rest := p.name()
	k := &p.blocks[b]
	r := *k
	r.key.at += n
	r.more -= n
	r.older, r.newer, r.watch = rest, rest, 0
	p.blocks[rest] = r
	k.more, k.rest, k.after = n-1, rest, rest
	p.trim(b)
	if k.refs == 0 {
		p.link(rest, b) // overwritten before b
	}
	return rest
}

// drop takes a holder from the blocks of a part, from the last segment to the first, so that the last is overwritten first.
func (p *Pool) drop(q part) {
	k := &p.blocks[q.first]
	if n := k.size(); n < q.blocks {
		p.drop(part{k.rest, q.blocks - n})
	}
	p.free(q.first)
}

// segments goes through the segments of a part, from the first to the last.
func (p *Pool) segments(q part) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for b, n := q.first, q.blocks; n > 0 && yield(b); b = p.blocks[b].rest {
			n -= p.blocks[b].size()
		}
	}
}
