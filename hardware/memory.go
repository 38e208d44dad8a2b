package hardware

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// MemoryOptions are the settings that decide how much of a GPU becomes KV cache.
type MemoryOptions struct {
	Utilization          float64 // gpu_memory_utilization: of the total, in (0, 1]; must be positive unless KVCacheBytes is given
	KVCacheBytes         int64   // > 0: the KV cache's size per GPU, whatever the rest takes
	NumGPUBlocksOverride int     // > 0: the number of blocks, whatever the KV cache's size
	GraphsSubtracted     bool    // CUDA graphs count against Utilization (vLLM since 0.21); before, they lived in what it leaves
	SamplerBytes         float64 // of the profiling run, per sampled sequence and entry of the vocabulary; 0: SegmentedSort
}

// Memory says where the memory of the most loaded GPU goes, in bytes.
type Memory struct {
	Total, Requested int64 // what programs see of the device's; the part that the engine may use
	Weights          int64
	Drafter          int64 // weights of the network that drafts
	Activations      int64 // peak of the profiling run: a step of max_num_batched_tokens, then the sampling of max_num_seqs
	Graphs           int64 // captured CUDA graphs
	NonTorch         int64 // context, workspaces, communication buffers
	KV               int64 // the rest, or what an override says
	Left             int64 // what the whole device has for KV beside all of the above; negative when it is not even enough for them

	BlockBytes     int64 // one block of one group of layers
	Blocks         int   // in the pool
	BytesPerToken  int64 // of KV over all layers of the stage, every layer keeping everything
	Groups         []KVGroup
	MaxConcurrency float64 // sequences of max_model_len that the pool holds; 0 when max_model_len is not set
	blockSize      int     // tokens
}

// KVGroup is a set of layers that share block tables: a sequence holds one table per group, and all groups draw blocks
// from one pool.
type KVGroup struct {
	Window int // keys that its layers see; 0: all
	Layers int
}

// What does not depend on the model, read off the pools that vLLM 0.15 reports on H100s: with one GPU .26 GB are neither
// weights, activations nor cache; with several it is .47 GB more. vLLM's logs say .03 to .26 GiB and .6 GiB.
const (
	workspaceBytes     = 260e6
	communicationBytes = 474e6
)

// graphBytes is the memory of one captured graph per layer: public logs show 0.2 to 0.6 GiB for 35 to 67 graphs of models
// with 16 to 32 layers.
const graphBytes = 350 << 10

// mostBlocks is far beyond the blocks of any device: a terabyte in blocks of one token of the smallest model.
const mostBlocks = 1e8

// Tokens returns how many tokens the pool holds when every group keeps all of them: what vLLM logs as GPU KV cache size.
func (m Memory) Tokens() int64 { return int64(m.Blocks/max(len(m.Groups), 1)) * int64(m.blockSize) }

// PlanMemory divides the memory of a GPU as vLLM does at start-up: of Requested = Total × Utilization, what weights, the
// profiling run and everything outside the allocator leave becomes KV blocks. It fails with *DoesNotFitError when
// weights and activations leave nothing, and with *ContextTooLongError when the pool cannot hold one sequence of max_model_len. A pool set
// by hand is taken as it is.
func PlanMemory(d Deployment, o MemoryOptions) (Memory, error) {
	if err := errors.Join(d.Validate(), d.checkMemory(o)); err != nil {
		return Memory{}, err
	}
	m := divide(d, o)
	if m.Blocks > mostBlocks {
		return m, fmt.Errorf("a KV pool of %.0f GiB has %d blocks of block_size %d, more than any device holds; use at most %d", gib(m.KV), m.Blocks, d.BlockSize, int(mostBlocks))
	}
	if o.KVCacheBytes > 0 || o.NumGPUBlocksOverride > 0 {
		return m, nil
	}
	if m.Blocks < 1 {
		return m, doesNotFit(d, o, m)
	}
	if err := m.holdsOneSequence(d); err != nil {
		return m, err
	}
	return m, nil
}

// checkMemory reports settings without which there is no plan.
func (d Deployment) checkMemory(o MemoryOptions) error {
	var faults []error
	if o.KVCacheBytes <= 0 && !(o.Utilization > 0 && o.Utilization <= 1) {
		faults = append(faults, fmt.Errorf("gpu_memory_utilization must lie in (0, 1], got %g", o.Utilization))
	}
	if o.KVCacheBytes < 0 || o.NumGPUBlocksOverride < 0 {
		faults = append(faults, fmt.Errorf("overrides of the KV cache must not be negative, got %d bytes and %d blocks", o.KVCacheBytes, o.NumGPUBlocksOverride))
	}
	if o.NumGPUBlocksOverride > mostBlocks {
		faults = append(faults, fmt.Errorf("num_gpu_blocks_override must be at most %d, got %d", int(mostBlocks), o.NumGPUBlocksOverride))
	}
	for _, s := range []setting{
		{"block_size", d.BlockSize}, {"max_num_batched_tokens", d.MaxNumBatchedTokens}, {"max_num_seqs", d.MaxNumSeqs},
	} {
		if s.value == 0 {
			faults = append(faults, fmt.Errorf("a memory plan needs %s; it is 0", s.name))
		}
	}
	return errors.Join(faults...)
}

