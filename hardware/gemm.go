package hardware

// A matmul is a linear layer: m tokens × k inputs by k × n weights. One multiply-add is 2 FLOPs, so it does 2mnk of
// them and moves w·nk bytes of weights, a·mk of inputs and 2·mn of outputs.
type matmul struct {
	n, k float64
	by   arithmetic
}

// price is the smoothed roofline
//
//	Tc = 2mnk / (F ec)     Tm = (w·nk + a·mk + 2·mn) / (B em)     t = t0 + (Tc^p + Tm^p)^(1/p)
func (g matmul) price(m float64) price {
	if m <= 0 || g.n <= 0 || g.k <= 0 {
		return price{}
	}
	if u := g.by.first; u != nil && m >= u.rows {
		return u.price(g, m)
	}
	flops := 2 * m * g.n * g.k
	bytes := g.by.weight*g.n*g.k + g.by.activation*m*g.k + 2*m*g.n
	return g.by.price(flops, bytes, flops/(g.by.peak*g.by.ramp.Compute), bytes/(g.by.bandwidth*g.by.ramp.Memory))
}

// price joins the time for arithmetic, tc, and for memory, tm, of one kernel.
func (a arithmetic) price(flops, bytes, tc, tm float64) price {
	whole, computing := smooth(tc, tm, a.ramp.P)
	return price{
		compute: whole * computing, weights: whole * (1 - computing), overhead: a.ramp.T0,
		flops: flops, bytes: bytes,
		joules: a.power.joules(whole+a.ramp.T0, flops*a.flopEnergy, bytes),
	}
}
