package scenarios

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOverlayThatWasWrittenIsReadAsItWas(t *testing.T) {
	want := &Overlay{
		Name: `Ada's "box": 1`, EngineProfile: "vllm-0.14", GPU: "l40s", Model: "llama-3.1-8b", Weights: "bfloat16",
		TensorParallel: 1, PipelinePar: 2,
		Constants: Constants{617e-6, 7103e-9, 0, 0.9712, math.NaN(), 12345},
		Fitted:    Fitted{6, Span{0.5, 63.5}, Span{512, 4096}, Span{64, 256}},
		Source:    []string{"a b.json", `c\d.json#2`}, ErrorBeforePct: 12.5, ErrorAfterPct: 1.2, LeaveOneOutPct: 2.1,
		file: "x.yaml",
	}
	got, err := ReadOverlay("x.yaml", want.YAML())
	if err != nil {
		t.Fatalf("%v\n%s", err, want.YAML())
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Overlay{}), cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestMistakesInAnOverlayAreShownTogetherWithTheirPlaces(t *testing.T) {
	for name, c := range map[string]struct { // order does not matter: subtests
		text string
		want []string
	}{
		"unknown keys and wrong values": {
			"name: x\nengine_profile: vllm-9\nconstants:\n  exposed_bse: 1ms\n  flop_fraction: 4\n  kv_blocks: 1.5\n  frontend_latency: 20\nfitted: {requests: [9, 1]}\n",
			[]string{
				"p.yaml:2:17: engine_profile: must be one of", "p.yaml:4:3: constants.exposed_bse: unknown key, did you mean exposed_base?",
				"p.yaml:5:18: constants.flop_fraction: must lie between 0.1 and 2, got 4", "p.yaml:6:14: constants.kv_blocks: must be a whole number",
				"p.yaml:7:21: constants.frontend_latency: needs a unit", "p.yaml:8:", "fitted.requests: must ascend",
			},
		},
		"no constant at all": {"name: x\n", []string{"constants: must give at least one of exposed_base"}},
		"not a mapping":      {"- 1\n", []string{"must be a mapping with the keys name"}},
		"not YAML":           {"name: [", []string{"p.yaml:1:"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadOverlay("p.yaml", []byte(c.text))
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in\n%v", w, err)
				}
			}
		})
	}
}

// overlaid builds the scenario with an overlay of these lines.
func overlaid(t *testing.T, overlay string, set ...string) *Experiment {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Parse("test", []byte("workload: {requests: 20, arrivals: {name: closed, clients: 4}, prompt: {dist: fixed, mean: 100}, output: {dist: fixed, mean: 20}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{"overlay=" + path}, set...) {
		key, value, _ := strings.Cut(s, "=")
		if err := d.Set(key, value, "--"+key); err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestOverlayTakesThePlaceOfTheProfilesConstants(t *testing.T) {
	const overlay = "engine_profile: vllm-0.14\ngpu: h100-sxm\nmodel: llama-3.1-8b\n" +
		"constants: {exposed_base: 2ms, exposed_per_seq: 30us, frontend_latency: 9ms, bandwidth_fraction: 0.5, flop_fraction: 0.8, kv_blocks: 999}\n"
	plain := overlaid(t, "constants: {exposed_base: 0s}", "engine.profile=vllm-0.14")
	x := overlaid(t, overlay)
	if want := (Constants{2e-3, 30e-6, 9e-3, 0.5, 0.8, 999}); x.Constants() != want {
		t.Errorf("constants in force %v, want %v", x.Constants(), want)
	}
	if x.Profile.Name != "vllm-0.14" {
		t.Errorf("the engine profile is %s, want the one that was fitted", x.Profile.Name)
	}
	was, is := plain.Deployment.Device.Kernels, x.Deployment.Device.Kernels
	if is.GEMM.Memory != was.GEMM.Memory/2 || is.DecodeMemory != was.DecodeMemory/2 || is.PrefillCompute != 0.8*was.PrefillCompute {
		t.Errorf("kernels reach %+v, want half the bandwidth and 0.8 of the arithmetic of %+v", is, was)
	}
	if x.Pool().Usage().Total != 998 {
		t.Errorf("the pool has %d blocks to hand out, want 998", x.Pool().Usage().Total)
	}
}

func TestOverlayGivesWayToWhatIsSaidExplicitly(t *testing.T) {
	const overlay = "engine_profile: vllm-0.14\ngpu: h100-sxm\nmodel: llama-3.1-8b\nconstants: {kv_blocks: 999}\n"
	for name, c := range map[string]struct { // order does not matter: subtests
		set     string
		blocks  int
		warning string
	}{
		"blocks":         {"engine.num_gpu_blocks_override=500", 500, ""},
		"engine profile": {"engine.profile=vllm-0.19", 999, "was fitted to vllm-0.14, this is vllm-0.19"},
		"another model":  {"model=llama-3.2-1b", 0, "was fitted to llama-3.1-8b: its kv_blocks are not used"},
		"another GPU":    {"hardware.gpu=h200-sxm", 0, "was fitted to a h100-sxm, this is a h200-sxm"},
	} {
		t.Run(name, func(t *testing.T) {
			x := overlaid(t, overlay, c.set)
			if c.blocks > 0 && x.Memory.Blocks != c.blocks || c.blocks == 0 && x.Memory.Blocks == 999 {
				t.Errorf("%d blocks, want %d (0: those of the plan)", x.Memory.Blocks, c.blocks)
			}
			if text := strings.Join(x.Warnings, "\n"); !strings.Contains(text, c.warning) {
				t.Errorf("no %q among the warnings:\n%s", c.warning, text)
			}
		})
	}
}

func TestRunOutsideTheFittedLoadsWarnsAndIsTrustedNoMore(t *testing.T) {
	const constants = "constants: {exposed_base: 1ms}\nprovenance: {leave_one_out_pct: 2, results: [a.json]}\n"
	for name, c := range map[string]struct { // order does not matter: subtests
		fitted string
		warns  bool
		band   float64
	}{
		"inside":      {"fitted: {results: 4, requests: [1, 8], prompt_tokens: [50, 200], output_tokens: [10, 30]}\n", false, 4},
		"too many":    {"fitted: {results: 4, requests: [1, 2]}\n", true, 10},
		"too long":    {"fitted: {results: 4, prompt_tokens: [10, 50]}\n", true, 10},
		"not so long": {"fitted: {results: 4, output_tokens: [100, 200]}\n", true, 10},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := overlaid(t, constants+c.fitted).Run(context.Background(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(result.Report.Warnings, "\n")
			if warns := strings.Contains(text, "its constants are a guess here"); warns != c.warns || result.Provenance.ErrorBandPct != c.band {
				t.Errorf("warned: %v, band ±%g%%; want %v, ±%g%%\n%s", warns, result.Provenance.ErrorBandPct, c.warns, c.band, text)
			}
		})
	}
}

func TestErrorBandIsThatOfTheCardAndTheEngine(t *testing.T) {
	for set, want := range map[string]string{ // order does not matter: subtests
		"hardware.gpu=h100-sxm":    "±10%; kernels of the h100-sxm: measured",
		"hardware.gpu=l4":          "±25%; kernels of the l4: assumed, no served run was compared",
		"engine.profile=vllm-0.11": "±30%; kernels of the h100-sxm: measured, few runs",
	} {
		x := overlaid(t, "constants: {exposed_base: 1ms}", set, "engine.max_model_len=4096")
		if got := x.Provenance.Accuracy(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", set, got, want)
		}
	}
}
