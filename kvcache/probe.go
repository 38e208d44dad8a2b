package kvcache

import "slices"

// probe remembers the last lookup, and the pool keeps it true: a remembered block that is overwritten cuts it short, one
// that is taken or given up changes the count of idle ones. So the head of a blocked queue, which is looked up at every
// step, is hashed once, and its hit is walked once, however long it is.
type probe struct {
	prompt Prompt // a copy
	end    cursor // stands after the last of the keys
	keys   []key  // of the leading blocks, as far as they were needed, and on to the end of the last stretch
	asked  int    // keys that were needed
	parts  []part // the segments that hold them; of the last one perhaps only the beginning
	hit    int    // blocks of all parts
	idle   int    // of which nobody holds
}

// look brings the probe up to date for the first `most` blocks of a prompt.
func (p *Pool) look(prompt Prompt, most int) {
	q := &p.probe
	p.aim(prompt)
	p.cut(most)
	for q.hit < most {
		k, ok := q.key(q.hit, p.size)
		if !ok || !p.lengthen(k) && !p.lead(k) {
			return
		}
		last := &q.parts[len(q.parts)-1]
		b := &p.blocks[last.first]
		n := q.along(min(most-q.hit, int(b.end()-k.at)))
		q.hit += n
		q.asked = max(q.asked, q.hit)
		last.blocks += int32(n)
		if b.refs == 0 {
			q.idle += n
		}
	}
}

// along returns how many blocks behind the hit lie in one stretch, `most` at most.
func (q *probe) along(most int) int {
	keys := q.keys[q.hit:]
	keys = keys[:min(most, len(keys))]
	for i := range keys {
		if keys[i].hash != keys[0].hash {
			return i
		}
	}
	return len(keys)
}

// lengthen reports whether the last segment of the hit goes on with the block of that key.
func (p *Pool) lengthen(k key) bool {
	n := len(p.probe.parts)
	if n == 0 {
		return false
	}
	b := &p.blocks[p.probe.parts[n-1].first]
	return b.key.hash == k.hash && b.key.at < k.at && k.at < b.key.at+b.size()
}

// lead adds the segment that begins with the block of that key to the hit, still without any block, and reports whether
// there is one.
func (p *Pool) lead(k key) bool {
	b := p.find(k)
	if b == 0 {
		return false
	}
	p.probe.parts = append(p.probe.parts, part{first: b})
	p.blocks[b].watch = int32(len(p.probe.parts))
	return true
}

// aim points the probe at a prompt.
func (p *Pool) aim(prompt Prompt) {
	q := &p.probe
	if slices.Equal(q.prompt, prompt) {
		return
	}
	p.cut(0)
	q.prompt = append(q.prompt[:0], prompt...)
	q.keys, q.end, q.asked = q.keys[:0], cursor{}, 0
}

// cut shortens the hit to n blocks, if it is longer.
func (p *Pool) cut(n int) {
	q := &p.probe
	for q.hit > n {
		i := len(q.parts) - 1
		last := &q.parts[i]
		k := &p.blocks[last.first]
		less := min(q.hit-n, int(last.blocks))
		q.hit -= less
		if k.refs == 0 {
			q.idle -= less
		}
		if last.blocks -= int32(less); last.blocks == 0 {
			k.watch = 0
			q.parts = q.parts[:i]
		}
	}
}

// trim shortens the hit to what is left of a segment that has become shorter, if the hit has it.
func (p *Pool) trim(b int32) {
	k := &p.blocks[b]
	if k.watch > 0 {
		q := p.probe.parts[k.watch-1]
		p.cut(p.before(k.watch) + int(min(q.blocks, k.size())))
	}
}

// before returns the blocks of the hit before its part number w, counted from 1.
func (p *Pool) before(w int32) int {
	n := p.probe.hit
	for _, q := range p.probe.parts[w-1:] {
		n -= int(q.blocks)
	}
	return n
}

// key returns the key of block i of the prompt; all before it have been asked for. It returns false if the runs end
// before the block does.
func (q *probe) key(i, size int) (key, bool) {
	if i == len(q.keys) && !q.stretch(size) {
		return key{}, false
	}
	q.asked = max(q.asked, i+1)
	return q.keys[i], true
}

// stretch adds the keys of the next stretch of the prompt. It returns false if the runs end inside its first block.
func (q *probe) stretch(size int) bool {
	k, ok := q.end.next(q.prompt, size)
	if !ok {
		return false
	}
	for range 1 + q.end.on(q.prompt, size, stretch) {
		q.keys = append(q.keys, k)
		k.at++
	}
	return true
}

// adopt gives a new sequence the blocks of its hit.
func (p *Pool) adopt(s *sequence, hit int) {
	if p.simple {
		p.look(s.prompt, hit)
		if p.probe.hit < hit {
			panic("kvcache: Admit with a hit that Match has not just returned for this prompt")
		}
		last := p.probe.parts[len(p.probe.parts)-1]
		if last.blocks < p.blocks[last.first].size() {
			p.halve(last.first, last.blocks)
		}
		t := &s.tables[0]
		t.parts = append(t.parts, p.probe.parts...)
		for _, q := range t.parts {
			p.hold(q.first)
		}
	} else {
		p.adoptAll(s, hit)
	}
	s.findable, s.told = hit, hit
	s.end = cursorAt(s.prompt, hit*p.size, p.probe.keys[hit-1])
}
