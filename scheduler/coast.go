package scheduler

// Coaster is a Scheduler that can tell when the next plan holds nothing but a beat of its cohort.
type Coaster interface {
	// Coasts reads only. It reports whether p, the oldest plan in flight, is a beat that names nobody, and whether the
	// next plan would be one, too.
	Coasts(p *Plan) bool
	// Coast is Done for p and Plan for the next beat at once: p, whose members have got their tokens, becomes that beat.
	// Only to be called after Coasts, with nothing in between.
	Coast(p *Plan)
}

// Coasts reads only. It implements [Coaster].
func (b *batcher) Coasts(p *Plan) bool {
	c := &b.cohort
	return len(p.Work) == 0 && p.Members > 0 && c.size > 0 && len(c.loose) == 0 && !b.someoneWaits() &&
		len(c.flying) > 0 && c.flying[0] == p && c.size <= int(b.capacity) && !c.last.Any(c.beat+1) &&
		c.phase[c.begins] <= b.cache.Usage().Available()
}

func (b *batcher) someoneWaits() bool { return b.waiting.len()+b.skipped.len() > 0 }

// Coast takes the next beat. It implements [Coaster].
func (b *batcher) Coast(p *Plan) {
	c := &b.cohort
	c.landed = p.Beat
	for i := range len(c.flying) - 1 {
		c.flying[i] = c.flying[i+1]
	}
	c.flying[len(c.flying)-1] = p
	if n := c.phase[c.begins]; n > 0 {
		c.steady.Take(n)
	}
	b.plans++
	if p.Members != c.size {
		p.Members = c.size
		p.Step.Tokens, p.Step.Seqs, p.Step.Decodes, p.Step.Sampled = c.size, c.size, c.size, c.size
	}
	p.Step.KVRead = c.contexts + int64(c.size)
	c.tick()
	p.Beat = c.beat
}
