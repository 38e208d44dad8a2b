package hardware

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// testdata/models.csv holds counts that were computed apart from this package and checked against the published
// checkpoints.
func TestParameterCountsAgreeWithPublishedOnes(t *testing.T) {
	f, err := os.Open("testdata/models.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	all := Models()
	if len(all) != len(rows) {
		t.Fatalf("%d models, want %d", len(all), len(rows))
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, row := range rows {
		m := all[i]
		total, active := m.Params()
		if m.Name != row[0] || m.ID != row[1] || total != number(row[2]) || active != number(row[3]) {
			t.Errorf("%s %s: %d parameters, %d active; want %v", m.Name, m.ID, total, active, row)
		}
		if got := m.KVBytesPerToken(BF16); got != number(row[4]) {
			t.Errorf("%s: %d KV bytes per token, want %s", m.Name, got, row[4])
		}
		if got := m.KVBytesPerToken(FP8); 2*got != number(row[4]) {
			t.Errorf("%s: %d KV bytes per token in FP8, want half of %s", m.Name, got, row[4])
		}
		if off := math.Abs(float64(total)/m.PublishedParams - 1); off > 1e-4 {
			t.Errorf("%s: %d parameters are %.3f %% off the published %g", m.Name, total, 100*off, m.PublishedParams)
		}
	}
}

func TestModelRowsAreComplete(t *testing.T) {
	for _, m := range Models() {
		if m.Source == "" || m.Dtype == "" || m.MaxPositions < 2048 || m.Layers == 0 || m.HeadDim == 0 || m.Heads%m.KVHeads != 0 {
			t.Errorf("%s is incomplete: %+v", m.Name, m)
		}
		if (m.Window > 0) != (m.WindowLayers > 0) || m.WindowLayers > m.Layers || m.ExpertLayers() > m.Layers {
			t.Errorf("%s: %d of %d layers slide over %d keys, %d have experts", m.Name, m.WindowLayers, m.Layers, m.Window, m.ExpertLayers())
		}
	}
}

func TestPartsOfKnownModels(t *testing.T) {
	part := func(name string) Parts {
		m, _, _, err := FindModel(name)
		if err != nil {
			t.Fatal(err)
		}
		return m.Parts()
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"Llama-3-8B attention", part("llama-3-8b").Attention, 4096*128*(32+16) + 4096*4096},
		{"Llama-3-8B MLP", part("llama-3-8b").DenseMLP, 3 * 4096 * 14336},
		{"Llama-3-8B norms", part("llama-3-8b").Norms, 2 * 4096},
		{"Llama-3-8B head", part("llama-3-8b").Head, 128256 * 4096},
		{"Llama-3.2-1B head", part("llama-3.2-1b").Head, 0},
		{"Qwen2.5-7B attention", part("qwen2.5-7b").Attention, 3584*128*(28+8) + 3584*3584 + 128*(28+8)},
		{"Qwen3-8B norms", part("qwen3-8b").Norms, 2*4096 + 2*128},
		{"Mixtral expert", part("mixtral-8x7b").Expert, 3 * 4096 * 14336},
		{"Mixtral router", part("mixtral-8x7b").Router, 4096 * 8},
		{"gpt-oss expert", part("gpt-oss-20b").Expert, 3*2880*2880 + 3*2880},
		{"DeepSeek-V2-Lite shared", part("deepseek-v2-lite").Shared, 3 * 2048 * 2816},
		{"DeepSeek-V3 attention", part("deepseek-v3").Attention, 7168*1536 + 1536*128*192 + 7168*576 + 512*128*256 + 128*128*7168},
		{"DeepSeek-V3 dense MLP", part("deepseek-v3").DenseMLP, 3 * 7168 * 18432},
		{"Phi-2 MLP", part("phi-2").DenseMLP, 2*2560*10240 + 2560 + 10240},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

func TestKVHeadsPerGPURoundUpAndNeverVanish(t *testing.T) {
	m := Model{KVHeads: 8}
	for _, c := range []struct{ tp, want int }{{0, 8}, {1, 8}, {2, 4}, {3, 3}, {8, 1}, {16, 1}} {
		if got := m.KVHeadsPer(c.tp); got != c.want {
			t.Errorf("8 KV heads on %d GPUs: %d each, want %d", c.tp, got, c.want)
		}
	}
}

func TestModelsAndDevicesBelongToTheCaller(t *testing.T) {
	Models()[0].Name = "spoilt"
	d := Devices()
	d[0].Name = "spoilt"
	for i := range d {
		for j := range d[i].Kernels.Ring {
			d[i].Kernels.Ring[j].Alpha = -1
		}
	}
	if Models()[0].Name == "spoilt" || Devices()[0].Name == "spoilt" {
		t.Error("a caller's change shows in the table")
	}
	for _, d := range Devices() {
		for _, p := range d.Kernels.Ring {
			if p.Alpha < 0 {
				t.Errorf("%s: a caller's change shows in the ring", d.Name)
			}
		}
	}
}
