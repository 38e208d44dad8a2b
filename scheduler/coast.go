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
	if len(p.Work) > 0 || p.Members == 0 || c.oldest != p || !c.alone() || b.admits() || c.size > int(b.capacity) {
		return 0
	}
	blocks = blocks[:c.same(len(blocks))]
	c.foresee(blocks)
	if free := b.cache.Available(); c.size*(len(blocks)/len(c.phase)+1) > free {
		blocks = blocks[:fitting(blocks, free)]
	}
	*step = hardware.Step{}
	sumBeat(step, c.size, c.contexts+int64(c.size))
	return len(blocks)
}

// foresee fills in the blocks that each of the next beats begins.
func (c *cohort) foresee(blocks []int) {
	first := c.phase[c.begins:]
	for len(blocks) > 0 {
		blocks = blocks[copy(blocks, first):]
		first = c.phase
	}
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
	c := &b.cohort
	size, read := c.size, c.contexts+int64(c.size)
	before, depth := c.beat, int(c.beat-c.landed)
	c.steady.Take(c.glide(n))
	b.plans += int32(n)
	c.landed += int64(n)
	c.rotate(n % depth)
	beat := c.landed
	for p := c.oldest; p != nil; p = p.next {
		if beat++; beat > before {
			p.Beat, p.Last = beat, p.Last[:0]
			p.take(size, read+(beat-before-1)*int64(size))
		}
	}
	if c.last.Any(c.beat) {
		c.release(c.newest)
	}
}

// rotate makes n times the oldest beat in flight the latest.
func (c *cohort) rotate(n int) {
	for range n {
		p := c.oldest
		c.newest.next = p
		c.oldest, c.newest = p.next, p
		p.next = nil
	}
}

// glide counts n beats that all present members take part in, and returns the blocks that they begin.
func (c *cohort) glide(n int) (blocks int) {
	c.beat += int64(n)
	c.contexts += int64(n) * int64(c.size)
	turns, rest := n/len(c.phase), n%len(c.phase)
	blocks = turns * c.size // every member begins one in every turn
	for range rest {
		blocks += c.phase[c.begins]
		c.turn()
	}
	return blocks
}
