package hardware

import (
	"fmt"
	"strings"
)

// spellings lists what ParseDtype reads: the values of vLLM's --dtype, --quantization and --kv-cache-dtype that have a
// price here, in lower case with dashes as underscores.
var spellings = []struct {
	spelling string
	dtype    Dtype
}{
	{"bfloat16", BF16},
	{"bf16", BF16},
	{"float16", FP16},
	{"fp16", FP16},
	{"half", FP16},
	{"fp8", FP8},
	{"fp8_e4m3", FP8},
	{"fp8_e5m2", FP8},
	{"fp8_inc", FP8},
	{"fp8_dynamic", FP8},
	{"fbgemm_fp8", FP8},
	{"ptpc_fp8", FP8},
	{"modelopt", FP8},
	{"modelopt_fp8", FP8},
	{"int8", INT8},
	{"w8a8", INT8},
	{"w8a8_int8", INT8},
	{"awq", AWQ},
	{"awq_marlin", AWQ},
	{"gptq", GPTQ},
	{"gptq_marlin", GPTQ},
	{"int4", GPTQ},
	{"w4a16", GPTQ},
	{"mxfp4", MXFP4},
	{"nvfp4", NVFP4},
	{"modelopt_fp4", NVFP4},
}

// ParseDtype reads a number format as users of vLLM write it, in any case, dashes or underscores; "", "auto" and
// "none" give "", which means the checkpoint's own.
func ParseDtype(s string) (Dtype, error) {
	key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
	if key == "" || key == "auto" || key == "none" {
		return "", nil
	}
	for _, known := range spellings {
		if known.spelling == key {
			return known.dtype, nil
		}
	}
	var allowed []string
	for _, t := range dtypes {
		allowed = append(allowed, string(t))
	}
	return "", fmt.Errorf("unknown dtype %q; choose one of: auto, %s", s, strings.Join(allowed, ", "))
}

// dtypes lists every format, in the order in which errors offer them.
var dtypes = []Dtype{BF16, FP16, FP8, INT8, AWQ, GPTQ, MXFP4, NVFP4}

// Narrow reports whether a weight takes less than 16 bits in t.
func (t Dtype) Narrow() bool { return t.Bytes() < 2 }

// Bytes returns the bytes per element of a matrix, or of a KV cache, stored in t, scales and zero points included; 2 for
// the zero Dtype.
func (t Dtype) Bytes() float64 {
	switch t {
	case FP8, INT8:
		return 1 // one scale per channel, or per block of 128 × 128, is under 0.1 %
	case AWQ:
		return 0.53 // 4 bits, a 16-bit scale and a zero point per group of 128
	case GPTQ:
		return 0.516 // the same, symmetric: 4 + 16/128 bits
	case MXFP4:
		return 0.53125 // 4 bits and an 8-bit scale per 32 (OCP Microscaling Formats 1.0): 4.25 bits
	case NVFP4:
		return 0.5625 // 4 bits and an 8-bit scale per 16: 4.5 bits
	}
	return 2
}

// WeightOnlyOn reports whether d keeps weights in t but widens them to 16 bits to compute: always with AWQ and GPTQ,
// with FP8 on Ampere, with the FP4 formats before Blackwell.
func (t Dtype) WeightOnlyOn(d Device) bool {
	switch t {
	case AWQ, GPTQ:
		return true
	case FP8:
		return d.FP8 == 0
	case INT8:
		return d.INT8 == 0
	case MXFP4, NVFP4:
		return d.FP4 == 0
	}
	return false
}
