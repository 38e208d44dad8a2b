package scheduler

import (
	"math"
	"slices"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
)

// extend is the running pass: in the order of their admission, sequences get the tokens they are due, as long as the
// budget lasts. One that finds no memory takes it from the order's victim, in the end from itself; then the pass stops.
// A sequence that is due nothing is skipped and stops nobody.
func (b *batcher) extend(p *Plan) {
	running := b.running.list()
	for i := 0; i < len(running) && b.budget > 0; i++ {
		s := running[i]
		if past := s.Computed; past < s.calm && past+1 == s.Prompt+s.Out+s.Pending && b.plans >= s.turn && !b.touch {
			b.decode(p, s)
			continue
		}
		n := b.due(s)
		if n <= 0 {
			continue
		}
		if (s.Computed+n > s.calm || b.tight()) && !b.room(s, n) {
			var ok bool
			if i, ok = b.makeRoom(p, i, n); !ok {
				return
			}
			running = b.running.list()
		}
		b.place(p, s, n)
	}
}

// tight reports whether a policy that wants a free block at hand for every decode has none.
func (b *batcher) tight() bool { return b.touch && b.cache.Available() == 0 }

// room takes the memory for n more tokens of s, and reports whether there was enough.
func (b *batcher) room(s *Seq, n int32) bool {
	next := b.slide(s)
	if b.tight() && b.running.n > 1 {
		return false
	}
	tokens := b.lookahead(s.Computed + n)
	if !b.cache.Grow(s.ID, int(tokens), int(s.Known())) {
		return false
	}
	b.settle(s, tokens, next)
	return true
}

// slide gives back the blocks that have left the windows of s, and returns when there will be more. What is in flight
// may still read them.
func (b *batcher) slide(s *Seq) (next int32) {
	if b.slider == nil {
		return math.MaxInt32
	}
	return int32(min(b.slider.Slide(s.ID, int(s.Computed-s.InFlight)), math.MaxInt32))
}

// settle works out how long s, which now has room for so many tokens, just decodes: until they are exceeded, or
// another block fills, or one leaves a window; and not beyond the token whose output may be its last. Before it has
// caught up with what it knew at its admission it does not decode at all.
func (b *batcher) settle(s *Seq, tokens, next int32) {
	room := b.floor(tokens + b.blockSize - 1)
	s.full = b.nextFull(min(tokens, s.Known()))
	s.calm = min(room, s.full-1, next, s.Prompt+min(s.MaxTokens, b.maxLen-s.Prompt)-1)
	if tokens < s.fill || b.spec.on {
		s.calm = 0
	}
}

// makeRoom preempts until the i-th running sequence has room for n more tokens, or has itself been preempted. It
// returns where the sequence stands now.
func (b *batcher) makeRoom(p *Plan, i int, n int32) (int, bool) {
	s := b.running.list()[i]
	for {
		running := b.running.list()
		at := b.order.victim(running)
		v := running[at]
		b.running.remove(v)
		b.withdraw(p, v)
		if at < i {
			i--
		}
		b.preempt(p, v)
		if v == s {
			return i, false
		}
		if b.room(s, n) {
			return i, true
		}
	}
}

// withdraw takes a victim out of the plan, if it is in, and gives its tokens back to the budget.
func (b *batcher) withdraw(p *Plan, v *Seq) {
	i := slices.IndexFunc(p.Work, func(w Work) bool { return w.Seq == v })
	if i < 0 {
		return
	}
	w := p.Work[i]
	b.spend(-w.Tokens)
	v.InFlight -= w.Tokens
	v.Computed -= w.Tokens
	if !w.Decode && v.Preemptions > 0 {
		b.counters.RecomputedTokens -= int64(w.Tokens)
	}
	p.Work = slices.Delete(p.Work, i, i+1)
	p.Step = b.sum(p.Work)
}

// sum adds up the rows of a step from nothing.
func (b *batcher) sum(work []Work) (s hardware.Step) {
	for i := range work {
		b.addTo(&s, &work[i])
	}
	return s
}

