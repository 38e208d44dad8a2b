package hardware

// A Model is the shape of a transformer, as its config.json gives it.
type Model struct {
	Name string // short name, e.g. "llama-3.1-8b"
	ID   string // Hugging Face id

	Layers, Hidden, Heads, KVHeads, HeadDim int
	Intermediate                            int // width of the dense MLP
	Vocab, MaxPositions                     int
	TiedEmbeddings, Gated, QKVBias, QKNorm  bool
	NormsPerLayer                           int  // 2; 4 in Gemma 2 and 3; 1 in Phi-2
	OutBias, MLPBias, NormBias, HeadBias    bool // biases of the output projection, the dense MLP, the norms, the LM head
	Sinks                                   bool // one learned attention sink per head (gpt-oss)
	MoE                                     MoE
	MLA                                     MLA
	Window                                  int   // keys that a sliding-window layer sees; 0: full attention everywhere
	WindowLayers                            int   // how many of Layers slide (or attend in chunks)
	Dtype                                   Dtype // of the published checkpoint
	Source, Note                            string
	// PublishedParams is the total of the published checkpoint, for checking; 0: unknown.
	PublishedParams float64
}

// MoE describes routed experts; Experts 0 means a dense model.
type MoE struct {
	Experts, TopK, Width int  // routed experts, experts per token, width of one
	Layers               int  // layers with experts; the rest have a dense MLP
	SharedWidth          int  // width of the always-active shared expert(s); 0: none
	DenseWidth           int  // MLP width of the layers without experts
	Bias                 bool // experts and router carry biases (gpt-oss)
}

// MLA describes multi-head latent attention (DeepSeek V2, V3); KVRank 0 means ordinary attention.
type MLA struct {
	QueryRank, KVRank      int // s (0: no query compression), r
	NopeDim, RopeDim, VDim int // n, u, v per head
}

// Dtype names a number format, as users of vLLM spell it.
type Dtype string

const (
	BF16  Dtype = "bfloat16"
	FP16  Dtype = "float16"
	FP8   Dtype = "fp8"
	INT8  Dtype = "int8"
	AWQ   Dtype = "awq"   // 4-bit weights, groups of 128
	GPTQ  Dtype = "gptq"  // the same, without zero points
	MXFP4 Dtype = "mxfp4" // 4-bit experts, the rest BF16
	NVFP4 Dtype = "nvfp4"
)

// Deployment is one engine: a model on a device, split over GPUs, with the settings that decide prices and memory.
type Deployment struct {
	Model   Model
	Device  Device
	Weights Dtype
	KV      Dtype // BF16, FP16 or FP8
	Unfused bool  // AWQ and GPTQ weights: the formats' own kernels, which widen a matrix before they multiply

	TP, PP         int
	DP             int // ranks with attention of their own that step together and share the experts; 0 and 1: one
	ExpertParallel bool
	GPUsPerNode    int // beyond it traffic crosses Internode
	Internode      Link
	Graphs         []int // captured CUDA-graph sizes in tokens, ascending; empty: eager
	Eager          bool

	MaxNumBatchedTokens, MaxNumSeqs, MaxModelLen int
	BlockSize                                    int

	Host    Host
	Drafter Drafter
	// ExpertSkew is the share of the expected distinct experts that real routing touches, in (0, 1].
	ExpertSkew float64
}

// Host is the time a step costs on the CPU, in its two parts (per engine version; fitted on served runs of that
// version, see the profile that sets it).
type Host struct {
	ExposedBase, ExposedPerSeq float64 // seconds: launch, sampling, hand-over; hidden by nothing
	ExposedPerSampled          float64 // seconds for each token sampled: masks of constrained decoding, costly sampling
	HiddenBase, HiddenPerSeq   float64 // seconds: scheduling and input preparation; hidden when asynchronous
}
