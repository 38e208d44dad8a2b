package scheduler

import "math"

// A class of the running. vLLM's V1 scheduler knows none; others serve one class before the other.
type class bool

const (
	decodes class = true  // they have caught up with what they knew at their admission
	prompts class = false // part of their prompt, or of what has to be computed again, is still to come
)

func classOf(s *Seq) class { return class(s.Computed >= s.fill) }

// serve is extend for one class of the running.
func (b *batcher) serve(p *Plan, c class) {
	running := b.running.list()
	for i := 0; i < len(running) && b.budget > 0; i++ {
		s := running[i]
		if classOf(s) != c {
			continue
		}
		n := b.due(s)
		if n <= 0 {
			continue
		}
		if s.Computed+n > s.calm && !b.room(s, n) {
			var ok bool
			if i, ok = b.makeRoom(p, i, n); !ok {
				return
			}
			running = b.running.list()
		}
		b.place(p, s, n)
	}
}

// decodeAll gives every decode its token, whatever the budget, and leaves to prompts what they have left of it.
func (b *batcher) decodeAll(p *Plan) {
	b.budget = math.MaxInt32
	b.serve(p, decodes)
	b.budget = max(b.capacity-(math.MaxInt32-b.budget), 0)
}
