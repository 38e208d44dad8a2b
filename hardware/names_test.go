package hardware

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestModelNamesResolve(t *testing.T) {
	for _, c := range []struct {
		name, want string
		dtype      Dtype
	}{
		// Spellings of measured runs.
		{"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b", ""},
		{"Qwen/Qwen3-14B", "qwen3-14b", ""},
		{"Qwen/Qwen3-14B-AWQ", "qwen3-14b", AWQ},
		{"Qwen/Qwen3-14B-FP8", "qwen3-14b", FP8},
		{"Qwen/Qwen3-8B", "qwen3-8b", ""},
		{"Qwen/Qwen3-32B", "qwen3-32b", ""},
		{"RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "llama-4-scout", FP8},
		{"codellama/CodeLlama-34b-Instruct-hf", "codellama-34b", ""},
		{"deepseek-ai/DeepSeek-R1", "deepseek-v3", ""},
		{"deepseek-ai/DeepSeek-R1-0528", "deepseek-v3", ""},
		{"meta-llama/Llama-2-70b-hf", "llama-2-70b", ""},
		{"meta-llama/Llama-2-7b-hf", "llama-2-7b", ""},
		{"meta-llama/Llama-3.1-70B", "llama-3.1-70b", ""},
		{"meta-llama/Llama-3.1-70B-Instruct", "llama-3.1-70b", ""},
		{"meta-llama/Llama-3.1-8B", "llama-3.1-8b", ""},
		{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", ""},
		{"mistralai/Mixtral-8x22B-Instruct-v0.1", "mixtral-8x22b", ""},
		{"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b", ""},
		{"openai/gpt-oss-120b", "gpt-oss-120b", ""},
		{"openai/gpt-oss-20b", "gpt-oss-20b", ""},
		{"Llama-3.3-70B-Instruct", "llama-3.1-70b", ""},
		{"llama2-70b", "llama-2-70b", ""},
		{"llama3.1-8b", "llama-3.1-8b", ""},
		// Case, separators, organisations.
		{"LLAMA-3.1-8B", "llama-3.1-8b", ""},
		{"llama_3.1_8b_instruct", "llama-3.1-8b", ""},
		{"Llama 3.1 8B Instruct", "llama-3.1-8b", ""},
		{"someone/else/Llama-3.1-8B/", "llama-3.1-8b", ""},
		{"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b", ""},
		{"meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b", FP8},
		// Suffixes that do not change the shape, wherever they stand.
		{"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b", ""},
		{"google/gemma-2-9b-it", "gemma-2-9b", ""},
		{"Qwen/Qwen3-8B-Base", "qwen3-8b", ""},
		{"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b", ""},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b", FP8},
		{"Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-235b-a22b", ""},
		{"internlm/internlm-chat-20b", "internlm-20b", ""},
		{"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b-v0.1", ""},
		{"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3", ""},
		{"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b", ""},
		{"mistral-nemo-12b", "mistral-nemo-12b", ""},
		{"Mistral-Large-Instruct-2411", "mistral-large-123b", ""},
		{"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3", ""},
		{"deepseek-ai/DeepSeek-V2-Chat", "deepseek-v2", ""},
		{"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite", ""},
		{"moonshotai/Kimi-K2-Instruct-0905", "kimi-k2", ""},
		{"microsoft/Phi-3-mini-128k-instruct", "phi-3-mini", ""},
		// Weight dtypes.
		{"Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5-7b", AWQ},
		{"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "qwen2.5-72b", GPTQ},
		{"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "qwen2.5-72b", INT8},
		{"Qwen2.5-7B-GPTQ", "qwen2.5-7b", GPTQ},
		{"Llama-3.1-8B-Instruct-INT8", "llama-3.1-8b", INT8},
		{"neuralmagic/Llama-3.1-8B-Instruct-FP8-dynamic", "llama-3.1-8b", FP8},
		{"neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama-3.1-8b", INT8},
		{"neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3.1-8b", GPTQ},
		{"hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "llama-3.1-8b", AWQ},
		{"amd/Llama-3.1-70B-Instruct-FP8-KV", "llama-3.1-70b", FP8},
		{"nvidia/DeepSeek-R1-FP4", "deepseek-v3", NVFP4},
		{"Mixtral-8x7B-Instruct-v0.1-FP8", "mixtral-8x7b", FP8},
		{"TheBloke/Mistral-7B-Instruct-v0.1-AWQ", "mistral-7b-v0.1", AWQ},
	} {
		m, dtype, _, err := FindModel(c.name)
		if err != nil || m.Name != c.want || dtype != c.dtype {
			t.Errorf("%s: %q %q, %v; want %q %q", c.name, m.Name, dtype, err, c.want, c.dtype)
		}
	}
}

func TestModelTableNamesAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, m := range Models() {
		for _, spelling := range []string{m.Name, m.ID, strings.ToUpper(m.Name), strings.ReplaceAll(m.ID, "-", "_")} {
			if got, _, _, err := FindModel(spelling); err != nil || got.Name != m.Name {
				t.Errorf("%s: %q, %v; want %q", spelling, got.Name, err, m.Name)
			}
		}
		for _, key := range modelSpellings(m) {
			if other, ok := seen[key]; ok && other != m.Name {
				t.Errorf("%q means both %s and %s", key, other, m.Name)
			}
			seen[key] = m.Name
		}
	}
}

func TestTwinsOfAnotherShapeAreNotedAndDistillsAreUnknown(t *testing.T) {
	if _, _, note, err := FindModel("DeepSeek-R1"); err != nil || !strings.Contains(note, "deepseek-v3") {
		t.Errorf("note %q, %v", note, err)
	}
	for _, name := range []string{"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "DeepSeek-R1-Distill-Llama-8B", "Mistral-7B", "llama", "", "/", "---", "Instruct"} {
		_, _, _, err := FindModel(name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Kind != "model" || unknown.Name != name || len(unknown.Nearest) != 3 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestUnknownModelsAreOfferedTheNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"llama-3.1-9b", "llama-3.1-8b"},
		{"lama-3.1-8b", "llama-3.1-8b"},
		{"Qwen/Qwen3-15B-FP8", "qwen3-14b"},
		{"mistral-7b", "mistral-7b-v0.1"},
		{"gpt-os-20b", "gpt-oss-20b"},
		{"DeepSeek-V4", "deepseek-v3"},
	} {
		_, _, _, err := FindModel(c.name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !slices.Contains(unknown.Nearest, c.want) {
			t.Errorf("%s: %v; want %s among the nearest", c.name, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), c.name) {
			t.Errorf("%q does not name %q", err, c.name)
		}
	}
}

func TestDeviceNamesResolve(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		// Spellings of measured runs.
		{"A100-SXM-80GB", "a100-sxm-80g"},
		{"H100-SXM-80GB", "h100-sxm"},
		{"H200-SXM-141GB", "h200-sxm"},
		{"L40S-48GB", "l40s"},
		{"RTX-4090-24GB", "rtx-4090"},
		{"RTX-PRO-6000-96GB", "rtx-pro-6000-server"},
		{"h100_sxm", "h100-sxm"},
		{"h200_sxm", "h200-sxm"},
		{"b200_sxm", "b200-sxm"},
		{"B200-180GB", "b200-sxm"},
		{"MI300X-192GB", "mi300x"},
		{"H20", "h20-sxm"},
		{"H800", "h800-sxm"},
		{"NVIDIA H200-SXM-141GB", "h200-sxm"},
		{"AMD Instinct MI325X 256GB HBM3e", "mi325x"},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
		// As drivers report them.
		{"NVIDIA H100 80GB HBM3", "h100-sxm"},
		{"NVIDIA A100-SXM4-80GB", "a100-sxm-80g"},
		{"NVIDIA A100-SXM4-40GB", "a100-sxm-40g"},
		{"NVIDIA A100 80GB PCIe", "a100-pcie-80g"},
		{"NVIDIA H100 PCIe", "h100-pcie"},
		{"NVIDIA H100 NVL", "h100-nvl"},
		{"NVIDIA L40S", "l40s"},
		{"NVIDIA L4", "l4"},
		{"NVIDIA A10G", "a10g"},
		{"NVIDIA A10", "a10"},
		{"Tesla T4", "t4"},
		{"Tesla V100-SXM2-32GB", "v100-sxm2-32g"},
		{"NVIDIA GeForce RTX 4090", "rtx-4090"},
		{"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
		{"NVIDIA GeForce RTX 5090", "rtx-5090"},
		// Case, separators, variants.
		{"H100-SXM", "h100-sxm"},
		{"h100-sxm", "h100-sxm"},
		{"H100SXM", "h100-sxm"},
		{"H100-SXM5", "h100-sxm"},
		{"H100", "h100-sxm"},
		{"H100-80GB", "h100-sxm"},
		{"h100 94gb", "h100-nvl"},
		{"H100-PCIe-80GB", "h100-pcie"},
		{"A100", "a100-sxm-80g"},
		{"A100-80GB", "a100-sxm-80g"},
		{"A100-80G", "a100-sxm-80g"},
		{"A100-40GB", "a100-sxm-40g"},
		{"A100-SXM", "a100-sxm-80g"},
		{"A100-PCIE", "a100-pcie-80g"},
		{"V100", "v100-sxm2-32g"},
		{"H200", "h200-sxm"},
		{"H200-141GB", "h200-sxm"},
		{"B200", "b200-sxm"},
		{"B200-192GB", "b200-sxm"},
		{"B300-288GB", "b300-sxm"},
		{"GB200", "gb200"},
		{"GH200", "gh200-96"},
		{"GH200-96GB", "gh200-96"},
		{"RTX4090", "rtx-4090"},
		{"4090", "rtx-4090"},
		{"RTXPRO6000", "rtx-pro-6000-server"},
		{"RTX-6000-Ada-48GB", "rtx-6000-ada"},
		{"L40", "l40"},
		{"L40-48GB", "l40"},
		{"A40-48GB", "a40"},
		{"T4-16GB", "t4"},
		{"Gaudi-3", "gaudi3"},
	} {
		d, _, err := FindDevice(c.name)
		if err != nil || d.Name != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, d.Name, err, c.want)
		}
	}
}

func TestEveryDeviceIsFoundByItsName(t *testing.T) {
	for _, d := range Devices() {
		for _, spelling := range []string{d.Name, strings.ToUpper(d.Name), strings.ReplaceAll(d.Name, "-", "_"), strings.ReplaceAll(d.Name, "-", " ")} {
			if got, note, err := FindDevice(spelling); err != nil || got.Name != d.Name || note != "" {
				t.Errorf("%s: %q %q, %v; want %q and no note", spelling, got.Name, note, err, d.Name)
			}
		}
	}
}

func TestOpenVariantsAreNoted(t *testing.T) {
	for _, c := range []struct{ name, note string }{
		{"H100", "H100 is taken as h100-sxm, the common variant; others: h100-pcie, h100-nvl"},
		{"A100-80GB", "A100-80GB is taken as a100-sxm-80g, the common variant; others: a100-pcie-80g"},
		{"H100-SXM-80GB", ""},
		{"H200", ""},
		{"RTX-PRO-6000-96GB", ""},
	} {
		if _, note, err := FindDevice(c.name); err != nil || note != c.note {
			t.Errorf("%s: note %q, %v; want %q", c.name, note, err, c.note)
		}
	}
}

func TestUnknownDevicesAreOfferedTheNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"H101", "h100-sxm"},
		{"h100-sxn", "h100-sxm"},
		{"RTX-4080", "rtx-4090"},
		{"L40X", "l40s"},
		{"H100-SXM-40GB", "h100-sxm"}, // there is no such variant
		{"rtx", "rtx-4090"},
	} {
		_, _, err := FindDevice(c.name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Kind != "GPU" || len(unknown.Nearest) != 3 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !slices.Contains(unknown.Nearest, c.want) {
			t.Errorf("%s: nearest %v; want %s among them", c.name, unknown.Nearest, c.want)
		}
	}
}

func TestAbsurdNamesAreUnknown(t *testing.T) {
	for _, name := range []string{"", "-", "80GB", "NVIDIA", strings.Repeat("x", 1<<20), "\xff\x00"} {
		var unknown *UnknownError
		if _, _, err := FindDevice(name); !errors.As(err, &unknown) || len(unknown.Nearest) != 3 {
			t.Errorf("GPU %.20q: %.200v", name, err)
		}
		if _, _, _, err := FindModel(name); !errors.As(err, &unknown) || len(unknown.Nearest) != 3 {
			t.Errorf("model %.20q: %.200v", name, err)
		}
	}
}

func TestEditsCountsInsertionsDeletionsAndReplacements(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"h100", "h200", 1},
	} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
