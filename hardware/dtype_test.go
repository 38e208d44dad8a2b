package hardware

import (
	"strings"
	"testing"
)

func TestParseDtypeReadsWhatUsersOfVLLMType(t *testing.T) {
	for _, c := range []struct {
		spelling string
		want     Dtype
	}{
		{"", ""},
		{"auto", ""},
		{"half", FP16},
		{"float16", FP16},
		{"bfloat16", BF16},
		{"BF16", BF16},
		{"fp8", FP8},
		{"fp8_e4m3", FP8},
		{"fp8_e5m2", FP8},
		{"fp8-dynamic", FP8},
		{"FP8", FP8},
		{"int8", INT8},
		{"w8a8", INT8},
		{"awq", AWQ},
		{"awq_marlin", AWQ},
		{"gptq", GPTQ},
		{"gptq_marlin", GPTQ},
		{"mxfp4", MXFP4},
		{"nvfp4", NVFP4},
		{"modelopt", FP8},
		{"modelopt_fp4", NVFP4},
		{" fp8 ", FP8},
	} {
		if got, err := ParseDtype(c.spelling); err != nil || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.spelling, got, err, c.want)
		}
	}
	for _, d := range dtypes {
		if got, err := ParseDtype(string(d)); err != nil || got != d {
			t.Errorf("%q does not read as itself: %q, %v", d, got, err)
		}
	}
	if _, err := ParseDtype("fp7"); err == nil || !strings.Contains(err.Error(), `unknown dtype "fp7"; choose one of: auto, bfloat16`) {
		t.Errorf("got %v", err)
	}
}

func TestBytesPerElement(t *testing.T) {
	for _, c := range []struct {
		dtype Dtype
		want  float64
	}{{BF16, 2}, {FP16, 2}, {"", 2}, {FP8, 1}, {INT8, 1}, {AWQ, 0.53}, {GPTQ, 0.516}, {MXFP4, 0.53125}, {NVFP4, 0.5625}} {
		if got := c.dtype.Bytes(); got != c.want || c.dtype.Narrow() != (c.want < 2) {
			t.Errorf("%q: %g bytes, want %g", c.dtype, got, c.want)
		}
	}
}

func TestWeightOnlyWhereTheDeviceLacksTheArithmetic(t *testing.T) {
	for _, c := range []struct {
		dtype  Dtype
		device string
		want   bool
	}{
		{BF16, "a100-sxm-80g", false},
		{FP8, "a100-sxm-80g", true},
		{INT8, "a100-sxm-80g", false},
		{FP8, "h100-sxm", false},
		{FP8, "l40s", false},
		{AWQ, "h100-sxm", true},
		{GPTQ, "b200-sxm", true},
		{MXFP4, "h100-sxm", true},
		{MXFP4, "b200-sxm", false},
		{NVFP4, "rtx-5090", false},
	} {
		if got := c.dtype.WeightOnlyOn(device(t, c.device)); got != c.want {
			t.Errorf("%s on %s: weight-only %v, want %v", c.dtype, c.device, got, c.want)
		}
	}
}
