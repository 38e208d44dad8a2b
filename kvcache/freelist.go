package kvcache

// A block that is told apart is held (refs > 0), or free and findable. A free block that cannot be found is blank, and a
// number.
//
// vLLM keeps one queue of free blocks: what is released without a hash goes to its front, what is released with a hash
// goes to its end. So at all times it reads [blank ones][findable ones, by time of release], and a findable one is
// overwritten only when no blank one is left. Here the first part is a count and the second a ring through block 0.
type block struct {
	key          key   // what it can be found by; 0: it cannot
	refs         int32 // sequences that hold it
	extent       int32 // the private blocks that it stands for; 0: it is just itself
	prev, next   int32 // neighbours in the ring; next alone links the stack of unused names
	older, newer int32 // neighbours in the ring of the blocks with this key, in order of registration
	watch        int32 // its place in the probe, counted from 1; 0: the probe does not know it
}

// overwrite makes n free blocks ones in use: the blank ones, then the findable ones that were released longest ago, whose
// content is lost. The caller has made sure that there are enough.
func (p *Pool) overwrite(n int) {
	blank := min(n, p.blanks)
	p.blanks -= blank
	n -= blank
	p.cached -= n
	p.evicted += int64(n)
	for n > 0 {
		b := p.blocks[0].next
		m := 1
		if e := p.blocks[b].extent; e == 0 {
			p.unlink(b)
			p.forget(b)
		} else {
			m = min(n, p.extents[e].blocks)
			p.shrink(b, m)
		}
		n -= m
	}
}

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

// hold adds a holder to a findable block.
func (p *Pool) hold(b int32) {
	k := &p.blocks[b]
	if k.refs == 0 {
		p.unlink(b)
		p.cached--
		if k.watch > 0 {
			p.probe.idle--
		}
	}
	if k.refs > 0 {
		p.again++
	}
	k.refs++
}

// drop takes a holder from a block. The last one leaves it free.
func (p *Pool) drop(b int32) {
	k := &p.blocks[b]
	k.refs--
	switch {
	case k.refs > 0:
		p.again--
	case k.key.hash == 0:
		p.unname(b)
		p.blanks++
	default:
		p.link(b, 0)
		p.cached++
		if k.watch > 0 {
			p.probe.idle++
		}
	}
}

// forget takes a block that is not in the ring out of the index: nobody can find it any more.
func (p *Pool) forget(b int32) {
	if w := p.blocks[b].watch; w > 0 {
		p.cut(int(w) - 1)
	}
	if p.blocks[b].key.hash != nowhere {
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
