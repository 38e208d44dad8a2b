package hardware

// llamaModels are the models of Meta.
var llamaModels = []Model{
	{
		Name: "llama-2-7b", ID: "meta-llama/Llama-2-7b-hf",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 32, HeadDim: 128, Intermediate: 11008,
		Vocab: 32000, MaxPositions: 4096, Gated: true, NormsPerLayer: 2,
		Dtype: FP16, PublishedParams: 6.738e9, Source: "config.json (by way of inference-sim)",
	},
	{
		Name: "llama-2-13b", ID: "meta-llama/Llama-2-13b-hf",
		Layers: 40, Hidden: 5120, Heads: 40, KVHeads: 40, HeadDim: 128, Intermediate: 13824,
		Vocab: 32000, MaxPositions: 4096, Gated: true, NormsPerLayer: 2,
		Dtype: FP16, PublishedParams: 13.016e9, Source: "GenZ",
	},
	{
		Name: "llama-2-70b", ID: "meta-llama/Llama-2-70b-hf",
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 28672,
		Vocab: 32000, MaxPositions: 4096, Gated: true, NormsPerLayer: 2,
		Dtype: FP16, PublishedParams: 68.977e9, Source: "Vidur; GenZ",
	},
	{
		Name: "codellama-34b", ID: "codellama/CodeLlama-34b-Instruct-hf",
		Layers: 48, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 22016,
		Vocab: 32000, MaxPositions: 16384, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 33.744e9, Source: "config.json (by way of inference-sim)",
	},
	{
		Name: "llama-3-8b", ID: "meta-llama/Meta-Llama-3-8B",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 128256, MaxPositions: 8192, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 8.03e9, Source: "config.json (by way of aiconfigurator); Vidur",
	},
	{
		Name: "llama-3-70b", ID: "meta-llama/Meta-Llama-3-70B",
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 28672,
		Vocab: 128256, MaxPositions: 8192, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 70.554e9, Source: "config.json (by way of aiconfigurator); Vidur",
	},
	{
		Name: "llama-3.1-8b", ID: "meta-llama/Llama-3.1-8B",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 128256, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 8.03e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "llama-3.1-70b", ID: "meta-llama/Llama-3.1-70B",
		Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, Intermediate: 28672,
		Vocab: 128256, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 70.554e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "llama-3.1-405b", ID: "meta-llama/Llama-3.1-405B",
		Layers: 126, Hidden: 16384, Heads: 128, KVHeads: 8, HeadDim: 128, Intermediate: 53248,
		Vocab: 128256, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 405.853e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "llama-3.2-1b", ID: "meta-llama/Llama-3.2-1B",
		Layers: 16, Hidden: 2048, Heads: 32, KVHeads: 8, HeadDim: 64, Intermediate: 8192,
		Vocab: 128256, MaxPositions: 131072, TiedEmbeddings: true, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 1.2358e9, Source: "GenZ; published config",
	},
	{
		Name: "llama-3.2-3b", ID: "meta-llama/Llama-3.2-3B",
		Layers: 28, Hidden: 3072, Heads: 24, KVHeads: 8, HeadDim: 128, Intermediate: 8192,
		Vocab: 128256, MaxPositions: 131072, TiedEmbeddings: true, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 3.2127e9, Source: "GenZ; published config",
	},
	{
		Name: "llama-4-scout", ID: "meta-llama/Llama-4-Scout-17B-16E-Instruct",
		Layers: 48, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 8192,
		Vocab: 202048, MaxPositions: 10485760, Gated: true, NormsPerLayer: 2,
		MoE:    MoE{Experts: 16, TopK: 1, Width: 8192, Layers: 48, SharedWidth: 8192},
		Window: 8192, WindowLayers: 36,
		Dtype: BF16, PublishedParams: 107.77e9, Source: "config.json (by way of aiconfigurator)",
		Note: "text model; three of four layers attend in chunks of 8192, the fourth to everything",
	},
	{
		Name: "llama-4-maverick", ID: "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
		Layers: 48, Hidden: 5120, Heads: 40, KVHeads: 8, HeadDim: 128, Intermediate: 8192,
		Vocab: 202048, MaxPositions: 1048576, Gated: true, NormsPerLayer: 2,
		MoE:    MoE{Experts: 128, TopK: 1, Width: 8192, Layers: 24, SharedWidth: 8192, DenseWidth: 16384},
		Window: 8192, WindowLayers: 36,
		Dtype: BF16, PublishedParams: 400.71e9, Source: "config.json (by way of aiconfigurator)",
		Note: "text model; experts in every second layer; chunked attention as in Scout",
	},
}
