package hardware

// A Device is one accelerator: what its data sheet says, and how much of that its kernels reach. Rates are dense
// (without sparsity), sizes in bytes, bandwidths in bytes per second and per direction, power in watts.
type Device struct {
	Name   string // as in `servesim gpus`, e.g. "h100-sxm"
	Vendor string
	Arch   string
	Status string // Measured, Assumed or DatasheetOnly: where Kernels comes from

	SMs                  int     // multiprocessors
	BF16, FP8, INT8, FP4 float64 // peak FLOP/s (OP/s for INT8); 0: not supported in hardware
	Memory               int64   // as the driver reports it
	Kept                 int64   // of Memory, by the driver: programs do not see it; 0: unknown
	Bandwidth            float64 // device memory
	L2                   int64
	Link                 Link    // to the other GPUs of the node; Bandwidth 0: PCIe only
	PCIe                 float64 // to the host
	TDP                  float64
	USDPerHour           float64 // typical on-demand price; 0: unknown

	Kernels Kernels
	Source  string // of the data sheet numbers
	Note    string
}

// What is known of a device's kernels.
const (
	Measured      = "measured"       // fitted on benchmarks of this very card, its GEMMs at least; Kernels.Source says what else
	Assumed       = "assumed"        // taken over from a sibling of its generation, not checked
	DatasheetOnly = "datasheet only" // no kernel parameters and no rule to derive them: it cannot price a step
)

// Link is a connection between GPUs, per direction.
type Link struct {
	Name      string
	Bandwidth float64 // bytes per second
	Latency   float64 // seconds per message
	GPUs      int     // how many it joins; larger groups cross PCIe; 0: all of a node
}

// Ramp holds the four numbers of a smoothed roofline: t = T0 + (Tc^P + Tm^P)^(1/P), with
// Tc = FLOPs/(peak×Compute) and Tm = bytes/(bandwidth×Memory).
type Ramp struct {
	Compute, Memory float64 // reachable fractions of the peaks
	T0              float64 // seconds: ramp, drain and launch gap of one kernel
	P               float64 // how sharply memory-bound turns into compute-bound
}

// Kernels are the fitted efficiencies of a device's kernels (operator benchmarks, never served runs, unless said).
type Kernels struct {
	GEMM, GEMMFP8 Ramp
	MoE           Ramp

	DecodeMemory, DecodeMemoryFP8 float64 // fraction of bandwidth that decode attention reaches, by KV dtype
	DecodeT0, DecodeTau           float64 // seconds per layer; seconds per (sequence, KV head) on one multiprocessor

	PrefillCompute, PrefillT0, PrefillL0 float64 // fraction of peak; seconds per layer; extra keys per row
	PrefillHead64                        float64 // factor on PrefillCompute for heads of 64

	ElementMemory, ElementT0 float64 // element-wise kernels: fraction of bandwidth, seconds per kernel

	OneShotAlpha, OneShotFraction float64 // all-reduce of small messages: seconds, fraction of the link
	TwoShotAlpha, TwoShotFraction float64 // and of large ones
	TwoShotPerGPU                 float64 // seconds that TwoShotAlpha grows by for each GPU beyond two
	// Ring prices the all-reduce of cards that reach each other through the host only, by group size, ascending;
	// where it is given it replaces the two forms above.
	Ring []RingPoint

	IdleWatts, JoulesPerFLOP, JoulesPerByte float64 // P0, ef, eb
	Errors                                  KernelErrors
	Source                                  string
}

// KernelErrors are the median errors of the fits, as fractions, on shapes that they have not seen; 0: not checked.
type KernelErrors struct{ GEMM, GEMMFP8, Decode, Prefill float64 }

// RingPoint is the ring all-reduce of a group of GPUs without peer access: t = Alpha + 2(n−1)/n × bytes/Bandwidth.
type RingPoint struct {
	GPUs      int
	Alpha     float64 // seconds
	Bandwidth float64 // bytes per second
}