// preempt takes the memory of a sequence that has just left the running. Its tokens are kept, and so are those still in
// flight, which it must wait for. Its KV is swapped out, or will have to be computed again, as far as the prefix cache has
// lost it.
func (b *batcher) preempt(p *Plan, s *Seq) {
	b.cache.Release(s.ID)
	s.Pending, s.Stale = 0, s.InFlight
	s.Preemptions++
	b.counters.Preemptions++
	p.Preempted = append(p.Preempted, s)
	if b.swapOut(s) {
		return
	}
	s.State, s.Computed = Preempted, 0
	if b.toBack {
		b.waiting.push(s)
		return
	}
	b.waiting.pushFront(s)
}

// A door is a policy's rule for who comes in: it puts the head of the line into the plan, with the memory that it needs, or
// does nothing and returns false.
type door interface {
	let(p *Plan, s *Seq) bool
}

// admit is the admission pass: the door is asked to let in the head of the line, until it says no. Nobody overtakes the
// head, unless it still has to wait for steps from before its preemption, or for its KV.
func (b *batcher) admit(p *Plan, d door) {
	for b.someoneWaits() && b.budget > 0 && (b.running.n < b.limits.MaxNumSeqs || b.takesSeats()) {
		q := &b.waiting
		if b.skipped.n > 0 {
			q = b.next()
		}
		s := q.head()
		if s.Stale > 0 || s.State == Loading {
			b.aside = append(b.aside, q.pop())
			continue
		}
		in := b.running.n < b.limits.MaxNumSeqs && d.let(p, s)
		if !in && !b.force(p, s, d) {
			break
		}
		q.remove(s) // its place may have changed: it has been charged for
		if s.State == Loading {
			b.aside = append(b.aside, s)
			continue
		}
		b.running.add(s)
	}
	if len(b.aside) > 0 {
		b.skip()
	}
}

// force lets s in at the cost of others, as far as the order allows that.
func (b *batcher) force(p *Plan, s *Seq, d door) bool {
	for b.oust(p, s) {
		if d.let(p, s) {
			return true
		}
	}
	return false
}

// skip puts those who had to be passed over at the head of the line that is looked at first next time.
func (b *batcher) skip() {
	for _, s := range slices.Backward(b.aside) {
		b.skipped.pushFront(s)
	}
	b.aside = b.aside[:0]
}

// next returns the line whose head is looked at next.
func (b *batcher) next() *queue {
	if b.skipped.n > 0 && (b.waiting.n == 0 || b.order.skippedFirst(b.skipped.head(), b.waiting.head())) {
		return &b.skipped
	}
	return &b.waiting
}

// seat gives a waiting sequence its hit and the memory for n more tokens, leaving `spare` blocks, and puts them into
// the plan; or it does nothing and returns false.
func (b *batcher) seat(p *Plan, s *Seq, hit kvcache.Hit, n int32, spare int) bool {
	known := s.Known()
	tokens := b.lookahead(int32(hit.Tokens) + n)
	claim := kvcache.Claim{Tokens: int(tokens), Known: int(min(tokens, known)), Spare: spare}
	if b.grip != chunkOnly {
		claim.Tokens = int(max(tokens, b.whole(s)))
	}
	if !b.cache.Admit(s.ID, s.Tokens, hit, claim) {
		return false
	}
	s.State = Running
	s.Computed, s.fill = int32(hit.Tokens), known
	if s.Preemptions == 0 {
		b.found(s, hit)
	}
	if b.cohort.steady != nil {
		s.full = math.MaxInt32 // it joins, or is settled, when the plan is complete
	} else {
		b.settle(s, tokens, b.slide(s))
	}
	b.place(p, s, n)
	p.Admitted = append(p.Admitted, s)
	return true
}

// found counts what the prefix cache had of a sequence at its first admission.
func (b *batcher) found(s *Seq, hit kvcache.Hit) {
	s.Hit = int32(hit.Tokens)
	b.counters.PrefixQueries += int64(hit.Queried)
	b.counters.PrefixHits += int64(hit.Tokens)
	if b.tier != nil {
		b.counters.HostQueries += int64(hit.Queried - hit.Tokens)
	}
}
