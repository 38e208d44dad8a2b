package kvcache

// Most blocks hold what no other sequence will ever ask for: the rest of a prompt that occurs once, an answer. While a
// sequence holds such blocks they are a number. When it gives them up they become an extent, which stands in the ring of
// findable blocks and in the index as one block does, its first: one entry for what may be thousands. As the tail of a
// sequence is overwritten first, an extent is overwritten by counting down.
//
// Only a sequence that was preempted comes back for its extent. What it then adopts, computes anew and leaves behind can be
// found block by block. So whoever meets an extent in a lookup breaks it into segments as those of shared blocks, under their
// keys and in their places in the ring; nothing of that can be seen from outside.
type extent struct {
	start cursor // stands before the first one
	runs  Prompt // what they hold, from there on
}

// nowhere is the hash of private blocks that nobody will come back for: they are not in the index, and what they hold is
// not kept. They stand in the ring and wait to be overwritten; those of one sequence and of the next are one entry.
const nowhere = ^uint64(0)

// bury puts n private blocks that nobody will come back for at the end of the ring.
func (p *Pool) bury(n int) {
	b := p.blocks[0].prev
	if p.blocks[b].key.hash != nowhere {
		b = p.dig()
	}
	p.blocks[b].more += int32(n)
}

// dig puts an entry for private blocks that nobody will come back for at the end of the ring, still without any block.
func (p *Pool) dig() int32 {
	b := p.name()
	p.blocks[b] = block{key: key{hash: nowhere}, more: -1}
	p.link(b, 0)
	return b
}

// stray puts the n private blocks of a sequence that may come back for them at the end of the ring, as an extent.
func (p *Pool) stray(s *sequence, n int) {
	p.strayed = true
	e := p.vacancy()
	x := &p.extents[e]
	x.start = s.end
	x.start.run = 0
	x.runs = append(x.runs[:0], s.prompt[s.end.run:]...)
	at := s.end
	first, _ := at.next(s.prompt, p.size)
	b, _ := p.enter(first, 1, 0)
	p.blocks[b].extent, p.blocks[b].more = e, int32(n-1)
	p.link(b, 0)
}

// vacancy returns an extent that is not in use.
func (p *Pool) vacancy() (e int32) {
	if n := len(p.vacant) - 1; n >= 0 {
		e, p.vacant = p.vacant[n], p.vacant[:n]
		return e
	}
	p.extents = append(p.extents, extent{})
	return int32(len(p.extents) - 1)
}

// split breaks an extent into segments.
func (p *Pool) split(b int32) {
	e, more := p.blocks[b].extent, int(p.blocks[b].more)
	x := &p.extents[e]
	p.blocks[b].extent, p.blocks[b].more = 0, 0
	p.vacant = append(p.vacant, e)
	at := x.start
	at.next(x.runs, p.size) // that is b
	for more > 0 {
		k, _ := at.next(x.runs, p.size)
		n := 1 + at.on(x.runs, p.size, more-1)
		more -= n
		for n > 0 {
			rest, m := p.enter(k, int32(n), 0)
			p.link(rest, b) // behind it in the sequence, before it in the ring
			b = rest
			k.at += m
			n -= int(m)
		}
	}
}

// find returns the block that was registered first under a key and still exists, or 0.
func (p *Pool) find(k key) int32 {
	b := p.index.find(p.blocks, k)
	if p.blocks[b].extent != 0 {
		p.split(b)
	}
	return b
}

// returns reports whether the cache still has blocks that a sequence left behind when it was preempted: those of the
// content of its first private block. If so, the sequence tells its private blocks apart from now on.
func (p *Pool) returns(s *sequence) bool {
	if !p.strayed {
		return false
	}
	at := s.end
	if first, _ := at.next(s.prompt, p.size); p.find(first) == 0 {
		return false
	}
	s.apart = true
	return true
}
