package hardware

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The configs under testdata hold the keys of the published ones that decide the shape.
func TestParsedConfigsEqualTheTable(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configs: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got, dtype, err := ParseConfig(f, name)
		f.Close()
		if err != nil {
			t.Error(err)
			continue
		}
		want, _, _, err := FindModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if dtype != want.Dtype {
			t.Errorf("%s: dtype %q, want %q", name, dtype, want.Dtype)
		}
		want.ID, want.Source, want.Note, want.PublishedParams = got.ID, got.Source, got.Note, got.PublishedParams
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-table +parsed):\n%s", name, diff)
		}
	}
}

// tiny is a config that parses; tests add keys, which win over those before them.
func tiny(keys string) string {
	const shape = `{"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
		"intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 2048`
	if keys == "" {
		return shape + "}"
	}
	return shape + ", " + keys + "}"
}

func TestParseConfigReadsQuantization(t *testing.T) {
	compressed := func(format, weights string) string {
		return `"quantization_config": {"quant_method": "compressed-tensors", "format": "` + format +
			`", "config_groups": {"group_0": {"targets": ["Linear"], "weights": ` + weights + `}}}`
	}
	for _, c := range []struct {
		keys string
		want Dtype
	}{
		{``, BF16},
		{`"torch_dtype": "float16"`, FP16},
		{`"torch_dtype": "float32"`, BF16},
		{`"dtype": "float16"`, FP16},
		{`"quantization_config": null`, BF16},
		{`"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}`, FP8},
		{`"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}`, AWQ},
		{`"quantization_config": {"quant_method": "awq", "w_bit": 4}`, AWQ},
		{`"quantization_config": {"quant_method": "gptq", "bits": 4}`, GPTQ},
		{`"quantization_config": {"quant_method": "gptq", "bits": 8}`, INT8},
		{`"quantization_config": {"quant_method": "mxfp4"}`, MXFP4},
		{`"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}`, NVFP4},
		{`"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}`, FP8},
		{compressed("float-quantized", `{"num_bits": 8, "type": "float"}`), FP8},
		{compressed("int-quantized", `{"num_bits": 8, "type": "int"}`), INT8},
		{compressed("pack-quantized", `{"num_bits": 4, "type": "int"}`), GPTQ},
		{compressed("pack-quantized", `{"num_bits": 8, "type": "int"}`), INT8},
		{compressed("nvfp4-pack-quantized", `{"num_bits": 4, "type": "float"}`), NVFP4},
		{`"quantization_config": {"quant_method": "compressed-tensors", "format": "int-quantized"}`, INT8},
	} {
		m, got, err := ParseConfig(strings.NewReader(tiny(c.keys)), "tiny")
		if err != nil || got != c.want || m.Dtype != c.want {
			t.Errorf("%s: %q, %v; want %q", c.keys, got, err, c.want)
		}
	}
}

func TestParseConfigFindsWindows(t *testing.T) {
	for _, c := range []struct {
		keys         string
		window, some int
	}{
		{`"sliding_window": 512`, 0, 0}, // Llama ignores it
		{`"model_type": "mistral", "sliding_window": 512`, 512, 4},
		{`"model_type": "mistral", "sliding_window": null`, 0, 0},
		{`"model_type": "phi3", "sliding_window": 2048`, 0, 0}, // never closes
		{`"model_type": "phi3", "sliding_window": 2047`, 2047, 4},
		{`"model_type": "qwen2", "sliding_window": 512, "max_window_layers": 1`, 0, 0},
		{`"model_type": "qwen2", "sliding_window": 512, "max_window_layers": 1, "use_sliding_window": true`, 512, 3},
		{`"model_type": "qwen3", "sliding_window": 512, "max_window_layers": 4, "use_sliding_window": true`, 0, 0},
		{`"model_type": "gemma3_text", "sliding_window": 512, "sliding_window_pattern": 2`, 512, 2},
		{`"model_type": "gemma3_text", "sliding_window": 512, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]`, 512, 3},
	} {
		m, _, err := ParseConfig(strings.NewReader(tiny(c.keys)), "tiny")
		if err != nil || m.Window != c.window || m.WindowLayers != c.some {
			t.Errorf("%s: window %d in %d layers, %v; want %d in %d", c.keys, m.Window, m.WindowLayers, err, c.window, c.some)
		}
	}
}

