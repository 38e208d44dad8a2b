package scheduler

// takesSeats reports whether the order may take the place of a running sequence: not where everything is reserved for it,
// and it is promised to stay.
func (b *batcher) takesSeats() bool { return b.preemptor != nil && !b.reserve.total() }

// oust takes the place of a running sequence for s, the first of those who wait, which lacks a seat or memory: of all that
// give way to it, that of the last. It reports whether it has. Nobody is ousted in vain, as far as can be told, nor before
// it has got a token since it was last admitted: so whatever an order prefers, everybody comes to an end.
func (b *batcher) oust(p *Plan, s *Seq) bool {
	if !b.takesSeats() {
		return false
	}
	at, gain := -1, 0
	running := b.running.list()
	for i, v := range running {
		if v.Known() <= v.fill || !b.preemptor.Yields(v, s) {
			continue
		}
		gain += b.blocks(v.Computed)
		if at < 0 || b.preemptor.Before(running[at], v) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	known := int(s.Known())
	lacks := b.cache.Need(b.cache.Match(s.Tokens, known), known) + b.spare - b.cache.Available()
	if full := b.running.n >= b.limits.MaxNumSeqs; lacks > gain || lacks <= 0 && !full {
		return false // it would not help, or it is something else that s lacks
	}
	v := running[at]
	b.running.remove(v)
	b.withdraw(p, v)
	b.preempt(p, v)
	return true
}
