package hardware

import (
	"errors"
	"fmt"
	"math"
)

// A number is a fitted parameter of a device with the name that errors give it.
type number struct {
	name  string
	value float64
}

// checkKernels reports the kernel numbers that d's steps need and that are missing, not positive or not finite: a
// division by them would make time stand still or run backwards.
func (d Deployment) checkKernels() error {
	var faults []error
	for _, n := range d.fractions() {
		if !(n.value > 0) || math.IsInf(n.value, 0) {
			faults = append(faults, fmt.Errorf("%s: %s must be positive and finite, got %g", d.Device.label(), n.name, n.value))
		}
	}
	for _, n := range d.Device.Kernels.spans() {
		if !(n.value >= 0) || math.IsInf(n.value, 0) {
			faults = append(faults, fmt.Errorf("%s: %s must be finite and not negative, got %g", d.Device.label(), n.name, n.value))
		}
	}
	return errors.Join(faults...)
}

// fractions lists what d divides by.
func (d Deployment) fractions() []number {
	k := d.Device.Kernels
	list := append(k.GEMM.fractions("GEMM"),
		number{"decode attention's fraction of bandwidth", k.DecodeMemory},
		number{"prefill attention's fraction of the peak", k.PrefillCompute},
		number{"element-wise kernels' fraction of bandwidth", k.ElementMemory},
		number{"element-wise kernels' t0", k.ElementT0})
	if d.KV == FP8 {
		list = append(list, number{"decode attention's fraction of bandwidth with an FP8 cache", k.DecodeMemoryFP8})
	}
	if (d.Weights == FP8 || d.Weights == INT8) && d.Device.FP8 > 0 {
		list = append(list, k.GEMMFP8.fractions("FP8 GEMM")...)
	}
	if d.Model.MoE.Experts > 0 {
		list = append(list, k.MoE.fractions("MoE")...)
	}
	if d.expertGroup() == 1 {
		return list
	}
	if len(k.Ring) == 0 {
		return append(list,
			number{"one-shot all-reduce's fraction of the link", k.OneShotFraction},
			number{"two-shot all-reduce's fraction of the link", k.TwoShotFraction})
	}
	for _, p := range k.Ring {
		list = append(list, number{fmt.Sprintf("bandwidth of the ring of %d", p.GPUs), p.Bandwidth})
	}
	return list
}

func (r Ramp) fractions(of string) []number {
	return []number{
		{of + "'s fraction of the peak", r.Compute}, {of + "'s fraction of bandwidth", r.Memory}, {of + "'s exponent p", r.P},
	}
}

// spans lists times and energies, which may be zero.
func (k Kernels) spans() []number {
	list := []number{
		{"GEMM t0", k.GEMM.T0},
		{"FP8 GEMM t0", k.GEMMFP8.T0},
		{"MoE t0", k.MoE.T0},
		{"decode attention t0", k.DecodeT0},
		{"decode attention tau", k.DecodeTau},
		{"prefill attention t0", k.PrefillT0},
		{"prefill attention L0", k.PrefillL0},
		{"factor of heads of 64", k.PrefillHead64},
		{"one-shot all-reduce's alpha", k.OneShotAlpha},
		{"two-shot all-reduce's alpha", k.TwoShotAlpha},
		{"two-shot all-reduce's alpha per GPU", k.TwoShotPerGPU},
		{"idle watts", k.IdleWatts},
		{"joules per FLOP", k.JoulesPerFLOP},
		{"joules per byte", k.JoulesPerByte},
	}
	for _, p := range k.Ring {
		list = append(list, number{fmt.Sprintf("alpha of the ring of %d", p.GPUs), p.Alpha})
	}
	return list
}
