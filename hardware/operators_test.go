package hardware

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// samples reads a table of published kernel timings, its header as keys. They are a thinned copy of what
// ai-dynamo/aiconfigurator (Apache-2.0) publishes: kernels of vLLM and TensorRT-LLM, timed inside CUDA graphs, in µs.
func samples(t *testing.T, name string) []map[string]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, key := range rows[0] {
			m[key] = row[i]
		}
		out = append(out, m)
	}
	return out
}

func value(t *testing.T, row map[string]string, key string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(row[key], 64)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return x
}

// errorsOf collects the relative errors of predicted against measured times.
type errorsOf []float64

func (e *errorsOf) add(predicted, measured float64) {
	*e = append(*e, math.Abs(predicted/measured-1))
}

func (e errorsOf) median() float64 {
	s := slices.Sorted(slices.Values(e))
	return s[len(s)/2]
}

// sampledDevice returns the device that a kernel table calls by name; false: it is not looked at.
func sampledDevice(t *testing.T, name string) (Device, bool) {
	t.Helper()
	known := map[string]string{"a100_sxm": "a100-sxm-80g", "h100_sxm": "h100-sxm", "h200_sxm": "h200-sxm", "l40s": "l40s", "b200_sxm": "b200-sxm"}
	if known[name] == "" {
		return Device{}, false
	}
	d, _, err := FindDevice(known[name])
	if err != nil {
		t.Fatal(err)
	}
	return d, true
}

func TestGEMMsComeCloseToMeasuredOnes(t *testing.T) {
	var errs errorsOf
	for _, row := range samples(t, "gemm.csv") {
		d, ok := sampledDevice(t, row["gpu"])
		if !ok || row["dtype"] != "bfloat16" {
			continue
		}
		g := matmul{n: value(t, row, "N"), k: value(t, row, "K"), by: d.arithmetic(BF16)}
		p := g.price(value(t, row, "M"))
		errs.add(p.seconds()*1e6, value(t, row, "us"))
	}
	t.Logf("%d GEMMs, median error %.3f", len(errs), errs.median())
	if len(errs) < 50 || errs.median() > 0.10 {
		t.Errorf("%d GEMMs, median error %.3f", len(errs), errs.median())
	}
}

func TestDecodeAttentionComesCloseToMeasured(t *testing.T) {
	var errs errorsOf
	for _, row := range samples(t, "decode_attention.csv") {
		d, ok := sampledDevice(t, row["gpu"])
		kv := value(t, row, "batch") * value(t, row, "context") * value(t, row, "kv_heads") * 2 * value(t, row, "head_dim") * 2
		if !ok || row["kv_bytes"] != "2" || row["head_dim"] != "128" || kv < float64(d.L2) {
			continue
		}
		m := Model{Heads: int(value(t, row, "heads")), KVHeads: int(value(t, row, "kv_heads")), HeadDim: 128, Layers: 1}
		dep := Deployment{Model: m, Device: d, KV: BF16, TP: 1, PP: 1}
		a := newGrouped(dep, newShard(dep))
		n := value(t, row, "batch")
		p := a.decode(n, n*value(t, row, "context"), 0)
		errs.add((p.compute+p.kv+a.start(n, false))*1e6, value(t, row, "us"))
	}
	t.Logf("%d kernels, median error %.3f", len(errs), errs.median())
	if len(errs) < 20 || errs.median() > 0.08 {
		t.Errorf("%d kernels, median error %.3f", len(errs), errs.median())
	}
}

