package scheduler

import (
	"math"
	"slices"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// A cohort is the running sequences that decode in step. Each goes on by one token in every plan, so none needs to be
// touched: sums stand for all of them, and a member's own state follows from the beats since it joined. The cost of a
// plan is then that of what changes in it — an arrival, a chunk, a finish — whatever the size of the batch.
//
// The simple loop is batcher.extend; the cohort gives the same answers. A plan either takes a beat, with the whole
// cohort in it, or, when budget or memory are short and order begins to matter, the cohort disbands, everybody is named
// again and the simple loop decides. Whoever gets a token from a plan joins at its end.
type cohort struct {
	size     int
	beat     int64  // plans that it took part in
	landed   int64  // beats that are done
	contexts int64  // Σ Computed of the members
	phases   phases // who begins a block when
	oldest   int32  // of the beats in flight, the first of a list of plans; 0: there is none
	newest   int32  // and its end

	steady kvcache.Steady // nil: the cache wants to hear of every token, so there is no cohort
	last   sim.Wheel[Seq] // members by the beat that gives them the last token they may have
	until  int64          // nobody gets it before this beat
	rank   int64          // no member has a higher one
	loose  []*Seq         // the running that are not members, in their order
	gone   int            // no members any more, for their last token is in flight; unnamed all the same
}

// Unnamed reports whether s decodes without being named in plans. So it does to its last token, unless plans name it again.
func (s *Seq) Unnamed() bool { return s.unnamed }

// Final returns the beat that gives s, unnamed, the last token that it may have.
func (s *Seq) Final() int64 { return s.final }

// Rides reports whether s, unnamed, gets a token from plan p.
func (s *Seq) Rides(p *Plan) bool {
	return s.unnamed && p.beats && s.joined < p.Beat && p.Beat <= s.final
}

// muster makes a cohort possible, for a policy and a cache that allow one.
func (b *batcher) muster() {
	steady, ok := b.cache.(kvcache.Steady)
	if !ok || b.limits.Named || b.spec.on || b.stages > 1 || b.window.Keys > 0 || b.slider != nil {
		return
	}
	b.cohort.steady = steady
	b.cohort.phases = newPhases(int(b.blockSize))
}

// alone reports whether all who run are members, and there are some.
func (c *cohort) alone() bool { return c.size > 0 && len(c.loose) == 0 }

// advance is the running pass by way of the cohort. It reports false, having planned nothing, if the simple loop must
// decide; the cohort has then disbanded.
func (b *batcher) advance(p *Plan) bool {
	c := &b.cohort
	if c.steady == nil {
		return false
	}
	if c.size == 0 || !b.fits(c.phases.next()) || !b.ride(p) {
		b.disband()
		return false
	}
	for _, s := range c.loose {
		if n := b.due(s); n > 0 {
			if s.Computed+n > s.calm {
				b.room(s, n)
			}
			b.place(p, s, n)
		}
	}
	return true
}

// ride plans a beat: every member computes a token. It does nothing and returns false if budget or memory are too short.
func (b *batcher) ride(p *Plan) bool {
	c := &b.cohort
	if c.size > int(b.capacity) || !c.steady.Take(c.phases.next()) {
		return false
	}
	p.take(c.size, c.contexts+int64(c.size))
	p.beats = true
	b.budget -= int32(c.size)
	c.beat++
	c.contexts += int64(c.size)
	c.phases.turn(1)
	if c.last.Any(c.beat) {
		c.release(p)
	}
	p.Beat = c.beat
	if c.oldest == 0 {
		c.oldest = p.number
	} else {
		b.folder.plans[c.newest].next = p.number
	}
	c.newest = p.number
	return true
}

// fits reports whether budget and memory suffice for a beat that takes so many blocks and for all that the loose
// sequences are due, whatever the order in which they take them.
func (b *batcher) fits(blocks int) bool {
	c := &b.cohort
	left := b.capacity - int32(c.size)
	if left < 0 {
		return false
	}
	for _, s := range c.loose {
		want := b.due(s)
		if want > left {
			if s.Rank < c.rank {
				return false // members behind it would have to go without
			}
			want = left
		}
		if want <= 0 {
			continue
		}
		left -= want
		blocks += b.blocks(s.Computed+want) - b.blocks(s.Computed)
	}
	return blocks <= b.cache.Available()
}

// enlist ends a plan: who gets a token from it will decode in the next and joins the cohort; the rest of the running are
// loose.
func (b *batcher) enlist(p *Plan) {
	c := &b.cohort
	p.Beat = c.beat
	if c.steady == nil {
		return
	}
	joins := 0
	for i := range p.Work {
		w := &p.Work[i]
		if s := w.Seq; w.Samples && int64(s.Computed) <= s.lastPast() && c.steady.Plain(s.ID) {
			w.Joins = true
			c.join(s, s.Computed-b.floor(s.Computed))
			joins++
		}
	}
	if joins < len(p.Work) || len(c.loose) > 0 || p.Members == 0 {
		b.unbind(p)
	}
}

// unbind works out who is loose after a plan, and how long those just decode who have come with it. Where all of its rows
// have joined a beat and nobody was loose, nobody is.
func (b *batcher) unbind(p *Plan) {
	c := &b.cohort
	for _, s := range p.Admitted {
		if !s.unnamed {
			b.settle(s, s.Computed, math.MaxInt32)
		}
	}
	arrived := p.Admitted
	if p.Members == 0 {
		c.loose, arrived = c.loose[:0], b.running.list()
	} else if len(c.loose) > 0 {
		c.loose = slices.DeleteFunc(c.loose, (*Seq).Unnamed)
	}
	for _, s := range arrived {
		if !s.unnamed {
			c.loose = append(c.loose, s)
		}
	}
}

// join makes s a member, whose last block has so many tokens.
func (c *cohort) join(s *Seq, tokens int32) {
	s.unnamed, s.joined, s.slot = true, c.beat, c.phases.slot(tokens)
	s.final = c.beat + 1 + s.lastPast() - int64(s.Computed)
	if c.size == 0 || s.final < c.until {
		c.until = s.final
	}
	c.size++
	c.contexts += int64(s.Computed)
	c.phases.add(s.slot, 1)
	c.rank = max(c.rank, s.Rank)
	c.last.Hang(&s.peg, s, s.final)
}

// lastPast returns the tokens that are computed when the sequence computes the one before its last: the row on top of
// them yields the last token that it may have.
func (s *Seq) lastPast() int64 { return int64(s.Prompt) + int64(s.MaxTokens) - 2 }

// take makes a blank plan, or one that is a beat and nothing else, a beat in which so many members read so many tokens.
func (p *Plan) take(size int, read int64) {
	p.Members = size
	sumBeat(&p.Step, size, read)
}

// sumBeat sums up the rows of a beat in which so many members read so many tokens. All other sums of such a step are zero.
func sumBeat(s *hardware.Step, size int, read int64) {
	s.Tokens, s.Seqs, s.Decodes, s.Sampled, s.KVRead = size, size, size, size, read
}

// release lets go of those to whom p, the newest beat, gives the last token that they may have: they are members no longer.
func (c *cohort) release(p *Plan) {
	p.Last = c.last.Due(c.beat, p.Last)
	for _, s := range p.Last {
		c.discount(s)
	}
	c.gone += len(p.Last)
}

// discount takes a member out of the sums.
func (c *cohort) discount(s *Seq) {
	c.size--
	c.contexts -= int64(s.Computed) + c.beat - s.joined
	c.phases.add(s.slot, -1)
}

// part takes out of the cohort a member, or one that is gone: its state is its own again, and the beats in flight name it.
// The cache has yet to hear of its growth.
func (b *batcher) part(s *Seq) {
	c := &b.cohort
	if s.peg.Hung() {
		c.last.Unhang(&s.peg)
		c.discount(s)
	} else {
		c.gone--
	}
	newest := min(c.beat, s.final)
	landed := max(min(c.landed, newest), s.joined)
	if landed < newest {
		b.callBack(s, int32(newest-landed))
	}
	s.unnamed = false
	s.Computed += int32(newest - s.joined)
	s.Out += int32(landed - s.joined)
}

// single makes a member of the cohort, or one that is gone, a sequence like those that were never in it.
func (b *batcher) single(s *Seq) {
	b.part(s)
	b.cohort.steady.Settle(s.ID, int(s.Computed), s.content())
}

// content returns how many of the computed tokens of s have content. What is pending has none yet.
func (s *Seq) content() int { return int(s.Computed - s.Pending) }

// callBack names s, which is about to leave the cohort, in the beats in flight that give it so many tokens.
func (b *batcher) callBack(s *Seq, tokens int32) {
	for n := b.cohort.oldest; n != 0; n = b.folder.plans[n].next {
		if p := b.folder.plans[n]; s.Rides(p) {
			p.name(s, s.Computed+int32(p.Beat-s.joined)-1)
		}
	}
	s.InFlight += tokens
	if b.async {
		s.Pending += tokens
	}
}

// name gives a member a row of its own in a plan in flight, at its place in the batch.
func (p *Plan) name(s *Seq, past int32) {
	p.Members--
	i := len(p.Work)
	for i > 0 && p.Work[i-1].Seq.Rank > s.Rank {
		i--
	}
	p.Work = slices.Insert(p.Work, i, Work{Seq: s, Tokens: 1, Past: past, Decode: true, Samples: true})
}

// disband takes everybody out of the cohort. The plan that is being made will tell who is loose.
func (b *batcher) disband() {
	c := &b.cohort
	if c.size+c.gone == 0 {
		return
	}
	for _, s := range b.running.list() {
		if s.unnamed {
			b.single(s)
			b.resume(s)
		}
	}
	c.rank = -1
}

// resume works out how long s, which has parted from the cohort and runs on, just decodes; see settle.
func (b *batcher) resume(s *Seq) {
	s.full = b.nextFull(s.Computed - s.Pending)
	s.calm = min(b.floor(s.Computed+b.blockSize-1), s.full-1, s.Prompt+min(s.MaxTokens, b.maxLen-s.Prompt)-1)
}

// land notes that a beat is done: every member that was in it knows one token more.
func (c *cohort) land(p *Plan) {
	if c.oldest == p.number {
		c.oldest, c.landed = p.next, p.Beat
	}
}

// leave forgets a sequence that stops running.
func (c *cohort) leave(s *Seq) {
	if i := slices.Index(c.loose, s); i >= 0 {
		c.loose = slices.Delete(c.loose, i, i+1)
	}
}
