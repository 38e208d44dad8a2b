package kvcache

import "math"

// Layers that see only a window of keys form groups of their own, with tables of their own (vLLM's hybrid KV cache). A
// block wholly before the window goes back to the pool, and the null block takes its place in the table; and a prefix
// is hit only where it serves every group: a full group needs all its blocks up to there, a window group the last
// ceil((W-1)/size) before it.

// Slides reads only. It implements [Slider].
func (p *Pool) Slides() bool {
	for i := range p.groups {
		if p.groups[i].window > 0 {
			return true
		}
	}
	return false
}

// Slide changes the cache. It implements [Slider].
func (p *Pool) Slide(id SeqID, computed int) (next int) {
	next = math.MaxInt
	if p.simple {
		return next
	}
	s := p.sequence(id)
	for i := range s.tables {
		g, t := &p.groups[i], &s.tables[i]
		if g.window == 0 {
			continue
		}
		out := min(p.floor(max(computed-g.window+1, 0)), len(t.parts))
		for j := out - 1; j >= t.gone; j-- { // the last one first, as when a sequence is released
			p.drop(t.parts[j])
			t.parts[j].first = 0
		}
		t.gone = max(t.gone, out)
		next = min(next, (t.gone+1)*p.size+g.window-1)
	}
	return next
}

// lookAll returns the longest hit of at most `most` leading blocks that serves all groups, and how many of its blocks
// nobody holds. It shortens the hit group by group until none objects.
func (p *Pool) lookAll(prompt Prompt, most int) (hit, idle int) {
	p.aim(prompt)
	for i := 0; i < most; i++ {
		if _, ok := p.probe.key(i, p.size); !ok {
			most = i
		}
	}
	for hit, most = most, -1; hit != most; {
		most = hit
		for i := range p.groups {
			hit = p.longest(&p.groups[i], hit)
		}
	}
	for i := range p.groups {
		g := &p.groups[i]
		for j := g.start(hit); j < hit; j++ {
			if p.blocks[p.found(g, j)].refs == 0 {
				idle++
			}
		}
	}
	return hit, idle
}

// longest returns the longest hit of at most `most` blocks that serves one group.
func (p *Pool) longest(g *group, most int) int {
	if g.window == 0 {
		n := 0
		for n < most && p.found(g, n) != 0 {
			n++
		}
		return n
	}
	end := most // of the stretch of found blocks that reaches back to j
	for j := most - 1; j >= 0 && end-j <= g.behind; j-- {
		if p.found(g, j) == 0 {
			end = j
		}
	}
	return end
}

// start returns the first block that a hit needs.
func (g *group) start(hit int) int {
	if g.window == 0 {
		return 0
	}
	return max(hit-g.behind, 0)
}

// found returns the block of a group that holds the i-th block of the probed prompt, or 0.
func (p *Pool) found(g *group, i int) int32 { return p.singles.find(p.probe.keys[i].of(g)) }

// of returns the key of a block with the same content in a group.
func (k key) of(g *group) key { return key{k.hash ^ g.salt, k.at} }

// adoptAll gives a new sequence the blocks of its hit in every group.
func (p *Pool) adoptAll(s *sequence, hit int) {
	if got, _ := p.lookAll(s.prompt, hit); got != hit {
		panic("kvcache: Admit with a hit that Match has not just returned for this prompt")
	}
	for i := range s.tables {
		g, t := &p.groups[i], &s.tables[i]
		t.gone = g.start(hit)
		for j := range hit {
			b := int32(0)
			if j >= t.gone {
				b = p.found(g, j)
				p.hold(b)
			}
			t.parts = append(t.parts, part{b, 1})
		}
	}
}

// listAll registers the first n blocks of a sequence in the index, one by one, in every group.
func (p *Pool) listAll(s *sequence, n int) {
	for ; s.findable < n; s.findable++ {
		k, _ := s.end.next(s.prompt, p.size)
		for i := range s.tables {
			if b := s.tables[i].parts[s.findable].first; b != 0 {
				p.blocks[b].key = k.of(&p.groups[i])
				p.singles.add(p.blocks, b)
			}
		}
	}
}
