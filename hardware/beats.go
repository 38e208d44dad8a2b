package hardware

// A Pacer is a CostModel that also prices beats: steps of the same decodes that follow one another, so that each of them
// reads as many cached tokens more than the step before as there are decodes.
type Pacer interface {
	// Beats has b begin with s. It reports whether the model can do so; else each step has to be priced by itself.
	Beats(b *Beats, s *Step) bool
}

// Beats prices one beat after the other. They cost what Cost returns for each, to the last bit; but nothing has to be looked
// up that is the same for all of them.
type Beats struct {
	model    *Roofline
	decoding *decoding
	reads    reads
}

// Beats implements [Pacer].
func (r *Roofline) Beats(b *Beats, s *Step) bool {
	d := r.remembered(s)
	if d == nil || s.KVRead > 1<<52 { // above, a float64 does not count one by one
		return false
	}
	if d.state.Load() == unknown {
		r.learn(d, s)
	}
	if d.state.Load() != streams {
		return false
	}
	*b = Beats{model: r, decoding: d, reads: s.reads()}
	return true
}

// Next prices the next beat.
func (b *Beats) Next(c *Cost) {
	b.model.stream(c, b.decoding, b.reads)
	b.reads.kv += b.reads.decodes
}

var _ Pacer = (*Roofline)(nil)
