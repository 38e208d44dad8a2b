package scheduler

import "github.com/servesim/servesim/hardware"

// Coaster is a Scheduler that can tell how many plans to come hold nothing but a beat of its cohort.
type Coaster interface {
	// Calm changes nothing that anybody sees; p is the oldest plan in flight. If p is a beat that names nobody, Calm reports how many of the next
	// plans will be so, too, as long as nothing happens meanwhile: at most len(blocks), which it fills with the KV blocks
	// that each takes. It writes the first one's Step to step; from one to the next each member reads a token more.
	Calm(p *Plan, step *hardware.Step, blocks []int) int
	// Coast is n times Done for the oldest plan in flight and Plan for the next beat: the old plan becomes the new one.
	// Only to be called after Calm, for no more beats than that reported, with nothing in between.
	Coast(n int)
}

// Calm implements [Coaster]. It remembers how far it has looked for a member's last beat.
func (b *batcher) Calm(p *Plan, step *hardware.Step, blocks []int) (n int) {
	c := &b.cohort
	if len(p.Work) > 0 || p.Members == 0 || c.oldest != p.number || !c.alone() || b.admits() || c.size > int(b.capacity) {
		return 0
	}
	blocks = blocks[:c.same(len(blocks))]
	c.phases.foresee(blocks)
	// In a round, and in what is left of one, nobody begins more than one block.
	if free, round := b.cache.Available(), c.phases.size; c.size*(len(blocks)+round) > free*round {
		blocks = blocks[:fitting(blocks, free)]
	}
	*step = hardware.Step{}
	sumBeat(step, c.size, c.contexts+int64(c.size))
	return len(blocks)
}

// fitting returns how many of the beats that begin such blocks fit, one after the other.
func fitting(blocks []int, free int) int {
	for i, begun := range blocks {
		if free -= begun; free < 0 {
			return i
		}
	}
	return len(blocks)
}

// same returns how many beats to come, at most so many, all present members take part in: the last of them may be the last
// one for somebody.
func (c *cohort) same(most int) int {
	if c.until <= c.beat {
		c.until = c.beat + 1 + int64(c.last.Quiet(c.beat+1, most))
	}
	return int(min(int64(most), c.until-c.beat))
}

// admits reports whether the next plan may look for somebody to admit: there is a seat, and somebody waits for it.
func (b *batcher) admits() bool {
	return b.running.n < b.limits.MaxNumSeqs && b.someoneWaits()
}

func (b *batcher) someoneWaits() bool { return b.waiting.n+b.skipped.n > 0 }

// Coast takes the next n beats. It implements [Coaster].
func (b *batcher) Coast(n int) {
	c, plans := &b.cohort, b.folder.plans
	size, read := c.size, c.contexts+int64(c.size)
	before, depth := c.beat, uint32(c.beat-c.landed)
	c.beat += int64(n)
	c.contexts += int64(n) * int64(size)
	c.steady.Take(c.phases.pass(n, size))
	b.plans += int32(n)
	c.landed += int64(n)
	c.rotate(plans, uint32(n)%depth)
	beat := c.landed
	for i := c.oldest; i != 0; {
		p := plans[i]
		if beat++; beat > before {
			p.Beat, p.Last = beat, p.Last[:0]
			p.take(size, read+(beat-before-1)*int64(size))
		}
		i = p.next
	}
	if c.last.Any(c.beat) {
		c.release(plans[c.newest])
	}
}

// rotate makes n times the oldest beat in flight the latest.
func (c *cohort) rotate(plans []*Plan, n uint32) {
	for range n {
		p := plans[c.oldest]
		plans[c.newest].next = p.number
		c.oldest, c.newest, p.next = p.next, p.number, 0
	}
}
