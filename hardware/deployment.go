package hardware

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Validate reports every independent reason why d is not an engine that could run, each with its remedy. Settings that
// only some uses need (token budget, block size, graphs) may be zero.
func (d Deployment) Validate() error {
	faults := []error{d.Device.Check(), d.Model.check()}
	if errors.Join(faults...) == nil {
		faults = append(faults, d.checkParallel(), d.checkFormats(), d.checkDrafter())
	}
	return errors.Join(append(faults, d.checkSettings())...)
}

// A setting is a whole number with the name that its user knows.
type setting struct {
	name  string
	value int
}

// check reports sizes that no transformer has.
func (m Model) check() error {
	var faults []error
	sizes := []setting{
		{"layers", m.Layers},
		{"hidden size", m.Hidden},
		{"attention heads", m.Heads},
		{"KV heads", m.KVHeads},
		{"head size", m.HeadDim},
		{"vocabulary", m.Vocab},
	}
	if m.MoE.Experts > 0 {
		sizes = append(sizes, setting{"experts per token", m.MoE.TopK}, setting{"expert width", m.MoE.Width})
	}
	for _, s := range sizes {
		if s.value <= 0 {
			faults = append(faults, fmt.Errorf("model %s: %s must be positive, got %d", m.Name, s.name, s.value))
		}
	}
	return errors.Join(faults...)
}

// checkParallel reports splits that do not come out even.
func (d Deployment) checkParallel() error {
	m := d.Model
	if d.TP < 1 || d.PP < 1 {
		return fmt.Errorf("tensor_parallel_size and pipeline_parallel_size must be at least 1, got %d and %d", d.TP, d.PP)
	}
	var faults []error
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if m.Heads%d.TP != 0 {
		refuse("tensor_parallel_size %d does not divide %d attention heads; use %s", d.TP, m.Heads, m.splits())
	} else if m.MLA.KVRank == 0 && m.KVHeads%d.TP != 0 && d.TP%m.KVHeads != 0 {
		refuse("tensor_parallel_size %d neither divides %d KV heads nor is a multiple of them; use %s", d.TP, m.KVHeads, m.splits())
	}
	if d.PP > m.Layers {
		refuse("pipeline_parallel_size %d exceeds the %d layers of %s; use at most %d", d.PP, m.Layers, m.Name, m.Layers)
	}
	if d.ExpertParallel && m.MoE.Experts == 0 {
		refuse("expert parallelism needs experts, and %s has none; drop enable_expert_parallel", m.Name)
	}
	if n := d.expertGroup(); d.ExpertParallel && n > m.MoE.Experts && m.MoE.Experts > 0 {
		refuse("expert parallelism spreads %d experts over %d GPUs; use a tensor_parallel_size%s of at most %d",
			m.MoE.Experts, n, d.timesDP(), m.MoE.Experts)
	}
	if d.DP > 1 && m.MoE.Experts == 0 {
		refuse("data-parallel ranks that step together share experts, and %s has none; use replicas", m.Name)
	}
	if d.spansNodes() && !(d.Internode.Bandwidth > 0) {
		refuse("%d GPUs span nodes of %d, but nothing connects the nodes; set the bandwidth of the link between them, or use at most %d GPUs",
			d.TP*d.PP*d.ranks(), d.GPUsPerNode, d.GPUsPerNode)
	}
	return errors.Join(faults...)
}

// timesDP completes "tensor_parallel_size" to the product that counts, where there are data-parallel ranks.
func (d Deployment) timesDP() string {
	if d.DP > 1 {
		return " × data_parallel_size"
	}
	return ""
}

// splits names the tensor-parallel sizes up to 16 into which m can be cut.
func (m Model) splits() string {
	var sizes []string
	for n := 1; n <= 16; n++ {
		if m.Heads%n == 0 && (m.MLA.KVRank > 0 || m.KVHeads%n == 0 || n%m.KVHeads == 0) {
			sizes = append(sizes, fmt.Sprint(n))
		}
	}
	last := len(sizes) - 1
	if last == 0 {
		return sizes[0]
	}
	return strings.Join(sizes[:last], ", ") + " or " + sizes[last]
}