// divide makes the plan of a valid deployment, whether it comes out or not.
func divide(d Deployment, o MemoryOptions) Memory {
	s := newShard(d)
	m := Memory{
		Total:   d.Device.visible(),
		Weights: s.weightBytes(d), Activations: s.activationBytes(d, cmp.Or(o.SamplerBytes, SegmentedSort)), NonTorch: workspaceBytes,
		BytesPerToken: s.kvBytes(d, 1, s.layers),
		Groups:        s.groups(d.Model), blockSize: d.BlockSize,
	}
	m.Requested = int64(math.Ceil(float64(m.Total) * o.Utilization))
	if d.TP*d.PP*d.ranks() > 1 {
		m.NonTorch += communicationBytes
	}
	if !d.eager() {
		m.Graphs = int64(len(d.Graphs)) * int64(s.layers) * graphBytes
	}
	m.BlockBytes = s.kvBytes(d, d.BlockSize, s.groupSize())
	m.addDrafter(d)
	m.Left = m.Total - m.Weights - m.Drafter - m.Activations - m.Graphs - m.NonTorch
	m.KV = m.Requested - m.Weights - m.Drafter - m.Activations - m.NonTorch
	if o.GraphsSubtracted {
		m.KV -= m.Graphs
	}
	if o.KVCacheBytes > 0 {
		m.KV = o.KVCacheBytes
	}
	m.KV = max(m.KV, 0)
	m.Blocks = int(m.KV / m.BlockBytes)
	if o.NumGPUBlocksOverride > 0 {
		m.Blocks = o.NumGPUBlocksOverride
		m.KV = int64(m.Blocks) * m.BlockBytes
	}
	if need := m.blocksFor(d, d.MaxModelLen); need > 0 {
		m.MaxConcurrency = float64(m.Blocks) / float64(need)
	}
	return m
}

// weightBytes returns the weights of the most loaded stage and rank. Embedding and LM head stay in 16 bits; with several
// stages the first holds one and the last the other.
func (s shard) weightBytes(d Deployment) int64 {
	p, m := d.Model.Parts(), d.Model
	tp, layers := float64(d.TP), float64(s.layers)
	tables := float64(p.Embedding+p.Head) / tp
	if d.PP > 1 {
		tables = float64(p.Embedding) / tp
	}
	attention := float64(p.Attention) / tp
	if m.MLA.KVRank > 0 {
		// The down-projections are not cut.
		whole := float64(m.Hidden * (m.MLA.QueryRank + m.MLA.KVRank + m.MLA.RopeDim))
		attention = (float64(p.Attention)-whole)/tp + whole
	} else {
		replicated := 2 * (s.kvHeads*d.TP - m.KVHeads) * m.HeadDim * m.Hidden
		attention += float64(replicated) / tp
	}
	mlp := float64(s.dense)*float64(p.DenseMLP)/tp + float64(s.experted)*float64(p.Shared)/tp
	experts := float64(s.experted) * float64(p.Experts) / float64(d.expertGroup()) // whole experts or slices of all
	wide := tables + float64(p.FinalNorm) + layers*float64(p.Norms) + float64(s.experted)*float64(p.Router)
	bytes := (layers*attention+mlp)*d.Weights.outsideExperts().Bytes() + experts*d.Weights.Bytes() + wide*BF16.Bytes()
	return int64(math.Ceil(bytes))
}

// kvBytes returns what so many tokens take in the cache of so many layers.
func (s shard) kvBytes(d Deployment, tokens, layers int) int64 {
	return int64(float64(tokens*s.kvValues(d.Model)) * d.KV.Bytes() * float64(layers))
}

// holdsOneSequence reports a pool that is too small for one sequence of max_model_len.
func (m Memory) holdsOneSequence(d Deployment) error {
	need := m.blocksFor(d, d.MaxModelLen)
	if need <= m.Blocks {
		return nil
	}
	longest := 0
	for low, high := 0, d.MaxModelLen; low < high; { // m.blocksFor(low) <= m.Blocks < m.blocksFor(high)
		mid := (low + high + 1) / 2
		if m.blocksFor(d, mid) > m.Blocks {
			high = mid - 1
			continue
		}
		low, longest = mid, mid
	}
	return &ContextTooLongError{
		Model: d.Model.Name, MaxModelLen: d.MaxModelLen, Longest: longest,
		Needed: int64(need) * m.BlockBytes, Available: int64(m.Blocks) * m.BlockBytes,
	}
}
