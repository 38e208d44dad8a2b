package scheduler

// SJF returns shortest job first: who is predicted to get the fewest tokens is admitted next, and keeps its seat to the
// end. Waiting times are short on average; a long answer waits for as long as short ones keep coming.
//
// Source: Fu et al., "Efficient LLM Scheduling by Learning to Rank", NeurIPS 2024, which orders by predicted output length.
func SJF() Order { return sjf{} }

type sjf struct{}

// Before reports whether a's answer is predicted to be shorter than b's, or as short and a is older.
func (sjf) Before(a, b *Seq) bool {
	if x, y := a.predicted(), b.predicted(); x != y {
		return x < y
	}
	return older(a, b)
}

// predicted returns the length that the answer is thought to have: without a prediction, the most that it may.
func (s *Seq) predicted() int32 {
	if s.Guess > 0 {
		return s.Guess
	}
	return s.MaxTokens
}
