package hardware

import (
	"strings"
	"testing"
)

func TestDeploymentsThatCannotRunSayWhatToChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  string
		device string
		change func(*Deployment)
		want   []string
	}{
		{
			"heads", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.TP = 3 },
			[]string{"tensor_parallel_size 3 does not divide 32 attention heads; use 1, 2, 4, 8 or 16"},
		},
		{
			"KV heads", "phi-3-medium", "h100-sxm", func(d *Deployment) { d.TP = 4 },
			[]string{"tensor_parallel_size 4 neither divides 10 KV heads nor is a multiple of them; use 1, 2, 5 or 10"},
		},
		{"stages", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.PP = 33 }, []string{"pipeline_parallel_size 33 exceeds the 32 layers"}},
		{"nothing", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.TP = 0 }, []string{"at least 1"}},
		{"experts", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.ExpertParallel = true }, []string{"needs experts"}},
		{"few experts", "mixtral-8x7b", "h100-sxm", func(d *Deployment) { d.TP, d.ExpertParallel = 16, true }, []string{"8 experts over 16 GPUs"}},
		{"nodes", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.TP, d.GPUsPerNode = 16, 8 }, []string{"nothing connects the nodes"}},
		{"bfloat16", "llama-3.1-8b", "t4", func(d *Deployment) { d.Device.Kernels.GEMM.Compute = 1 }, []string{"has no bfloat16; use float16"}},
		{"fp8", "llama-3.1-8b", "v100-sxm2-32g", func(d *Deployment) {
			d.Device.Kernels.GEMM.Compute = 1
			d.Weights, d.KV = FP8, FP8
		}, []string{"fp8 weights need Ampere or newer", "fp8 KV cache needs Ampere"}},
		{"mxfp4", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.Weights = MXFP4 }, []string{"quantises experts only"}},
		{"KV dtype", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.KV = INT8 }, []string{"KV cache"}},
		{"weights", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.Weights = "fp3" }, []string{`unknown dtype "fp3"`}},
		{"skew", "mixtral-8x7b", "h100-sxm", func(d *Deployment) { d.ExpertSkew = 1.5 }, []string{"expert skew"}},
		{"graphs", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.Graphs = []int{4, 2} }, []string{"ascending"}},
		{"several at once", "llama-3.1-8b", "h100-sxm", func(d *Deployment) {
			d.TP, d.PP, d.KV, d.MaxNumSeqs, d.Internode.Latency = 3, 40, "x", -1, -1
		}, []string{"attention heads", "layers", "KV cache", "max_num_seqs", "link between nodes"}},
		{"no model", "llama-3.1-8b", "h100-sxm", func(d *Deployment) { d.Model = Model{Name: "empty"} }, []string{"layers must be positive", "vocabulary"}},
	} {
		d := on(t, c.model, c.device, 1)
		c.change(&d)
		err := d.Validate()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v lacks %q", c.name, err, want)
			}
		}
	}
}

func TestReplicatedKVHeadsAreValid(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 16)
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	roofline(t, d)
}

func TestFP8WeightsOnAmpereOnlySaveMemory(t *testing.T) {
	a100 := on(t, "llama-3.1-8b", "a100-sxm-80g", 1)
	wide := roofline(t, a100)
	a100.Weights = FP8
	narrow := roofline(t, a100)
	if a, b := wide.Price(decodes(1, 100, Window{})), narrow.Price(decodes(1, 100, Window{})); b >= a {
		t.Errorf("a decode takes %v in FP8, %v in BF16", b, a)
	}
	// Where arithmetic is the limit, widening the weights costs time.
	if a, b := wide.Price(prefill(8000, Window{})), narrow.Price(prefill(8000, Window{})); b <= a {
		t.Errorf("a prefill takes %v in FP8, %v in BF16", b, a)
	}
}

func TestWeightOnlyFormatsHelpDecodesAndHurtPrefills(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	wide := roofline(t, d)
	for _, d.Weights = range []Dtype{AWQ, GPTQ} {
		r := roofline(t, d)
		if a, b := wide.Price(decodes(1, 100, Window{})), r.Price(decodes(1, 100, Window{})); 2*b >= a+a/4 {
			t.Errorf("%s: a decode takes %v, in BF16 %v", d.Weights, b, a)
		}
		if a, b := wide.Price(prefill(8000, Window{})), r.Price(prefill(8000, Window{})); b <= a {
			t.Errorf("%s: a prefill takes %v, in BF16 %v", d.Weights, b, a)
		}
	}
}

func TestAnFP8CacheGivesLessThanTwiceTheSpeedOnHopper(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	wide := roofline(t, d).Cost(decodes(64, 4000, Window{})).By.KVRead
	d.KV = FP8
	narrow := roofline(t, d).Cost(decodes(64, 4000, Window{})).By.KVRead
	near(t, "gain", float64(wide)/float64(narrow), 2*0.8/0.896, 0.01)
}
