package hardware

// power is what a board draws: P = min(TDP, P0 + ef·FLOPs/t + eb·bytes/t), so that a piece of work of t seconds
// takes min(TDP·t, P0·t + ef·FLOPs + eb·bytes) joules. The cap is on energy only: the clocks that a chip gives up
// at its power limit are already in the fitted fractions of its peaks.
type power struct {
	limit, idle   float64 // W: TDP, P0
	flop, perByte float64 // J: ef for BF16, eb
}

func newPower(d Device) power {
	return power{d.TDP, d.Kernels.IdleWatts, d.Kernels.JoulesPerFLOP, d.Kernels.JoulesPerByte}
}

// joules returns the energy of t seconds in which flops BF16-equivalent operations are done and bytes moved.
func (p power) joules(t, flops, bytes float64) float64 {
	drawn := float64(p.idle*t) + float64(p.flop*flops) + float64(p.perByte*bytes)
	if limit := p.limit * t; drawn > limit { // min() spends more on NaN than all of this
		return limit
	}
	return drawn
}

// Energy of an operation relative to BF16, by the width of its operands: medians of board-power measurements on H200,
// B200 and GB200.
const energy8, energy4 = 0.55, 0.35
