package hardware

// arithmetic is how a device multiplies activations by weights of one number format.
type arithmetic struct {
	weight, activation float64 // bytes per element
	peak               float64 // FLOP/s
	bandwidth          float64 // bytes/s
	ramp               Ramp
	flopEnergy         float64 // relative to BF16
	power              power
	first              *widening // where a large batch is not multiplied as stored
}

// fp4Ramp is fitted on the NVFP4 GEMMs of vLLM on B200; no other card with FP4 arithmetic has been measured.
var fp4Ramp = Ramp{Compute: 0.588, Memory: 0.709, T0: 5.7e-6, P: 1.25}

// arithmetic returns the rates of a linear layer of d whose weights are stored in w. Activations are as narrow as the
// arithmetic; quantising them is fused into the kernels before.
func (d Device) arithmetic(w Dtype) arithmetic {
	k := d.Kernels
	a := arithmetic{
		weight: w.Bytes(), activation: 2, peak: d.BF16, bandwidth: d.Bandwidth,
		ramp: k.GEMM, flopEnergy: 1, power: newPower(d),
	}
	switch {
	case w.WeightOnlyOn(d):
		a.ramp = k.WeightOnly(d.Arch)
	case w == FP8:
		a.activation, a.flopEnergy = 1, energy8
		a.peak, a.ramp = d.FP8, k.GEMMFP8
	case w == INT8:
		a.activation, a.flopEnergy = 1, energy8
		a.peak = d.INT8
		if d.FP8 > 0 { // INT8 kernels are those of FP8 with other operands; Ampere's are those of BF16
			a.ramp = k.GEMMFP8
		}
	case w == MXFP4 || w == NVFP4:
		a.activation, a.flopEnergy = w.Bytes(), energy4
		a.peak, a.ramp = d.FP4, fp4Ramp
	}
	return a
}

// outsideExperts returns the format of everything but the routed experts of a checkpoint stored in w: MXFP4
// checkpoints keep the rest in 16 bits. Embedding, LM head, router and norms are 16 bits wide in every checkpoint.
func (w Dtype) outsideExperts() Dtype {
	if w == MXFP4 {
		return BF16
	}
	return w
}