func TestPrefillAttentionComesCloseToMeasured(t *testing.T) {
	var errs errorsOf
	for _, row := range samples(t, "prefill_attention.csv") {
		d, ok := sampledDevice(t, row["gpu"])
		if !ok || row["head_dim"] != "128" {
			continue
		}
		m := Model{Heads: int(value(t, row, "heads")), KVHeads: int(value(t, row, "kv_heads")), HeadDim: 128, Layers: 1}
		dep := Deployment{Model: m, Device: d, KV: BF16, TP: 1, PP: 1}
		a := newGrouped(dep, newShard(dep))
		var s Step
		for range int(value(t, row, "batch")) {
			s.AddChunk(int(value(t, row, "q")), int(value(t, row, "context")), false, Window{})
		}
		p := a.prefill(float64(s.ChunkRows), float64(s.AttnPairs), float64(s.PrefillKV))
		errs.add((p.compute+p.kv+a.start(0, true))*1e6, value(t, row, "us"))
	}
	t.Logf("%d kernels, median error %.3f", len(errs), errs.median())
	if len(errs) < 20 || errs.median() > 0.12 {
		t.Errorf("%d kernels, median error %.3f", len(errs), errs.median())
	}
}

func TestAllReducesComeCloseToMeasuredOnes(t *testing.T) {
	var errs errorsOf
	for _, row := range samples(t, "allreduce.csv") {
		d, ok := sampledDevice(t, row["gpu"])
		if !ok || row["backend"] != "vllm_graph" {
			continue
		}
		n := newNetwork(Deployment{Device: d, TP: int(value(t, row, "gpus")), PP: 1})
		errs.add(n.within(value(t, row, "bytes"))*1e6, value(t, row, "us"))
	}
	t.Logf("%d all-reduces, median error %.3f", len(errs), errs.median())
	if len(errs) < 20 || errs.median() > 0.10 {
		t.Errorf("%d all-reduces, median error %.3f", len(errs), errs.median())
	}
}

func TestExpertsComeCloseToMeasuredOnes(t *testing.T) {
	for _, c := range []struct {
		dtype               string
		weights, checkpoint Dtype
	}{{"bfloat16", BF16, BF16}, {"fp8", FP8, BF16}, {"fp8_block", FP8, FP8}} {
		t.Run(c.dtype, func(t *testing.T) { expertsComeClose(t, c.dtype, c.weights, c.checkpoint) })
	}
}

func expertsComeClose(t *testing.T, dtype string, weights, checkpoint Dtype) {
	t.Helper()
	var errs errorsOf
	for _, row := range samples(t, "moe.csv") {
		d, ok := sampledDevice(t, row["gpu"])
		if !ok || row["dtype"] != dtype || dtype == "bfloat16" && row["routing"] == "balanced" {
			continue
		}
		m := Model{
			Layers: 1, Hidden: int(value(t, row, "hidden")), Heads: 64, KVHeads: 64, HeadDim: 128,
			MoE:   MoE{Experts: int(value(t, row, "experts")), TopK: int(value(t, row, "topk")), Width: int(value(t, row, "inter")), Layers: 1},
			Dtype: checkpoint,
		}
		dep := Deployment{Model: m, Device: d, Weights: weights, TP: int(value(t, row, "tp")), PP: 1}
		x := newExperts(dep, newShard(dep))
		p := x.price(value(t, row, "tokens"))
		errs.add(p.seconds()*1e6, value(t, row, "us"))
	}
	t.Logf("%d layers, median error %.3f", len(errs), errs.median())
	if len(errs) < 20 || errs.median() > 0.15 {
		t.Errorf("%d layers, median error %.3f", len(errs), errs.median())
	}
}

func TestBoardPowerComesCloseToMeasured(t *testing.T) {
	var errs errorsOf
	d, _ := sampledDevice(t, "h200_sxm")
	by := d.arithmetic(BF16)
	by.power.idle = 110 // of the measured board; the table's is of its idle state
	for _, row := range samples(t, "power_h200.csv") {
		us := value(t, row, "us")
		if us < 20 {
			continue // power is sampled too slowly for the shortest
		}
		m, n, k := value(t, row, "M"), value(t, row, "N"), value(t, row, "K")
		watts := by.power.joules(us*1e-6, 2*m*n*k, 2*(n*k+m*k+m*n)) / (us * 1e-6)
		errs.add(watts, value(t, row, "watts"))
	}
	t.Logf("%d GEMMs, median error %.3f", len(errs), errs.median())
	if len(errs) < 20 || errs.median() > 0.2 {
		t.Errorf("%d GEMMs, median error %.3f", len(errs), errs.median())
	}
}
