package hardware

import "slices"

// A family is what config.json files of one architecture have in common: what they leave out, and how they write
// experts and windows. The defaults are those of the configuration classes of Hugging Face transformers.
type family struct {
	name                 string
	types, architectures []string // model_type, architectures

	headDim          int // 0: hidden size / heads
	vocab, positions int // 0: must be given
	tied             bool
	norms            int
	qkvBias, qkNorm  bool
	sinks, latent    bool

	experts func(*config, Model) MoE
	window  func(*config, Model) (keys, layers int)
}

// families lists what ParseConfig reads.
var families = []family{
	{
		name: "Llama", types: []string{"llama"}, architectures: []string{"LlamaForCausalLM"},
		norms: 2,
	},
	{
		name: "Llama 4", types: []string{"llama4", "llama4_text"},
		architectures: []string{"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
		norms:         2, experts: llama4Experts, window: llama4Chunks,
	},
	{
		name: "Mistral", types: []string{"mistral", "mistral3"},
		architectures: []string{"MistralForCausalLM", "Mistral3ForConditionalGeneration"},
		norms:         2, window: everyLayerSlides,
	},
	{
		name: "Mixtral", types: []string{"mixtral"}, architectures: []string{"MixtralForCausalLM"},
		norms: 2, experts: mixtralExperts, window: everyLayerSlides,
	},
	{
		name: "Qwen2", types: []string{"qwen2"}, architectures: []string{"Qwen2ForCausalLM"},
		norms: 2, qkvBias: true, window: qwenWindow,
	},
	{
		name: "Qwen2-MoE", types: []string{"qwen2_moe"}, architectures: []string{"Qwen2MoeForCausalLM"},
		norms: 2, qkvBias: true, experts: qwenExperts, window: qwenWindow,
	},
	{
		name: "Qwen3", types: []string{"qwen3"}, architectures: []string{"Qwen3ForCausalLM"},
		headDim: 128, norms: 2, qkNorm: true, window: qwenWindow,
	},
	{
		name: "Qwen3-MoE", types: []string{"qwen3_moe"}, architectures: []string{"Qwen3MoeForCausalLM"},
		norms: 2, qkNorm: true, experts: qwenExperts, window: qwenWindow,
	},
	{
		name: "DeepSeek V2/V3", types: []string{"deepseek_v2", "deepseek_v3", "kimi_k2"},
		architectures: []string{"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"},
		norms:         2, latent: true, experts: deepseekExperts,
	},
	{
		name: "Gemma 2", types: []string{"gemma2"}, architectures: []string{"Gemma2ForCausalLM"},
		headDim: 256, vocab: 256_000, positions: 8192, tied: true, norms: 4, window: gemma2Window,
	},
	{
		name: "Gemma 3", types: []string{"gemma3", "gemma3_text"},
		architectures: []string{"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
		headDim:       256, vocab: 262_208, positions: 131_072, tied: true, norms: 4, qkNorm: true, window: gemma3Window,
	},
	{
		name: "Phi-3", types: []string{"phi3"}, architectures: []string{"Phi3ForCausalLM"},
		norms: 2, window: everyLayerSlides,
	},
	{
		name: "gpt-oss", types: []string{"gpt_oss"}, architectures: []string{"GptOssForCausalLM"},
		headDim: 64, norms: 2, sinks: true, experts: gptOssExperts, window: gptOssWindow,
	},
}

// everyLayerSlides: Mistral v0.1 and Phi-3 slide in every layer, if sliding_window is given.
func everyLayerSlides(c *config, m Model) (keys, layers int) {
	return c.window(m, 0, func(int) bool { return true })
}

// qwenWindow: layers from max_window_layers on slide, but only where use_sliding_window says so.
func qwenWindow(c *config, m Model) (keys, layers int) {
	if !c.flag("use_sliding_window", false) {
		return 0, 0
	}
	first := c.between("max_window_layers", 28, 0, mostLayers)
	return c.window(m, 4096, func(i int) bool { return i >= first })
}

// gemma2Window: every other layer slides, the first one does.
func gemma2Window(c *config, m Model) (keys, layers int) {
	return c.window(m, 4096, func(i int) bool { return i%2 == 0 })
}

// gemma3Window: every sliding_window_pattern-th layer is global.
func gemma3Window(c *config, m Model) (keys, layers int) {
	every := c.optional("sliding_window_pattern", 6, mostLayers)
	return c.window(m, 4096, func(i int) bool { return every > 0 && (i+1)%every != 0 })
}

// gptOssWindow: every other layer slides, the first one does.
func gptOssWindow(c *config, m Model) (keys, layers int) {
	return c.window(m, 128, func(i int) bool { return i%2 == 0 })
}

// window reads sliding_window, and which layers slide: layer_types where it is given, else the family's habit.
func (c *config) window(m Model, byDefault int, slides func(layer int) bool) (keys, layers int) {
	keys = c.between("sliding_window", byDefault, 0, mostTokens)
	if keys == 0 {
		return 0, 0
	}
	if n, known := c.slidingByType(m.Layers); known {
		return keys, n
	}
	return keys, layersWith(m.Layers, slides)
}

// llama4Chunks: layers with rotary positions attend within chunks; those without (every fourth, unless no_rope_layers
// marks them with 0) to everything.
func llama4Chunks(c *config, m Model) (keys, layers int) {
	keys = c.between("attention_chunk_size", 8192, 0, mostTokens)
	if n, known := c.slidingByType(m.Layers); known {
		return keys, n
	}
	var rope []int
	if c.read("no_rope_layers", &rope) && len(rope) > 0 {
		if len(rope) != m.Layers {
			c.fault("no_rope_layers", "must mark each of the %d layers, got %d", m.Layers, len(rope))
			return 0, 0
		}
		return keys, layersWith(m.Layers, func(i int) bool { return rope[i] != 0 })
	}
	every := c.optional("no_rope_layer_interval", 4, mostLayers)
	return keys, layersWith(m.Layers, func(i int) bool { return every > 0 && (i+1)%every != 0 })
}

// mixtralExperts: experts in every layer.
func mixtralExperts(c *config, m Model) MoE {
	return MoE{
		Experts: c.required("num_local_experts", mostExperts), TopK: c.required("num_experts_per_tok", mostExperts),
		Width: m.Intermediate, Layers: m.Layers,
	}
}

// gptOssExperts: the same, with biases.
func gptOssExperts(c *config, m Model) MoE {
	x := mixtralExperts(c, m)
	x.Bias = true
	return x
}

// llama4Experts: one shared expert as wide as a routed one; layers without experts have a wider MLP.
func llama4Experts(c *config, m Model) MoE {
	x := mixtralExperts(c, m)
	x.SharedWidth = m.Intermediate
	var sparse []int
	if c.read("moe_layers", &sparse) && len(sparse) > 0 {
		x.Layers = layersWith(m.Layers, func(i int) bool { return slices.Contains(sparse, i) })
	} else if step := c.optional("interleave_moe_layer_step", 1, mostLayers); step > 0 {
		x.Layers = m.Layers / step
	}
	if x.Layers < m.Layers {
		x.DenseWidth = c.required("intermediate_size_mlp", mostWidth)
	}
	return x
}

// qwenExperts: every decoder_sparse_step-th layer has experts, save those that mlp_only_layers names.
func qwenExperts(c *config, m Model) MoE {
	x := MoE{
		Experts:     c.required("num_experts", mostExperts),
		TopK:        c.required("num_experts_per_tok", mostExperts),
		Width:       c.required("moe_intermediate_size", mostWidth),
		SharedWidth: c.between("shared_expert_intermediate_size", 0, 0, mostWidth),
	}
	step := c.optional("decoder_sparse_step", 1, mostLayers)
	var dense []int
	c.read("mlp_only_layers", &dense)
	x.Layers = layersWith(m.Layers, func(i int) bool {
		return step > 0 && (i+1)%step == 0 && !slices.Contains(dense, i)
	})
	if x.Layers < m.Layers {
		x.DenseWidth = m.Intermediate
	}
	return x
}

// deepseekExperts: the first first_k_dense_replace layers are dense, then every moe_layer_freq-th has experts.
func deepseekExperts(c *config, m Model) MoE {
	if !c.has("n_routed_experts") {
		return MoE{}
	}
	x := MoE{
		Experts: c.required("n_routed_experts", mostExperts),
		TopK:    c.required("num_experts_per_tok", mostExperts),
		Width:   c.required("moe_intermediate_size", mostWidth),
	}
	x.SharedWidth = x.Width * c.between("n_shared_experts", 0, 0, mostExperts)
	first := c.between("first_k_dense_replace", 0, 0, mostLayers)
	every := c.optional("moe_layer_freq", 1, mostLayers)
	x.Layers = layersWith(m.Layers, func(i int) bool { return every > 0 && i >= first && i%every == 0 })
	if x.Layers < m.Layers {
		x.DenseWidth = m.Intermediate
	}
	return x
}
