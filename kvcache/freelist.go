package kvcache

// A block that is told apart is held (refs > 0), or free and findable. A free block that cannot be found is blank, and a
// number.
//
// vLLM keeps one queue of free blocks: what is released without a hash goes to its front, what is released with a hash
// goes to its end. So at all times it reads [blank ones][findable ones, by time of release], and a findable one is
// overwritten only when no blank one is left. Here the first part is a count and the second a ring through block 0.
//
// Blocks that follow each other in a stretch, have the same holders and stand together in the ring are one entry, a segment;
// what follows holds for each of them.
type block struct {
	key          key   // what it can be found by; 0: it cannot
	refs         int32 // sequences that hold it
	more         int32 // blocks of the segment behind the first, whose key this is
	rest         int32 // the segment that has been cut off behind it; see part
	extent       int32 // where the content of a segment of private blocks is kept; 0: its blocks are in the index
	prev, next   int32 // neighbours in the ring; next alone links the stack of unused names
	older, newer int32 // neighbours in the ring of the blocks with this key, in order of registration
	after        int32 // the next segment of the stretch in the index, if this is the first registered one
	watch        int32 // its place in the probe, counted from 1; 0: the probe does not know it
}

// overwrite makes n free blocks ones in use: the blank ones, then the findable ones that were released longest ago, whose
// content is lost. The caller has made sure that there are enough.
func (p *Pool) overwrite(n int) {
	if n <= p.blanks {
		p.blanks -= n
		return
	}
	n -= p.blanks
	p.blanks = 0
	p.cached -= n
	p.evicted += int64(n)
	if next := &p.blocks[p.blocks[0].next]; next.key.hash == nowhere && n <= int(next.more) {
		next.more -= int32(n)
		return
	}
	for n > 0 {
		n -= p.shrink(p.blocks[0].next, n)
	}
}

// shrink overwrites the last n blocks of a segment in the ring, or all if there are no more. It returns how many.
func (p *Pool) shrink(b int32, n int) int {
	k := &p.blocks[b]
	if whole := int(k.size()); n >= whole {
		p.unlink(b)
		p.forget(b)
		return whole
	}
	k.more -= int32(n)
	if k.extent == 0 && k.key.hash != nowhere {
		p.trim(b)
	}
	return n
}

// size returns the blocks that the entry stands for.
func (k *block) size() int32 { return 1 + k.more }

// name returns a name for a block in use, which one sequence holds.
func (p *Pool) name() int32 {
	b := p.unused
	if b != 0 {
		p.unused = p.blocks[b].next
		p.blocks[b] = block{refs: 1}
		return b
	}
	p.blocks = append(p.blocks, block{refs: 1})
	return int32(len(p.blocks) - 1)
}

// unname gives back a name.
func (p *Pool) unname(b int32) {
	p.blocks[b] = block{next: p.unused}
	p.unused = b
}

// hold adds a holder to a findable segment.
func (p *Pool) hold(b int32) {
	k := &p.blocks[b]
	n := int(k.size())
	if k.refs == 0 {
		p.unlink(b)
		p.cached -= n
		if k.watch > 0 {
			p.probe.idle -= n
		}
	} else {
		p.again += n
	}
	k.refs++
}

// free takes a holder from a segment. The last one leaves it free.
func (p *Pool) free(b int32) {
	k := &p.blocks[b]
	n := int(k.size())
	k.refs--
	switch {
	case k.refs > 0:
		p.again -= n
	case k.key.hash == 0:
		p.unname(b)
		p.blanks++
	default:
		p.link(b, 0)
		p.cached += n
		if k.watch > 0 {
			p.probe.idle += int(p.probe.parts[k.watch-1].blocks)
		}
	}
}

// forget takes a segment that is not in the ring out of the index: nobody can find it any more.
func (p *Pool) forget(b int32) {
	k := &p.blocks[b]
	if k.watch > 0 {
		p.cut(p.before(k.watch))
	}
	if k.extent > 0 {
		p.vacant = append(p.vacant, k.extent)
	}
	switch {
	case !p.simple:
		p.singles.remove(p.blocks, b)
	case k.key.hash != nowhere:
		p.index.remove(p.blocks, b)
	}
	p.unname(b)
}

// link puts a findable block into the ring, before another; before block 0 is its end, which is overwritten last.
func (p *Pool) link(b, next int32) {
	prev := p.blocks[next].prev
	p.blocks[b].prev, p.blocks[b].next = prev, next
	p.blocks[prev].next = b
	p.blocks[next].prev = b
}

// unlink takes a findable block out of the ring, wherever it stands.
func (p *Pool) unlink(b int32) {
	k := &p.blocks[b]
	p.blocks[k.prev].next = k.next
	p.blocks[k.next].prev = k.prev
}
