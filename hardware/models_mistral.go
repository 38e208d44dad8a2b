package hardware

// mistralModels are the models of Mistral AI.
var mistralModels = []Model{
	{
		Name: "mistral-7b-v0.1", ID: "mistralai/Mistral-7B-v0.1",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 32000, MaxPositions: 32768, Gated: true, NormsPerLayer: 2,
		Window: 4096, WindowLayers: 32,
		Dtype: BF16, PublishedParams: 7.2417e9, Source: "published config",
	},
	{
		Name: "mistral-7b-v0.3", ID: "mistralai/Mistral-7B-v0.3",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 32768, MaxPositions: 32768, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 7.248e9, Source: "published config",
	},
	{
		Name: "mistral-nemo-12b", ID: "mistralai/Mistral-Nemo-Instruct-2407",
		Layers: 40, Hidden: 5120, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 131072, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 12.2478e9, Source: "config.json (by way of inference-sim)",
		Note: "heads × head size is 4096, less than the hidden size",
	},
	{
		Name: "mistral-small-24b", ID: "mistralai/Mistral-Small-24B-Instruct-2501",
		Layers: 40, Hidden: 5120, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 32768,
		Vocab: 131072, MaxPositions: 32768, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 23.572e9, Source: "published config",
	},
	{
		Name: "mistral-large-123b", ID: "mistralai/Mistral-Large-Instruct-2407",
		Layers: 88, Hidden: 12288, Heads: 96, KVHeads: 8, HeadDim: 128, Intermediate: 28672,
		Vocab: 32768, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		Dtype: BF16, PublishedParams: 122.61e9, Source: "published config",
	},
	{
		Name: "mixtral-8x7b", ID: "mistralai/Mixtral-8x7B-v0.1",
		Layers: 32, Hidden: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336,
		Vocab: 32000, MaxPositions: 32768, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 8, TopK: 2, Width: 14336, Layers: 32},
		Dtype: BF16, PublishedParams: 46.703e9, Source: "config.json (by way of aiconfigurator)",
	},
	{
		Name: "mixtral-8x22b", ID: "mistralai/Mixtral-8x22B-v0.1",
		Layers: 56, Hidden: 6144, Heads: 48, KVHeads: 8, HeadDim: 128, Intermediate: 16384,
		Vocab: 32000, MaxPositions: 65536, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 8, TopK: 2, Width: 16384, Layers: 56},
		Dtype: BF16, PublishedParams: 140.62e9, Source: "config.json (by way of aiconfigurator)",
	},
}
