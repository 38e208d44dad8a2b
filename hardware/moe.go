package hardware

import "math"

// DistinctExperts returns how many of e routed experts are hit when n tokens choose k each, independently:
// D(n) = e (1 − (1 − k/e)^n).
func DistinctExperts(e, k int, n float64) float64 {
	if e <= 0 {
		return 0
	}
	return float64(e) * (1 - math.Pow(1-float64(k)/float64(e), n))
}

// Grouped 4-bit GEMMs that widen their weights are far from both limits: Marlin's reach .12 of the FLOPs and .2 of the
// bandwidth of an H100, where BF16 ones reach .53 and .886.
const int4Experts = 0.226

// Checkpoints that are published in FP8 (DeepSeek-V3, Kimi-K2) have a scale for each block of 128 × 128, which is multiplied in
// within the product: .305 of the peak of an H100 instead of .53, and 10 µs more (aiconfigurator, vLLM's kernels).
const (
	blockScaledCompute = 0.305 / 0.53
	blockScaledT0      = 10 * us
)

// hopperMXFP4Stream is the rate, in bytes of weights per second, at which Hopper widens MXFP4 experts. Its multiprocessors cannot
// widen faster than that: an FP8 cache, widened on the way just so, is read at 2.7 TB/s on an H100 and at 3.0 on an H200, whose
// memory delivers 4.8 (DecodeMemoryFP8, from aiconfigurator's kernel tables).
const hopperMXFP4Stream = 3.0e12

// hopperMXFP4Compute is how much of the rate of 16-bit experts those reach that are widened from MXFP4 on the way, on Hopper.
// Published for the kernels that vLLM uses are 28, 37 and 49 % of the peak, as they were tuned (triton-lang/triton #6833), where 16-bit
// products reach 79.5 %. Of the three the lowest agrees with served prefills of gpt-oss-120b on two H100.
const hopperMXFP4Compute = 0.28 / 0.795

// expertRows is how many rows the tiles of grouped GEMMs pad each expert's share to. Kernels that widen weights on the
// way do it behind the stream of weights, so that padding costs them nothing.
const expertRows = 16

// experts prices the routed experts of one layer on the busiest GPU: routing, two grouped GEMMs, activation and
// reduction in one fused kernel.
//
// Under tensor parallelism every GPU holds a slice of every expert. Under expert parallelism it holds whole ones and
// computes the tokens that chose them; the tokens are replicated over the group, so that dispatch is a selection and
// combining the results is the layer's all-reduce.
type experts struct {
	count, topK, ep int
	hidden, width   float64 // width: of one expert on this GPU
	skew, rows      float64 // rows: to which each expert's share is padded
	by              arithmetic
	stream          float64 // bytes/s at which weights can be widened; 0: as fast as memory delivers
}

func newExperts(d Deployment, s shard) experts {
	m := d.Model.MoE
	x := experts{
		count: m.Experts, topK: m.TopK, ep: s.ep,
		hidden: float64(d.Model.Hidden), width: float64(s.expertWidth), skew: d.ExpertSkew, rows: expertRows,
		by: d.Device.arithmetic(d.Weights),
	}
	if x.skew == 0 {
		x.skew = 1
	}
	x.by.ramp = d.Device.Kernels.MoE
	switch {
	case d.Weights == AWQ || d.Weights == GPTQ:
		x.by.ramp.Compute *= int4Experts
		x.by.ramp.Memory *= int4Experts
	case d.Weights == FP8 && d.Device.FP8 > 0 && d.Model.Dtype == FP8:
		x.by.ramp.Compute *= blockScaledCompute
		x.by.ramp.T0 += blockScaledT0
	case d.Weights == MXFP4 && d.Device.Arch == "Hopper":
		x.by.ramp.Compute *= hopperMXFP4Compute
		x.rows = 1
		x.stream = hopperMXFP4Stream
	}
	return x
}

// load returns the experts that a GPU streams and the token–expert pairs that it computes for n tokens. Skewed
// routing hits fewer experts; under expert parallelism it also crowds the pairs on the busiest GPU, which still
// streams as many experts as with even routing.
func (x experts) load(n float64) (hit, pairs float64) {
	even := DistinctExperts(x.count, x.topK, n)
	skewed := max(x.skew*even, min(float64(x.topK), even))
	pairs = n * float64(x.topK)
	if x.ep == 1 {
		return skewed, pairs
	}
	ep := float64(x.ep)
	return max(1, even/ep), min(pairs, pairs/(ep*x.skew))
}

// price prices n tokens; the padding rows of a CUDA graph are among them, since they are routed like any other.
//
//	bytes = D 3 d m w + pairs (4 d + 6 m)     FLOPs = 6 d m D ⌈pairs/D⌉₁₆ (each expert's rows are padded to 16)
//	t = t0 + pairs d 8/(1.4 B) + (Tc^p + Tm^p)^(1/p)
func (x experts) price(n float64) price {
	hit, pairs := x.load(n)
	weights := hit * 3 * x.hidden * x.width * x.by.weight
	activations := pairs * (4*x.hidden + 6*x.width)
	padded := hit * x.rows * math.Ceil(pairs/hit/x.rows-1e-9)
	perRow := 6 * x.hidden * x.width

	tm := (weights + activations) / (x.by.bandwidth * x.by.ramp.Memory)
	if x.stream > 0 {
		tm = max(tm, weights/x.stream)
	}
	p := x.by.price(perRow*pairs, weights+activations, perRow*padded/(x.by.peak*x.by.ramp.Compute), tm)
	// Gathering the rows by expert and summing them back, mostly within L2: faster than memory, and no traffic of it.
	shuffle := pairs * x.hidden * 8 / (1.4 * x.by.bandwidth)
	p.weights += shuffle
	p.joules += x.by.power.joules(shuffle, 0, 0)
	return p
}
