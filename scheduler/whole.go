package scheduler

import "fmt"

// Policies that would rather compute a prompt in one piece, and how long one may be.

// cut returns how many of the n tokens that a waiting sequence lacks go into this step: all of them or, if prompts are
// split, what is left of the budget. One that has outgrown the step and is not split gets a step for itself: false, as long
// as there is somebody else in it.
func (b *batcher) cut(p *Plan, n int32, split bool) (int32, bool) {
	if n <= b.budget {
		return n, true
	}
	if split {
		return b.budget, true
	}
	return n, p.Empty()
}

// tooLongForAStep says why no step can hold the prompt of s in one piece, or "".
func (b *batcher) tooLongForAStep(s *Seq) string {
	if s.Prompt <= b.capacity {
		return ""
	}
	return fmt.Sprintf("prompt longer than a step, and prompts are not split: %d tokens are longer than a step of %d", s.Prompt, b.capacity)
}