func TestParseConfigPlacesExperts(t *testing.T) {
	const qwen = `"model_type": "qwen3_moe", "num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 32`
	for _, c := range []struct {
		keys string
		want MoE
	}{
		{qwen, MoE{Experts: 16, TopK: 2, Width: 32, Layers: 4}},
		{qwen + `, "decoder_sparse_step": 2`, MoE{Experts: 16, TopK: 2, Width: 32, Layers: 2, DenseWidth: 128}},
		{qwen + `, "mlp_only_layers": [0, 3]`, MoE{Experts: 16, TopK: 2, Width: 32, Layers: 2, DenseWidth: 128}},
		{qwen + `, "model_type": "qwen2_moe", "shared_expert_intermediate_size": 96`, MoE{Experts: 16, TopK: 2, Width: 32, Layers: 4, SharedWidth: 96}},
	} {
		m, _, err := ParseConfig(strings.NewReader(tiny(c.keys)), "tiny")
		if err != nil || m.MoE != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.keys, m.MoE, err, c.want)
		}
	}
}

func TestParseConfigNamesTheKeyAtFault(t *testing.T) {
	for _, c := range []struct {
		config string
		want   []string
	}{
		{``, []string{"x: not a config.json"}},
		{`null`, []string{"x: not a config.json"}},
		{`[1]`, []string{"x: not a config.json"}},
		{`{}`, []string{"model_type: missing", "Llama", "gpt-oss"}},
		{`{"model_type": 3}`, []string{"model_type: must be a string"}},
		{`{"model_type": "mamba"}`, []string{`model_type: unknown architecture "mamba"`, "supported families: Llama"}},
		{`{"architectures": ["GPT2LMHeadModel"]}`, []string{`architectures: unknown architecture "GPT2LMHeadModel"`}},
		{`{"model_type": "llama"}`, []string{"num_hidden_layers: missing", "hidden_size: missing", "vocab_size: missing"}},
		{tiny(`"num_hidden_layers": 0`), []string{"num_hidden_layers: must be a whole number from 1", "got 0"}},
		{tiny(`"hidden_size": -4096`), []string{"hidden_size: must be", "got -4096"}},
		{tiny(`"hidden_size": 64.5`), []string{"hidden_size: must be", "got 64.5"}},
		{tiny(`"hidden_size": "wide"`), []string{"hidden_size: must be a number, got string"}},
		{tiny(`"vocab_size": 1e300`), []string{"vocab_size: must be"}},
		{tiny(`"num_key_value_heads": 3`), []string{"num_key_value_heads: must divide the 8 attention heads, got 3"}},
		{tiny(`"num_attention_heads": 7`), []string{"head_dim: missing"}},
		{tiny(`"model_type": "mixtral"`), []string{"num_local_experts: missing", "num_experts_per_tok: missing"}},
		{tiny(`"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3`), []string{"num_experts_per_tok: must not exceed the 2 experts"}},
		{tiny(`"model_type": "deepseek_v3"`), []string{"kv_lora_rank: missing", "v_head_dim: missing"}},
		{tiny(`"model_type": "gpt_oss", "num_local_experts": 2, "num_experts_per_tok": 1, "layer_types": ["full_attention"]`), []string{"layer_types: must name each of the 4 layers, got 1"}},
		{tiny(`"torch_dtype": "int3"`), []string{`torch_dtype: unknown dtype "int3"`}},
		{tiny(`"quantization_config": {"quant_method": "squeeze"}`), []string{`quantization_config: unknown quant_method "squeeze"; known: fp8`}},
		{tiny(`"quantization_config": {"quant_method": "gptq", "bits": 3}`), []string{"gptq with 3 bits"}},
		{tiny(`"quantization_config": 7`), []string{"quantization_config: must be"}},
	} {
		_, _, err := ParseConfig(strings.NewReader(c.config), "x")
		if err == nil {
			t.Errorf("%s: no error", c.config)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", c.config, err, want)
			}
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestParseConfigPassesReadErrorsOn(t *testing.T) {
	if _, _, err := ParseConfig(broken{}, "x"); err == nil || !strings.Contains(err.Error(), "x: disk on fire") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/config/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(tiny(`"quantization_config": {"quant_method": "compressed-tensors"}`))
	f.Fuzz(func(t *testing.T, text string) {
		m, dtype, err := ParseConfig(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		total, active := m.Params()
		if total <= 0 || active <= 0 || active > total {
			t.Errorf("%d parameters, %d active", total, active)
		}
		if m.KVBytesPerToken(BF16) <= 0 || m.WindowLayers > m.Layers || m.ExpertLayers() > m.Layers || dtype == "" {
			t.Errorf("impossible model %+v", m)
		}
	})
}
