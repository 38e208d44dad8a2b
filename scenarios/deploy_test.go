package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/hardware"
)

func soldH100(t *testing.T) hardware.Device {
	t.Helper()
	d, _, err := hardware.FindDevice("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func warns(x *Experiment, text string) bool {
	return slices.ContainsFunc(x.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

func TestColumnsThatChangeNoTimeLeaveTheKernelsMeasured(t *testing.T) {
	for _, columns := range []string{
		"ridge_bf16_flop_per_byte: 300", "usd_per_h_typ: 9", "usd_per_h_low: 1", "fp8_tflops: 1500", "fp4_tflops: 2000", "int8_tops: 1500",
		"mem_gb: 96", "l2_mb: 60", "link_gbs_per_dir: 0", "pcie_gbs_per_dir: 32", "note: mine", "mem_bw_tbs: 3.35",
	} {
		x := mustBuild(t, "chat", "hardware.gpu={"+columns+"}")
		if got := x.Deployment.Device; got.Status != hardware.Measured || got.Name != "h100-sxm" || warns(x, "assumed") {
			t.Errorf("%s: kernels of %s are %s: %q", columns, got.Name, got.Status, x.Warnings)
		}
	}
}

func TestColumnsThatChangeTimesLeaveTheKernelsAssumed(t *testing.T) {
	for _, c := range []struct {
		columns string
		others  []string
		changed string
	}{
		{"mem_bw_tbs: 6.7", nil, "mem_bw_tbs"},
		{"bf16_tflops: 500, sm: 100", nil, "sm, bf16_tflops"},
		{"tdp_w: 350", nil, "tdp_w"},
		{"name: H100, mem_bw_tbs: 6.7", nil, "mem_bw_tbs"},
		{"fp8_tflops: 1500", []string{"engine.quantization=fp8"}, "fp8_tflops"},
		{"link_gbs_per_dir: 0", []string{"engine.tensor_parallel_size=2"}, "link_gbs_per_dir"},
		{"link_gbs_per_dir: 100", []string{"engine.tensor_parallel_size=2"}, "link_gbs_per_dir"},
	} {
		x := mustBuild(t, "chat", append(c.others, "hardware.gpu={"+c.columns+"}")...)
		if x.Deployment.Device.Status != hardware.Assumed || !warns(x, "this h100-sxm differs from the one that is sold in "+c.changed+": its kernel efficiencies are assumed") {
			t.Errorf("%s: %s, %q", c.columns, x.Deployment.Device.Status, x.Warnings)
		}
	}
}

func TestAnUnnamedMappingReplacesColumnsOfTheDefaultCard(t *testing.T) {
	want := soldH100(t)
	got := mustBuild(t, "chat", "hardware.gpu={mem_bw_tbs: 6.7}").Deployment.Device
	if got.Bandwidth != 6.7e12 || got.BF16 != want.BF16 || got.Memory != want.Memory || got.Kernels.GEMM != want.Kernels.GEMM {
		t.Errorf("got %+v", got)
	}
	// Of another generation it is a card of its own, and stays so when the resolved configuration is run again.
	own := "hardware.gpu={arch: Ada, sm: 142, bf16_tflops: 300, mem_gb: 48, mem_bw_tbs: 1, tdp_w: 300}"
	x := mustBuild(t, "chat", own)
	if d := x.Deployment.Device; d.Name != "custom" || d.FP8 != 0 || d.PCIe != 32e9 {
		t.Errorf("got %+v", d)
	}
	again := mustBuild(t, string(x.Scenario.Map().JSON()))
	if again.Deployment.Device.Name != "custom" || again.Deployment.Device.Bandwidth != 1e12 {
		t.Errorf("run again: %+v", again.Deployment.Device)
	}
}

func TestALinkOfZeroIsNoLink(t *testing.T) {
	for _, mapping := range []string{"{link_gbs_per_dir: 0}", "{name: H100-SXM, link_gbs_per_dir: 0, link_type: NVLink4}"} {
		two := "engine.tensor_parallel_size=2"
		with, without := mustBuild(t, "chat", two), mustBuild(t, "chat", two, "hardware.gpu="+mapping)
		if got := without.Deployment.Device.Link; got != (hardware.Link{}) {
			t.Errorf("%s leaves the link %+v", mapping, got)
		}
		step := hardware.Step{}
		step.AddChunk(2000, 0, true, hardware.Window{})
		if a, b := with.cost.Cost(step).By.Network, without.cost.Cost(step).By.Network; b < 2*a {
			t.Errorf("%s: %v over NVLink, %v over PCIe", mapping, a, b)
		}
		again := mustBuild(t, string(without.Scenario.Map().JSON()))
		if again.Deployment.Device.Link != (hardware.Link{}) {
			t.Errorf("%s: the link is back in the resolved configuration", mapping)
		}
	}
}

func TestCardsOfYourOwnNeedTheirColumnsByName(t *testing.T) {
	_, err := build("chat", "hardware.gpu={name: mine, arch: Hopper}")
	for _, column := range []string{"sm", "bf16_tflops", "mem_gb", "mem_bw_tbs", "tdp_w"} {
		if err == nil || !strings.Contains(err.Error(), "hardware.gpu: mine: "+column+" is missing") {
			t.Errorf("%s is not asked for: %v", column, err)
		}
	}
	if strings.Contains(err.Error(), "pcie") {
		t.Errorf("PCIe is asked for: %v", err)
	}
	_, err = build("chat", "hardware.gpu={name: mine, sm: 100}")
	if err == nil || !strings.Contains(err.Error(), "mine: arch is missing: it decides which kernels are assumed; known are Hopper, ") {
		t.Errorf("got %v", err)
	}
}

func TestNumbersOutsideAllRangesAreRefusedAtTheirColumn(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"mem_bw_tbs=1e-12", "hardware.gpu.mem_bw_tbs: must lie between 0.001 and 1000, got 1e-12"},
		{"bf16_tflops=1e-15", "hardware.gpu.bf16_tflops: must lie between 0.1 and 1000000, got 1e-15"},
		{"link_gbs_per_dir=1e-12", "hardware.gpu.link_gbs_per_dir: must be 0 (none) or lie between 0.1 and 100000, got 1e-12"},
		{"mem_gb=1e30", "hardware.gpu.mem_gb: must lie between 0.1 and 100000, got 1e+30"},
		{"mem_mib_reported=1e30", "hardware.gpu.mem_mib_reported: mem_gb must lie between 0.1 and 100000, got 1e+30"},
		{"sm=1e30", "hardware.gpu.sm: must lie between 1 and 100000, got 1e+30"},
		{"tdp_w=1e9", "hardware.gpu.tdp_w: must lie between 1 and 100000, got 1e+09"},
	} {
		if _, err := build("chat", "hardware.gpu."+c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.set, err, c.want)
		}
	}
}

func TestUnfusedKernelsAreForAWQAndGPTQ(t *testing.T) {
	x := mustBuild(t, "name: x\n", "hardware.kernels.weight_only=unfused")
	if !x.Deployment.Unfused || !strings.Contains(strings.Join(x.Warnings, "\n"), "weight_only has no effect on bfloat16 weights") {
		t.Errorf("unfused %v, warnings %q", x.Deployment.Unfused, x.Warnings)
	}
	if x = mustBuild(t, "name: x\n", "hardware.kernels.weight_only=unfused", "engine.quantization=awq"); !x.Deployment.Unfused || len(x.Warnings) > 0 {
		t.Errorf("AWQ: unfused %v, warnings %q", x.Deployment.Unfused, x.Warnings)
	}
}
