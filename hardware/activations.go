package hardware

// What the sampler of the profiling run takes at its peak, in bytes per sequence and entry of the vocabulary. Top-k and
// top-p sort the logits: 2 (of 16 bits), 4 (their FP32 copy), 4 + 8 (sorted, with their indices), and what the sort itself
// needs. Checked on logs of 256 or more sequences, which give the peak.
const (
	// WholeSort sorts all sequences at once: a second buffer of 4, twice 8 for pairs of index and sequence. Logs of vLLM 0.6
	// to 0.15: Llama-3-8B 37 to 39 (1.19 to 1.26 GiB, on one GPU as on two), Qwen3-8B 38 (1.40 GiB).
	WholeSort = 38
	// SegmentedSort sorts each by itself: second buffers of 4 + 8. RTX 4090 with Llama-3.1-8B 30 (0.19, from its 41,408
	// tokens of cache), Qwen2.5-0.5B 29 (August 2026, 1.06 GiB).
	SegmentedSort = 30
	// NoSort samples without sorting, or its profiling run leaves top-k and top-p out. Logs of July 2026: Qwen3.6-27B on
	// four H100 6.5 (1.54 GiB); Qwen3-8B on RTX 4090 6 (what 8192 tokens a step took of the cache in place of 2048).
	NoSort = 6.5
)

// activationBytes returns the peak of the profiling run, of T tokens and S sampled sequences. The layers come first: the three
// widest tensors of an MLP (of the K experts of every token) and three of the residual stream. What they took is free
// again when the sampler runs, beside the last hidden states; c bytes an entry of the logits:
//
//	max( T K 3 f 2 B + T 3 d 2 B,  T d 2 B + S V c )
func (s shard) activationBytes(d Deployment, c float64) int64 {
	return max(s.layerBytes(d), s.samplerBytes(d, c))
}

// layerBytes is the first of the two.
func (s shard) layerBytes(d Deployment) int64 {
	width := s.mlp * min(s.dense, 1)
	if s.experted > 0 {
		width = max(width, d.Model.MoE.TopK*s.expertWidth*d.ranks()/s.ep+s.shared) // the tokens of all ranks meet there
	}
	return int64(d.MaxNumBatchedTokens) * 3 * 2 * int64(width+d.Model.Hidden)
}

// samplerBytes is the second.
func (s shard) samplerBytes(d Deployment, c float64) int64 {
	hidden := int64(d.MaxNumBatchedTokens) * 2 * int64(d.Model.Hidden)
	return hidden + int64(c*float64(d.MaxNumSeqs)*float64(d.Model.Vocab))
}

// driverBytes is what the driver keeps of an NVIDIA card of which nothing better is known. nvidia-smi counts it, programs do
// not see it, and gpu_memory_utilization is a share of the rest. Where Kept is known, it is from vLLM's and PyTorch's
// logs: they show 79.19 of 79.65 GiB (H100), 79.25 of 80 and 39.49 of 40 (A100), 44.39 of 44.99 (L40S), 47.37 of 47.99
// (RTX 6000 Ada), 22.07 of 22.49 (A10G), 23.52 of 23.99 (RTX 4090).
const driverBytes = 512 * mib

// visible returns the memory that programs see.
func (d Device) visible() int64 {
	kept := d.Kept
	if kept == 0 && d.Vendor == "NVIDIA" {
		kept = driverBytes
	}
	return d.Memory - kept
}
