package hardware

// A widening is how the kernels that came with AWQ and GPTQ multiply: from so many rows on they write the whole matrix out
// in 16 bits and multiply that, which costs every step
//
//	t0 + (w + 2)·nk / (B em)
//
// whatever its size; with fewer rows they widen on the way, far from the peak. vLLM had nothing else before Marlin, in 2024,
// and `--quantization awq` and `gptq` still force them. Routed experts have kernels of their own.
type widening struct {
	rows     float64 // with so many, the matrix is widened first
	write    elementwise
	wide     arithmetic // of 16-bit weights
	per      float64    // bytes that widening moves, per weight
	onTheWay Ramp
}

// From so many rows on the matrix is widened first: MAX_Q_GEMM_ROWS of ExLlama's kernel, the heuristic of vLLM's AWQ.
const (
	gptqRows = 51
	awqRows  = 256
)

// What the kernels reach of what Marlin does of the peak when they widen on the way. AWQ's is chosen so that Llama-2-13B on
// A100 keeps two thirds of its tokens per second with 128 sequences, as reported (AutoAWQ #235; there and in #106, half to
// .57 with 256). ExLlama's does without tensor cores, which leaves a quarter of the peak of an A100; a little less, .15 of it, is a guess.
const (
	awqOnTheWay  = 0.40
	gptqOnTheWay = 0.29
)

// unfused puts the kernels of w's own format into a.
func (d Device) unfused(a arithmetic, w Dtype) arithmetic {
	u := widening{write: newElementwise(d), wide: d.arithmetic(BF16), per: w.Bytes() + 2, onTheWay: a.ramp}
	switch w {
	case AWQ:
		u.rows = awqRows
		u.onTheWay.Compute *= awqOnTheWay
	case GPTQ:
		u.rows = gptqRows
		u.onTheWay.Compute *= gptqOnTheWay
	default:
		return a
	}
	a.ramp, a.first = u.onTheWay, &u
	return a
}

// price is that of m rows of g.
func (u *widening) price(g matmul, m float64) price {
	p := matmul{g.n, g.k, u.wide}.price(m)
	p.add(1, u.write.price(1, u.per*g.n*g.k))
	return p
}

// linear returns the rates of d's linear layers.
func (d Deployment) linear() arithmetic {
	w := d.Weights.outsideExperts()
	a := d.Device.arithmetic(w)
	if d.Unfused {
		a = d.Device.unfused(a, w)
	}
	return a
}
