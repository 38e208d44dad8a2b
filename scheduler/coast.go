package scheduler

import "github.com/servesim/servesim/hardware"

// Coaster is a Scheduler that can tell how many plans to come hold nothing but a beat of its cohort.
type Coaster interface {
	// Calm reads only; p is the oldest plan in flight. If p is a beat that names nobody, Calm reports how many of the next
	// plans will be so, too, as long as nothing happens meanwhile: at most len(blocks), which it fills with the KV blocks
	// that each takes. It writes the first one's Step to step; from one to the next each member reads a token more.
	Calm(p *Plan, step *hardware.Step, blocks []int) int
	// Coast is n times Done for the oldest plan in flight and Plan for the next beat: the old plan becomes the new one.
	// Only to be called after Calm, for no more beats than that reported, with nothing in between.
	Coast(n int)
}

// Calm reads only. It implements [Coaster].
func (b *batcher) Calm(p *Plan, step *hardware.Step, blocks []int) (n int) {
	c := &b.cohort
	if len(p.Work) > 0 || p.Members == 0 || len(c.flying) == 0 || c.flying[0] != p || !b.smooth() {
		return 0
	}
	free, begins := b.cache.Usage().Available(), c.begins
	for n < len(blocks) {
		if free -= c.phase[begins]; free < 0 {
			break
		}
		blocks[n] = c.phase[begins]
		if begins--; begins < 0 {
			begins = len(c.phase) - 1
		}
		if n++; c.last.Any(c.beat + int64(n)) {
			break // then the cohort is a smaller one
		}
	}
	*step = beatOf(c.size, c.contexts+int64(c.size))
	return n
}

// admits reports whether the next plan may look for somebody to admit: there is a seat, and somebody waits for it.
func (b *batcher) admits() bool {
	return b.running.n < b.limits.MaxNumSeqs && b.someoneWaits()
}

func (b *batcher) someoneWaits() bool { return b.waiting.len()+b.skipped.len() > 0 }

// Coast takes the next n beats. It implements [Coaster].
func (b *batcher) Coast(n int) {
	c := &b.cohort
	size, read, blocks := c.size, c.contexts+int64(c.size), 0
	for range n {
		blocks += c.phase[c.begins]
		c.tick()
	}
	c.steady.Take(blocks)
	b.plans += int32(n)
	c.landed += int64(n)
	depth := len(c.flying)
	for range n % depth {
		p := c.flying[0]
		copy(c.flying, c.flying[1:])
		c.flying[depth-1] = p
	}
	for i := range min(n, depth) {
		p := c.flying[depth-1-i]
		p.Members, p.Beat = size, c.beat-int64(i)
		p.Step = beatOf(size, read+int64(n-1-i)*int64(size))
	}
}
