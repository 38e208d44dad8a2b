package reference

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// drafts returns how many drafts every sequence gets after a step of so many.
func (t *twin) drafts(seqs int) int {
	s := t.limits.Speculation
	for i, tier := range s.ByBatch {
		if seqs <= tier.Seqs || i == len(s.ByBatch)-1 {
			return tier.Drafts
		}
	}
	return s.Drafts
}

// ahead returns the tokens behind the newest one of s that its drafter writes into.
func (t *twin) ahead() int {
	if t.limits.Speculation.Drafts == 0 {
		return 0
	}
	return t.limits.Speculation.Lookahead
}

// left returns how many tokens the next sequence of the step may compute: what the budget has left, and what the capacity
// has left beside a row of its drafter.
func (t *twin) left() int { return min(t.tokens, t.rows-t.slots()) }

// slots returns the rows that the drafter adds to the step for each sequence.
func (t *twin) slots() int {
	if t.limits.Speculation.Drafts == 0 {
		return 0
	}
	return t.limits.Speculation.Slots
}

// spend takes the tokens of one sequence off budget and capacity.
func (t *twin) spend(n int) {
	t.tokens -= n
	t.rows -= n + t.slots()
}

// restore gives back what a sequence that is taken out of the step had spent.
func (t *twin) restore(n int) {
	if n > 0 {
		t.tokens += n
		t.rows += n + t.slots()
	}
}

// match looks up what s knows. A drafter that works on the target's states lacks those of the last block that is found.
func (t *twin) match(s *scheduler.Seq) kvcache.Hit {
	known := int(s.Known())
	hit := t.pool.Match(s.Tokens, known)
	if t.limits.Speculation.Drafts > 0 && t.limits.Speculation.DropLast && hit.Tokens > 0 {
		queried := hit.Queried
		hit = t.pool.Match(s.Tokens, hit.Tokens)
		hit.Queried = queried
	}
	return hit
}

// verdict takes out of s what a row has computed for drafts that were wrong.
func (t *twin) verdict(w scheduler.Work, stale bool) {
	s := w.Seq
	s.Out += w.Accepted
	if stale {
		return
	}
	wrong := w.Drafts - w.Accepted
	s.Computed -= wrong
	if t.limits.AsyncScheduling {
		s.Pending -= wrong      // they never come
		s.Pending -= w.Accepted // they have come
	}
}
