package hardware

// deepseekModels are the models of DeepSeek and Moonshot, with latent attention.
var deepseekModels = []Model{
	{
		Name: "deepseek-v3", ID: "deepseek-ai/DeepSeek-V3",
		Layers: 61, Hidden: 7168, Heads: 128, KVHeads: 128, HeadDim: 128, Intermediate: 18432,
		Vocab: 129280, MaxPositions: 163840, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 256, TopK: 8, Width: 2048, Layers: 58, SharedWidth: 2048, DenseWidth: 18432},
		MLA:   MLA{QueryRank: 1536, KVRank: 512, NopeDim: 128, RopeDim: 64, VDim: 128},
		Dtype: FP8, PublishedParams: 671.03e9, Source: "config.json (by way of aiconfigurator)",
		Note: "R1 has the same shape; without the multi-token-prediction module",
	},
	{
		Name: "deepseek-v2-lite", ID: "deepseek-ai/DeepSeek-V2-Lite",
		Layers: 27, Hidden: 2048, Heads: 16, KVHeads: 16, HeadDim: 128, Intermediate: 10944,
		Vocab: 102400, MaxPositions: 163840, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 64, TopK: 6, Width: 1408, Layers: 26, SharedWidth: 2816, DenseWidth: 10944},
		MLA:   MLA{QueryRank: 0, KVRank: 512, NopeDim: 128, RopeDim: 64, VDim: 128},
		Dtype: BF16, PublishedParams: 15.706e9, Source: "config.json (by way of inference-sim)",
		Note: "the published 2.4 B active parameters leave out the embeddings",
	},
	{
		Name: "deepseek-v2", ID: "deepseek-ai/DeepSeek-V2",
		Layers: 60, Hidden: 5120, Heads: 128, KVHeads: 128, HeadDim: 128, Intermediate: 12288,
		Vocab: 102400, MaxPositions: 163840, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 160, TopK: 6, Width: 1536, Layers: 59, SharedWidth: 3072, DenseWidth: 12288},
		MLA:   MLA{QueryRank: 1536, KVRank: 512, NopeDim: 128, RopeDim: 64, VDim: 128},
		Dtype: BF16, PublishedParams: 235.74e9, Source: "published config",
	},
	{
		Name: "kimi-k2", ID: "moonshotai/Kimi-K2-Instruct",
		Layers: 61, Hidden: 7168, Heads: 64, KVHeads: 64, HeadDim: 128, Intermediate: 18432,
		Vocab: 163840, MaxPositions: 131072, Gated: true, NormsPerLayer: 2,
		MoE:   MoE{Experts: 384, TopK: 8, Width: 2048, Layers: 60, SharedWidth: 2048, DenseWidth: 18432},
		MLA:   MLA{QueryRank: 1536, KVRank: 512, NopeDim: 128, RopeDim: 64, VDim: 128},
		Dtype: FP8, PublishedParams: 1026.4e9, Source: "config.json (by way of aiconfigurator)",
	},
}
