package kvcache

import "slices"

// probe remembers the last lookup, and the pool keeps it true: a remembered block that is overwritten cuts it short, one
// that is taken or given up changes the count of idle ones. So the head of a blocked queue, which is looked up at every
// step, is hashed once, and its hit is walked once, however long it is.
type probe struct {
	prompt Prompt  // a copy
	end    cursor  // stands after the last of the keys
	keys   []key   // of the leading blocks, as far as they were needed
	blocks []int32 // those that hold them: the hit
	idle   int     // of which nobody holds
}

// look brings the probe up to date for the first `most` blocks of a prompt.
func (p *Pool) look(prompt Prompt, most int) {
	q := &p.probe
	p.aim(prompt)
	p.cut(most)
	for i := len(q.blocks); i < most; i++ {
		k, ok := q.key(i, p.size)
		if !ok {
			return
		}
		b := p.find(k)
		if b == 0 {
			return
		}
		q.blocks = append(q.blocks, b)
		p.blocks[b].watch = int32(i + 1)
		if p.blocks[b].refs == 0 {
			q.idle++
		}
	}
}

// aim points the probe at a prompt.
func (p *Pool) aim(prompt Prompt) {
	q := &p.probe
	if slices.Equal(q.prompt, prompt) {
		return
	}
	p.cut(0)
	q.prompt = append(q.prompt[:0], prompt...)
	q.keys, q.end = q.keys[:0], cursor{}
}

// cut shortens the hit to n blocks, if it is longer.
func (p *Pool) cut(n int) {
	q := &p.probe
	if n >= len(q.blocks) {
		return
	}
	for _, b := range q.blocks[n:] {
		k := &p.blocks[b]
		k.watch = 0
		if k.refs == 0 {
			q.idle--
		}
	}
	q.blocks = q.blocks[:n]
}

// key returns the key of block i of the prompt; all before it have been asked for. It returns false if the runs end
// before the block does.
func (q *probe) key(i, size int) (key, bool) {
	if i == len(q.keys) {
		k, ok := q.end.next(q.prompt, size)
		if !ok {
			return key{}, false
		}
		q.keys = append(q.keys, k)
	}
	return q.keys[i], true
}

// adopt gives a new sequence the blocks of its hit.
func (p *Pool) adopt(s *sequence, hit int) {
	if p.simple() {
		p.look(s.prompt, hit)
		if len(p.probe.blocks) < hit {
			panic("kvcache: Admit with a hit that Match has not just returned for this prompt")
		}
		t := &s.tables[0]
		t.blocks = append(t.blocks, p.probe.blocks...)
		for _, b := range t.blocks {
			p.hold(b)
		}
	} else {
		p.adoptAll(s, hit)
	}
	s.findable = hit
	s.end = cursorAt(s.prompt, hit*p.size, p.probe.keys[hit-1])
}
