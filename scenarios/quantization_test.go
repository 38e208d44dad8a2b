package scenarios

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"
)

// A format is a member of the quantization family beside the values that are commonly quoted for a model of 70 billion
// parameters, and why they differ.
type format struct {
	name, label, memory, throughput, why string
	low, high                            float64 // between which the relative throughput must lie
}

var formats = []format{
	{"fp16", "FP16", "140 GB", "1.0x", "The baseline: 70.6 billion parameters of two bytes.", 1, 1},
	{"int8", "INT8", "70 GB", "~1.0x", "vLLM's INT8 narrows the activations too and multiplies on the INT8 tensor cores; the quoted value is for weights that are widened first. Embedding and LM head stay in 16 bits.", 1, 1.5},
	{"awq", "INT4 (AWQ)", "35 GB", "~0.9-1.0x", "A full batch is bound by arithmetic, which stays 16 bits wide and 5 % slower; smaller batches at the end of the burst gain. Scales and zero points make 4.2 bits of 4, and embedding and LM head stay in 16 bits.", 0.9, 1.15},
	{"awq-fp8kv", "INT4 + FP8 KV", "35 GB", "~1.1-1.3x", "The cache was not what limited, so that only the reading of it is faster; conversion keeps that below twofold.", 1.05, 1.3},
	{"fp8", "FP8 throughout", "70 GB", "~1.3-1.5x", "Arithmetic and weights are twice as fast; all-reduce, launches and the host are not.", 1.2, 1.6},
}

const quantizationHead = "# What narrower numbers are worth\n\n" +
	"Llama 3.1 70B on four H100, the same burst of 400 requests for each format: the scenarios `quantization-*`. Typical\n" +
	"values are those that tuning guides quote. One user is a single client, who waits for weights and little else.\n\n" +
	"| configuration | weights | typical | KV cache, tokens | output tokens/s | relative | typical | one user |\n" +
	"|---|---|---|---|---|---|---|---|\n"

// TestTheQuantizationTableIsWhatTheScenariosGive keeps quantization.md true; -update writes it anew.
func TestTheQuantizationTableIsWhatTheScenariosGive(t *testing.T) {
	var table, notes bytes.Buffer
	table.WriteString(quantizationHead)
	notes.WriteString("\nWhy they differ from the typical values:\n\n")
	var base, lone float64
	for i, f := range formats {
		x := mustBuild(t, "quantization-"+f.name)
		rate := mustRun(t, x, Options{}).Throughput.OutputTokensPerS
		alone := mustBuild(t, "quantization-"+f.name, "workload.requests=10", "workload.arrivals={name: closed, clients: 1}")
		single := mustRun(t, alone, Options{}).Throughput.OutputTokensPerS
		if i == 0 {
			base, lone = rate, single
		}
		fmt.Fprintf(&table, "| [%s](quantization-%s.yaml) | %.0f GB | %s | %d | %.0f | %.2fx | %s | %.2fx |\n", f.label, f.name,
			float64(x.Memory.Weights)*float64(x.Deployment.TP)/1e9, f.memory, x.Memory.Tokens()/1000*1000, 10*math.Round(rate/10), rate/base, f.throughput, single/lone)
		fmt.Fprintf(&notes, "- %s: %s\n", f.label, f.why)
		if r := rate / base; r < f.low || r > f.high {
			t.Errorf("%s: %.2f times the throughput of FP16, typically %s", f.label, r, f.throughput)
		}
	}
	got := append(table.Bytes(), notes.Bytes()...)
	const file = "quantization.md"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: look at why, then run go test ./scenarios -run Quantization -update\n%s", file, firstDifference(got, want))
	}
}