// checkFormats reports number formats that the device cannot handle.
func (d Deployment) checkFormats() error {
	var faults []error
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	old := d.Device.Arch == "Volta" || d.Device.Arch == "Turing"
	switch d.Weights {
	case BF16:
		if old {
			refuse("%s (%s) has no bfloat16; use float16", d.Device.Name, d.Device.Arch)
		}
	case FP16, INT8, AWQ, GPTQ:
	case FP8, MXFP4, NVFP4:
		if old {
			refuse("%s weights need Ampere or newer, and %s is %s; use float16, awq or gptq", d.Weights, d.Device.Name, d.Device.Arch)
		}
	default:
		refuse("weights: unknown dtype %q; use one of %v", d.Weights, dtypes)
	}
	if d.Weights == MXFP4 && d.Model.MoE.Experts == 0 {
		refuse("mxfp4 quantises experts only, and %s has none; use bfloat16 or nvfp4", d.Model.Name)
	}
	switch d.KV {
	case BF16, FP16:
	case FP8:
		if old {
			refuse("an fp8 KV cache needs Ampere or newer, and %s is %s; use float16", d.Device.Name, d.Device.Arch)
		}
	default:
		refuse("KV cache: dtype %q is not one of bfloat16, float16, fp8", d.KV)
	}
	return errors.Join(faults...)
}

// mostCount bounds the settings of an engine, so that no product of them overflows.
const mostCount = 1<<31 - 1

// checkSettings reports settings that are out of range.
func (d Deployment) checkSettings() error {
	var faults []error
	for _, s := range []setting{
		{"data_parallel_size", d.DP},
		{"max_num_batched_tokens", d.MaxNumBatchedTokens},
		{"max_num_seqs", d.MaxNumSeqs},
		{"max_model_len", d.MaxModelLen},
		{"block_size", d.BlockSize},
		{"GPUs per node", d.GPUsPerNode},
	} {
		if s.value < 0 {
			faults = append(faults, fmt.Errorf("%s must not be negative, got %d", s.name, s.value))
		}
		if s.value > mostCount {
			faults = append(faults, fmt.Errorf("%s must be at most %d, got %d", s.name, mostCount, s.value))
		}
	}
	for i, n := range d.Graphs {
		if n < 1 || i > 0 && n <= d.Graphs[i-1] {
			faults = append(faults, fmt.Errorf("CUDA-graph sizes must be positive and ascending, got %v", d.Graphs))
			break
		}
	}
	if !(d.ExpertSkew >= 0 && d.ExpertSkew <= 1) {
		faults = append(faults, fmt.Errorf("expert skew must lie in (0, 1] (0: the default, 1), got %g", d.ExpertSkew))
	}
	return errors.Join(append(faults, d.Host.check(), d.Internode.check())...)
}

func (h Host) check() error {
	for _, x := range []float64{h.ExposedBase, h.ExposedPerSeq, h.ExposedPerSampled, h.HiddenBase, h.HiddenPerSeq} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("host times must be finite and not negative, got %+v", h)
		}
	}
	return nil
}

// check bounds a link between nodes as the columns of a device are bounded; without bandwidth there is none.
func (l Link) check() error {
	if !(l.Bandwidth == 0 || l.Bandwidth >= 1e6 && l.Bandwidth <= 1e14) {
		return fmt.Errorf("the bandwidth of the link between nodes must lie between 0.001 and 100000 GB/s, got %g GB/s", l.Bandwidth/giga)
	}
	if !(l.Latency >= 0 && l.Latency <= 10) {
		return fmt.Errorf("the latency of the link between nodes must lie between 0 and 10 s, got %g s", l.Latency)
	}
	return nil
}
