package scheduler

// SRPT returns shortest remaining processing time first: a sequence gives its seat and its memory to one that is predicted
// to need fewer tokens than it still does. Preempted KV is computed again, or swapped, as the scheduler does it; that price
// is not weighed. Long answers starve while short ones keep coming.
//
// Sources: Schrage, "A Proof of the Optimality of the Shortest Remaining Processing Time Discipline", Operations Research
// 16(3), 1968; with predictions for LLMs: Shahout et al., "Don't Stop Me Now: Embedding Based Scheduling for LLMs" (TRAIL),
// ICLR 2025.
func SRPT() Order { return srpt{} }

type srpt struct{}

var _ Preemptor = srpt{}

// Before reports whether a is predicted to need fewer tokens than b, or as many and is older.
func (srpt) Before(a, b *Seq) bool {
	if x, y := a.remaining(), b.remaining(); x != y {
		return x < y
	}
	return older(a, b)
}

// Yields reports whether v still needs more tokens than s.
func (srpt) Yields(v, s *Seq) bool { return v.remaining() > s.remaining() }

// remaining returns the tokens that the answer is thought to lack: one at least, since it has not ended.
func (s *Seq) remaining() int32 { return max(s.predicted()-s.Out, 1) }
