package hardware

// elementwise prices the kernels that only move activations: t = t0 + bytes/(B em) each.
type elementwise struct {
	rate  float64 // bytes/s that they reach
	t0    float64 // seconds per kernel
	power power
}

func newElementwise(d Device) elementwise {
	return elementwise{d.Bandwidth * d.Kernels.ElementMemory, d.Kernels.ElementT0, newPower(d)}
}

// price returns the price of the given number of kernels, which together move bytes.
func (e elementwise) price(kernels, bytes float64) price {
	p := price{weights: bytes / e.rate, overhead: kernels * e.t0, bytes: bytes}
	p.joules = e.power.joules(p.weights+p.overhead, 0, bytes)
	return p
}

// Bytes per element: a fused residual add and norm reads two tensors and writes two, a norm alone one and one; RoPE reads Q, K and
// V and writes them back, K and V into the cache; SiLU × up reads two and writes one.
const (
	addNormBytes = 8
	normBytes    = 4
	ropeBytes    = 4
	gateBytes    = 6
	embedBytes   = 4
	// Sampling passes over the FP32 logits about three times: temperature, softmax, top-p.
	logitPasses, logitBytes = 3, 4
)
