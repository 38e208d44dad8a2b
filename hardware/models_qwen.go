package hardware

// qwenModels are the models of Alibaba.
var qwenModels = []Model{
	{
		Name: "qwen2.5-0.5b", ID: "Qwen/Qwen2.5-0.5B",
		Layers: 24, Hidden: 896, Heads: 14, KVHeads: 2, HeadDim: 64, Intermediate: 4864,
		Vocab: 151936, MaxPositions: 32768, TiedEmbeddings: true, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 0.494e9, Source: "published config",
	},
	{
		Name: "qwen2.5-1.5b", ID: "Qwen/Qwen2.5-1.5B",
		Layers: 28, Hidden: 1536, Heads: 12, KVHeads: 2, HeadDim: 128, Intermediate: 8960,
		Vocab: 151936, MaxPositions: 32768, TiedEmbeddings: true, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 1.5437e9, Source: "published config",
	},
	{
		Name: "qwen2.5-3b", ID: "Qwen/Qwen2.5-3B",
		Layers: 36, Hidden: 2048, Heads: 16, KVHeads: 2, HeadDim: 128, Intermediate: 11008,
		Vocab: 151936, MaxPositions: 32768, TiedEmbeddings: true, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 3.0859e9, Source: "published config",
	},
	{
		Name: "qwen2.5-7b", ID: "Qwen/Qwen2.5-7B",
		Layers: 28, Hidden: 3584, Heads: 28, KVHeads: 4, HeadDim: 128, Intermediate: 18944,
		Vocab: 152064, MaxPositions: 32768, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 7.6156e9, Source: "config.json (by way of inference-sim)",
		Note: "32768 positions as in the instruct config; the base model has 131072",
	},
	{
		Name: "qwen2.5-14b", ID: "Qwen/Qwen2.5-14B",
		Layers: 48, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 13824,
		Vocab: 152064, MaxPositions: 32768, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 14.77e9, Source: "published config",
	},
	{
		Name: "qwen2.5-32b", ID: "Qwen/Qwen2.5-32B",
		Layers: 64, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 27648,
		Vocab: 152064, MaxPositions: 32768, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 32.764e9, Source: "published config",
	},
	{
		Name: "qwen2.5-72b", ID: "Qwen/Qwen2.5-72B",
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 29568,
		Vocab: 152064, MaxPositions: 32768, Gated: true, QKVBias: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 72.706e9, Source: "published config",
	},
	{
		Name: "qwen3-0.6b", ID: "Qwen/Qwen3-0.6B",
		Layers: 28, Hidden: 1024, Heads: 16, KVHeads: 8, HeadDim: 128, Intermediate: 3072,
		Vocab: 151936, MaxPositions: 40960, TiedEmbeddings: true, Gated: true, QKNorm: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 0.596e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "qwen3-8b", ID: "Qwen/Qwen3-8B",
		Layers: 36, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 12288,
		Vocab: 151936, MaxPositions: 40960, Gated: true, QKNorm: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 8.1907e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "qwen3-14b", ID: "Qwen/Qwen3-14B",
		Layers: 40, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 17408,
		Vocab: 151936, MaxPositions: 40960, Gated: true, QKNorm: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 14.768e9, Source: "config.json (by way of inference-sim)",
	},
	{
		Name: "qwen3-32b", ID: "Qwen/Qwen3-32B",
		Layers: 64, Hidden: 5120, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 25600,
		Vocab: 151936, MaxPositions: 40960, Gated: true, QKNorm: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 32.762e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "qwen3-30b-a3b", ID: "Qwen/Qwen3-30B-A3B",
		Layers: 48, Hidden: 2048, Heads: 32, KVHeads: 4, HeadDim: 128, Intermediate: 6144,
		Vocab: 151936, MaxPositions: 40960, Gated: true, QKNorm: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 128, TopK: 8, Width: 768, Layers: 48},
		Dtype: BF16, PublishedParams: 30.532e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "qwen3-235b-a22b", ID: "Qwen/Qwen3-235B-A22B",
		Layers: 94, Hidden: 4096, Heads: 64, KVHeads: 4, HeadDim: 128, Intermediate: 12288,
		Vocab: 151936, MaxPositions: 40960, Gated: true, QKNorm: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 128, TopK: 8, Width: 1536, Layers: 94},
		Dtype: BF16, PublishedParams: 235.094e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "qwen3-coder-480b-a35b", ID: "Qwen/Qwen3-Coder-480B-A35B-Instruct",
		Layers: 62, Hidden: 6144, Heads: 96, KVHeads: 8, HeadDim: 128, Intermediate: 8192,
		Vocab: 151936, MaxPositions: 262144, Gated: true, QKNorm: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 160, TopK: 8, Width: 2560, Layers: 62},
		Dtype: BF16, PublishedParams: 480.155e9, Source: "config.json (by way of aiconfigurator)",
	},
}
