package hardware

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// derive guesses the kernels of a card that nobody has measured from the nearest measured card of its generation:
// fractions of bandwidth, launch times and energies are those of the sibling, and so are fractions of the
// peak rate, unless the card has fewer watts per FLOP/s. Then its clock drops under load; dynamic power
// grows faster than the clock (voltage follows it), and the square root of the watts lost is what is left between the
// proportional and the cubic law. It agrees within a tenth with the derated cards of the table.
func derive(d Device) (Kernels, error) {
	sibling, ok := nearest(d, generationOf(d.Arch))
	if !ok {
		return Kernels{}, noRule(d)
	}
	k := after(sibling, d)
	k.Source = sibling.Name + ", the nearest measured card of its generation"
	if fitOf(sibling.Name, Newest).status != Measured {
		k.Source = sibling.Name + ", the nearest card of its generation, itself assumed"
	}
	return k, nil
}

// deriveFromItself is derive for a card whose numbers are not the table's: where the table has the card, nothing is nearer.
func deriveFromItself(d Device) (Kernels, error) {
	i := slices.IndexFunc(datasheets, func(c Device) bool { return c.Name == d.Name && generationOf(c.Arch) == generationOf(d.Arch) })
	if i < 0 || fitOf(d.Name, Newest) == nil {
		return derive(d)
	}
	k := after(datasheets[i], d)
	k.Source = d.Name + " as sold, with other numbers"
	return k, nil
}

// after returns the kernels of a card that takes after its sibling, which has a row of its own.
func after(sibling, d Device) Kernels {
	k := fitOf(sibling.Name, Newest).kernels
	k.Errors = KernelErrors{}
	if starved := (d.TDP / d.BF16) / (sibling.TDP / sibling.BF16); starved < 1 {
		f := math.Sqrt(starved)
		k.GEMM.Compute *= f
		k.GEMMFP8.Compute *= f
		k.MoE.Compute *= f
		k.PrefillCompute *= f
	}
	if d.Link.Bandwidth > 0 {
		k.Ring = nil
	} else if sibling.Link.Bandwidth > 0 {
		k.OneShotAlpha, k.OneShotFraction, k.TwoShotAlpha, k.TwoShotFraction, k.TwoShotPerGPU = 10*us, 0.3, 20*us, 0.3, 0
	}
	return complete(k, d)
}

// generationOf tells which architectures lend each other kernels.
func generationOf(arch string) string {
	switch arch {
	case "Blackwell Ultra":
		return "Blackwell" // the same multiprocessors, more FP4 and memory
	case "CDNA4":
		return "CDNA3" // the nearest that anything is known of
	}
	return arch
}

// nearest returns the measured card of a generation (of any, when it is empty) that is closest to d; where none is
// measured, the closest with an assumed row.
func nearest(d Device, generation string) (Device, bool) {
	near := neighbours(d, func(f fit, c Device) bool {
		return f.status == Measured && generationOf(c.Arch) == generation
	})
	if len(near) == 0 {
		near = neighbours(d, func(_ fit, c Device) bool { return generationOf(c.Arch) == generation })
	}
	if len(near) == 0 {
		return Device{}, false
	}
	return near[0], true
}

// neighbours returns the cards with a row of newest kernels that keep accepts, nearest first. The distance is the sum of
// the logarithms by which peak rate, bandwidth and power differ.
func neighbours(d Device, keep func(fit, Device) bool) []Device {
	var near []Device
	for _, c := range datasheets {
		if f := fitOf(c.Name, Newest); f != nil && c.Name != d.Name && keep(*f, c) {
			near = append(near, c)
		}
	}
	apart := func(a, b float64) float64 {
		if !(a > 0 && b > 0) {
			return 0
		}
		return math.Abs(math.Log(a / b))
	}
	distance := func(c Device) float64 {
		return apart(c.BF16, d.BF16) + apart(c.Bandwidth, d.Bandwidth) + apart(c.TDP, d.TDP)
	}
	slices.SortStableFunc(near, func(a, b Device) int { return cmp.Compare(distance(a), distance(b)) })
	return near
}

// noRule is the refusal of a device whose kernels are unknown.
func noRule(d Device) error {
	near := neighbours(d, func(fit, Device) bool { return true })
	names := make([]string, 0, 3)
	for _, c := range near[:min(3, len(near))] {
		names = append(names, c.Name)
	}
	return fmt.Errorf("%s: no kernel parameters are known for %s and no rule derives them; the nearest supported are: %s",
		d.label(), cmp.Or(d.Arch, "an unnamed architecture"), strings.Join(names, ", "))
}

// overlay puts the kernels that an older generation was measured for over those of the newest.
func overlay(now, old Kernels) Kernels {
	k := now
	k.GEMM, k.Errors, k.Source = old.GEMM, old.Errors, old.Source
	k.ElementMemory, k.ElementT0 = old.ElementMemory, old.ElementT0
	if old.DecodeMemory > 0 {
		k.DecodeMemory, k.DecodeT0, k.DecodeTau = old.DecodeMemory, old.DecodeT0, old.DecodeTau
		k.DecodeMemoryFP8 = old.DecodeMemoryFP8
	}
	if old.PrefillCompute > 0 {
		k.PrefillCompute, k.PrefillT0, k.PrefillL0, k.PrefillHead64 = old.PrefillCompute, old.PrefillT0, old.PrefillL0, old.PrefillHead64
	}
	return k
}

// complete fills what a row leaves out. A card without FP8 arithmetic keeps FP8 weights as they are and computes in
// BF16; it also has no instruction to widen an FP8 cache, which is assumed to cost a tenth of the bandwidth.
func complete(k Kernels, d Device) Kernels {
	if d.FP8 == 0 || k.GEMMFP8.Compute == 0 {
		k.GEMMFP8 = k.WeightOnly(d.Arch)
	}
	if k.DecodeMemoryFP8 == 0 {
		k.DecodeMemoryFP8 = 0.9 * k.DecodeMemory
	}
	k.Ring = slices.Clone(k.Ring)
	return k
}

// WeightOnly returns the GEMM of weights that are stored narrow and widened to BF16 on the way to the multiplier (AWQ,
// GPTQ, FP8 without FP8 arithmetic) on a card of the given architecture, relative to the BF16 peak: the BF16 GEMM with 10 % less of the
// bandwidth and 3 µs more per kernel (fitted on TensorRT-LLM's weight-only GEMMs of A100, H200 and L40S), and as much less of
// the peak as widening costs large batches.
func (k Kernels) WeightOnly(arch string) Ramp {
	r := k.GEMM
	r.Compute *= marlin(arch)
	r.Memory *= 0.9
	r.T0 += 3 * us
	return r
}

// marlin returns what large batches keep of the rate of 16-bit products. Before Hopper vLLM runs Marlin: 141 TFLOP/s on an A100 from
// 128 rows on, .66 of the 16-bit product at 1024 (vLLM #2497); .82 on an RTX 6000 Ada at 16,384 rows (IST-DASLab/marlin #21). Kernels
// that widen beside the multiplication, TensorRT-LLM's and Machete on Hopper, lose 5 %.
func marlin(arch string) float64 {
	switch arch {
	case "Volta", "Turing", "Ampere":
		return 0.66
	case "Ada":
		return 0.82
	}
	return 0.95
}
