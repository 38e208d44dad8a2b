package scheduler

import "github.com/servesim/servesim/kvcache"

// Speculation says how many tokens a drafter guesses for each sequence that decodes. The guesses made at the end of one
// step are scheduled in the next, behind the sequence's newest token: a decode takes 1+K tokens of the budget, and as many
// as were right count. Nobody drafts for a part of a prompt.
type Speculation struct {
	Drafts    int    // guesses per sequence and step, K; 0: none
	Lookahead int    // slots beyond a step's own tokens that the drafter writes into
	Slots     int    // rows that the drafter adds to a step's capacity for each sequence in it: 1 with a model of its own
	ByBatch   []Tier // K by the size of the batch, ascending; none: always Drafts
	DropLast  bool   // the last block that a prompt hits is computed again, for the states that the drafter needs (EAGLE, MTP)
}

// A Tier is how many drafts a sequence gets after a step of at most so many sequences. The last one holds for all larger
// ones, too.
type Tier struct{ Seqs, Drafts int }

// after returns how many drafts each sequence has after a step of so many sequences.
func (s *Speculation) after(seqs int) int32 {
	for i, t := range s.ByBatch {
		if seqs <= t.Seqs || i == len(s.ByBatch)-1 {
			return int32(t.Drafts)
		}
	}
	return int32(s.Drafts)
}

// speculation is the drafts of a batcher. Its zero value has none.
type speculation struct {
	Speculation
	on  bool
	now int32 // drafts that every decode has: those made at the end of the step before
	// slack is what the step's capacity has left beyond its budget for the drafter's rows, those of one more sequence
	// taken off; below zero the budget bears them.
	slack int32
}

func newSpeculation(s Speculation) speculation {
	if s.Drafts <= 0 {
		return speculation{}
	}
	return speculation{Speculation: s, on: true, now: s.after(0)}
}

// drafts returns how many guesses behind the newest token of s wait to be verified. Under asynchronous scheduling they
// are not there yet, and stand for those to come.
func (b *batcher) drafts(s *Seq) int32 {
	if !b.spec.on || s.Computed < s.fill {
		return 0
	}
	return b.spec.now
}

// open makes room for the drafter's rows in a new step.
func (b *batcher) open() {
	if b.spec.Slots > 0 {
		b.spec.slack = bound(b.limits.MaxNumBatchedTokens) - b.capacity - int32(b.spec.Slots)
		b.budget += min(0, b.spec.slack)
	}
}

// spend takes n tokens of one sequence off the budget, and the drafter's rows with them; with negative n, gives them back.
func (b *batcher) spend(n int32) {
	b.budget -= n
	rows := int32(b.spec.Slots)
	if rows == 0 {
		return
	}
	if n < 0 {
		rows = -rows
	}
	before := min(0, b.spec.slack)
	b.spec.slack -= rows
	b.budget += min(0, b.spec.slack) - before
}

// speculate counts the drafts of a new row of a plan.
func (b *batcher) speculate(w *Work) {
	s := w.Seq
	w.Drafts, w.Accepted = 0, 0
	if !w.Samples {
		return
	}
	w.Drafts = w.Past + w.Tokens - s.Prompt - s.Out - s.Pending
	if b.async {
		s.Pending += w.Drafts
	}
}

// verdict takes the drafts of a row that were wrong back out of what its sequence has computed. A sequence that has lost
// its memory in between has nothing to take back.
func (b *batcher) verdict(w *Work, stale bool) {
	s := w.Seq
	s.Out += w.Accepted
	if stale {
		return
	}
	s.Computed -= w.Drafts - w.Accepted
	if b.async {
		s.Pending -= w.Drafts
	}
}

// lookahead returns how many tokens a sequence needs room for that is to hold so many: as many more as its drafter
// writes.
func (b *batcher) lookahead(tokens int32) int32 { return min(tokens+int32(b.spec.Lookahead), b.maxLen) }

// dropLast returns a hit of s without its last block.
func (c *chunked) dropLast(s *Seq, hit kvcache.Hit) kvcache.Hit {
	if hit.Tokens == 0 {
		return hit
	}
	less := c.cache.Match(s.Tokens, hit.Tokens) // which leaves a token, and so a block, to compute
	less.Queried = hit.Queried
	return less
}
