package hardware

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// on returns a deployment of a known model on a known device, graphs captured as vLLM does, without host time.
func on(t testing.TB, model, device string, tp int) Deployment {
	t.Helper()
	m, _, _, err := FindModel(model)
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := FindDevice(device)
	if err != nil {
		t.Fatal(err)
	}
	return Deployment{
		Model: m, Device: g, Weights: BF16, KV: BF16, TP: tp, PP: 1,
		Graphs:              CaptureSizes(256, 8192, false),
		MaxNumBatchedTokens: 8192, MaxNumSeqs: 256, BlockSize: 16,
	}
}

func roofline(t testing.TB, d Deployment) *Roofline {
	t.Helper()
	r, err := NewRoofline(d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decodes returns a step of n decodes that each attend to context tokens.
func decodes(n, context int, w Window) Step {
	var s Step
	for range n {
		s.AddDecode(context-1, w)
	}
	return s
}

// prefill returns a step of one whole prompt.
func prefill(tokens int, w Window) Step {
	var s Step
	s.AddChunk(tokens, 0, true, w)
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s: got %.5g, want %.5g within %.2g", what, got, want, tolerance)
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func TestStepsTakeTheTimeWorkedOutByHand(t *testing.T) {
	for _, c := range []struct {
		name          string
		model, device string
		tp            int
		decodes       int // at context 1024
		prefill       int
		want          float64 // ms
		tolerance     float64
	}{
		{"70B on four H100, batch 1", "llama-3-70b", "h100-sxm", 4, 1, 0, 15.4, 0.02},
		{"70B on eight H100, batch 1", "llama-3-70b", "h100-sxm", 8, 1, 0, 9.3, 0.03},
		{"8B on H100, batch 1", "llama-3.1-8b", "h100-sxm", 1, 1, 0, 6.28, 0.02},
		{"8B on H100, batch 32", "llama-3.1-8b", "h100-sxm", 1, 32, 0, 7.94, 0.02},
		{"8B on H100, batch 128", "llama-3.1-8b", "h100-sxm", 1, 128, 0, 13.2, 0.03},
		{"8B on H100, batch 256", "llama-3.1-8b", "h100-sxm", 1, 256, 0, 20.9, 0.03},
		{"8B on A100, batch 1", "llama-3.1-8b", "a100-sxm-80g", 1, 1, 0, 11.4, 0.03},
		{"prefill of 2048, 8B on H100", "llama-3.1-8b", "h100-sxm", 1, 0, 2048, 45.7, 0.03},
		{"prefill of 2048, 70B on four H100", "llama-3.1-70b", "h100-sxm", 4, 0, 2048, 136, 0.03},
	} {
		d := on(t, c.model, c.device, c.tp)
		r := roofline(t, d)
		s := decodes(c.decodes, 1024, Window{})
		if c.prefill > 0 {
			s = prefill(c.prefill, Window{})
		}
		cost := r.Cost(s)
		t.Logf("%s: %.2f ms, %+v", c.name, ms(cost.Device), cost.By)
		near(t, c.name, ms(cost.Device), c.want, c.tolerance)
	}
}

func TestRidgeAndCrossoverOfAnH100(t *testing.T) {
	p, err := Place(on(t, "llama-3.1-8b", "h100-sxm", 1), []int{1, 8, 64}, 1024)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ridge", p.Ridge, 295.4, 0.001)
	for i, batch := range []float64{1, 8, 64} {
		near(t, "intensity of the linear layers", p.Points[i].Linear, batch, 0.06)
	}
	near(t, "intensity at batch 1", p.Points[0].Intensity, 1, 0.05)
	last := p.Points[3]
	if p.Points[0].Bound != "memory" || last.Phase != "prefill" || last.Bound != "compute" {
		t.Errorf("batch 1 must be bound by memory and a prefill by compute: %+v", p.Points)
	}
	for _, at := range p.Points {
		if at.Achieved > at.Attainable {
			t.Errorf("%s of %d achieves more than the roofline allows: %+v", at.Phase, at.Tokens, at)
		}
	}
	// The crossover is the intensity at which the two terms of a GEMM meet.
	h100 := on(t, "llama-3.1-8b", "h100-sxm", 1).Device
	for _, c := range []struct {
		dtype Dtype
		want  float64
	}{{BF16, 274}, {FP8, 463}} {
		a := h100.arithmetic(c.dtype)
		got := a.peak * a.ramp.Compute / (a.bandwidth * a.ramp.Memory)
		near(t, string(c.dtype)+" crossover", got, c.want, 0.005)
	}
}

func TestBatchOneIsBoundedByStreamingTheWeights(t *testing.T) {
	for _, c := range []struct {
		model, device string
		tp            int
		bound         float64 // ms: every weight but the embedding table, over the data sheet's bandwidth
	}{
		{"llama-3-70b", "h100-sxm", 4, 10.37},
		{"llama-3-70b", "h100-sxm", 8, 5.19},
		{"llama-3.1-8b", "h100-sxm", 1, 4.48},
		{"llama-3.1-8b", "a100-sxm-80g", 1, 7.36},
	} {
		d := on(t, c.model, c.device, c.tp)
		p := d.Model.Parts()
		total, _ := d.Model.Params()
		near(t, c.model, float64(total-p.Embedding)*2/float64(c.tp)/d.Device.Bandwidth*1e3, c.bound, 0.002)
		if got := ms(roofline(t, d).Price(decodes(1, 1, Window{}))); got <= c.bound {
			t.Errorf("%s: %.3f ms beats the bound of %.3f", c.model, got, c.bound)
		}
	}
}

func TestGEMMsOfALayerOf70BTakeTheTimeWorkedOutByHand(t *testing.T) {
	d := on(t, "llama-3-70b", "h100-sxm", 4)
	b := newBlocks(d, newShard(d))[0]
	for i, want := range []float64{18.3, 15.4, 85.5, 44.6} {
		p := b.matmuls[i].price(1)
		near(t, "GEMM in µs", p.seconds()*1e6, want, 0.005)
	}
}

func TestPrefillCountsTheFLOPsOfTheModel(t *testing.T) {
	c := roofline(t, on(t, "llama-3.1-8b", "h100-sxm", 1)).Cost(prefill(2048, Window{}))
	near(t, "FLOPs", c.FLOPs, 29.69e12, 0.002)
	near(t, "share of peak", c.FLOPs/c.Device.Seconds()/989.5e12, 0.66, 0.03)
	if c.By.Compute < c.Device/2 {
		t.Errorf("a prefill must be bound by compute: %+v", c.By)
	}
	c = roofline(t, on(t, "llama-3.1-70b", "h100-sxm", 4)).Cost(prefill(2048, Window{}))
	near(t, "FLOPs of 70B", 4*c.FLOPs, 285.9e12, 0.002)
	near(t, "all-reduce of 70B in ms", ms(c.By.Network), 26.7, 0.02)
}

func TestDistinctExpertsFollowIndependentRouting(t *testing.T) {
	for _, c := range []struct {
		experts, k int
		tokens     float64
		want       float64
	}{{8, 2, 1, 2}, {8, 2, 4, 5.47}, {8, 2, 16, 7.92}, {256, 8, 64, 222.4}, {256, 8, 4, 30.5}} {
		near(t, "distinct experts", DistinctExperts(c.experts, c.k, c.tokens), c.want, 0.002)
	}
}

func TestChunkingLeavesTheArithmeticOfAttentionAlone(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	a := newGrouped(d, newShard(d))
	whole := prefill(1000, Window{})
	want := a.prefill(float64(whole.ChunkRows), float64(whole.AttnPairs), 0).compute
	for _, cuts := range [][]int{{500, 500}, {1, 999}, {300, 300, 300, 100}} {
		got, past := 0.0, 0
		for _, n := range cuts {
			var s Step
			s.AddChunk(n, past, false, Window{})
			got += a.prefill(float64(s.ChunkRows), float64(s.AttnPairs), 0).compute
			past += n
		}
		near(t, "attention of a split prompt", got, want, 1e-9)
	}
}

// everyDeployment names deployments that together use every operator.
func everyDeployment(t testing.TB) []Deployment {
	with := func(d Deployment, change func(*Deployment)) Deployment {
		change(&d)
		return d
	}
	dense := on(t, "llama-3.1-8b", "h100-sxm", 1)
	return []Deployment{
		dense,
		with(dense, func(d *Deployment) { d.Eager = true }),
		with(dense, func(d *Deployment) { d.Weights, d.KV = FP8, FP8 }),
		with(dense, func(d *Deployment) { d.Weights = AWQ }),
		with(dense, func(d *Deployment) { d.Weights = INT8 }),
		with(dense, func(d *Deployment) {
			d.PP, d.GPUsPerNode, d.Internode = 4, 2, Link{Bandwidth: 50e9, Latency: 1e-5}
		}),
		on(t, "llama-3.1-8b", "l40s", 4),
		on(t, "llama-3-70b", "h100-sxm", 8),
		on(t, "mixtral-8x7b", "h100-sxm", 2),
		with(on(t, "mixtral-8x7b", "h100-sxm", 4), func(d *Deployment) { d.ExpertParallel, d.ExpertSkew = true, 0.8 }),
		with(on(t, "deepseek-v3", "h200-sxm", 8), func(d *Deployment) { d.Weights = FP8 }),
		with(on(t, "deepseek-v2-lite", "h100-sxm", 1), func(d *Deployment) {}),
		with(on(t, "gpt-oss-120b", "h200-sxm", 2), func(d *Deployment) { d.Weights = MXFP4 }),
		with(on(t, "gpt-oss-120b", "b200-sxm", 1), func(d *Deployment) { d.Weights = MXFP4 }),
		with(on(t, "qwen3-32b", "b200-sxm", 1), func(d *Deployment) { d.Weights = NVFP4 }),
		on(t, "gemma-3-27b", "a100-sxm-80g", 1),
		on(t, "llama-4-scout", "b200-sxm", 4),
	}
}

// label names a deployment in failures.
func label(d Deployment) string {
	return d.Model.Name + " " + string(d.Weights) + " on " + d.Device.Name
}

// everyStep returns steps that mix decodes and chunks.
func everyStep(w Window) []Step {
	var steps []Step
	for _, n := range []int{0, 1, 7, 32, 200} {
		for _, chunk := range []int{0, 1, 300, 4000} {
			s := decodes(n, 700, w)
			if chunk > 0 {
				s.AddChunk(chunk, 100, chunk == 300, w)
			}
			if s.Tokens > 0 {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

func TestCausesAddUpToTheTimeOfEveryStep(t *testing.T) {
	for _, d := range everyDeployment(t) {
		r := roofline(t, d)
		for _, s := range everyStep(r.Window()) {
			c := r.Cost(s)
			if c.Device <= 0 || c.By.Total() != c.Device+c.Hop {
				t.Fatalf("%s: %+v costs %+v", label(d), s, c)
			}
			if min(c.By.Compute, c.By.Weights, c.By.KVRead, c.By.Network, c.By.Overhead) < 0 {
				t.Fatalf("%s: %+v has a negative cause: %+v", label(d), s, c.By)
			}
			if (c.Hop > 0) != (d.PP > 1) {
				t.Fatalf("%s: hop of %v with %d stages", label(d), c.Hop, d.PP)
			}
		}
	}
}

func TestNoStepBeatsItsDevice(t *testing.T) {
	for _, d := range everyDeployment(t) {
		r := roofline(t, d)
		peak := max(d.Device.BF16, d.Device.FP8, d.Device.INT8, d.Device.FP4)
		for _, s := range everyStep(r.Window()) {
			c := r.Cost(s)
			seconds := c.Device.Seconds() * (1 + 1e-6)
			if c.Bytes/d.Device.Bandwidth > seconds || c.FLOPs/peak > seconds {
				t.Errorf("%s: %+v takes %v, less than its %.3g FLOPs or %.3g bytes", label(d), s, c.Device, c.FLOPs, c.Bytes)
			}
			if c.Joules > d.Device.TDP*seconds || c.Joules < d.Device.Kernels.IdleWatts*c.Device.Seconds()*(1-1e-6) {
				t.Errorf("%s: %+v draws %.4g W", label(d), s, c.Joules/c.Device.Seconds())
			}
		}
	}
}

func TestMoreWorkNeverTakesLess(t *testing.T) {
	for _, d := range everyDeployment(t) {
		r := roofline(t, d)
		w := r.Window()
		grow := func(what string, a, b Step) {
			if x, y := r.Price(a), r.Price(b); y < x {
				t.Errorf("%s: %s: %v, then %v", label(d), what, x, y)
			}
		}
		for n := 1; n < 300; n += 13 {
			grow("one more decode", decodes(n, 700, w), decodes(n+1, 700, w))
			grow("a longer context", decodes(n, 700, w), decodes(n, 701, w))
			grow("a longer chunk", prefill(n, w), prefill(n+1, w))
			s := decodes(n, 700, w)
			s.AddChunk(64, 0, false, w)
			grow("a chunk beside the decodes", decodes(n, 700, w), s)
		}
	}
}

func TestBiggerBatchesAreCheaperPerToken(t *testing.T) {
	r := roofline(t, on(t, "llama-3.1-8b", "h100-sxm", 1))
	for n := 1; n <= 128; n *= 2 {
		small, large := r.Price(decodes(n, 1024, Window{})), r.Price(decodes(2*n, 1024, Window{}))
		if float64(large)/float64(2*n) >= float64(small)/float64(n) {
			t.Errorf("batch %d takes %v, batch %d %v", n, small, 2*n, large)
		}
	}
}

func TestTensorParallelismNeverSlowsLinearLayers(t *testing.T) {
	last := math.Inf(1)
	for _, tp := range []int{1, 2, 4, 8} {
		d := on(t, "llama-3-70b", "h100-sxm", tp)
		p := roofline(t, d).linear.at(64)
		linear := p.seconds() - p.network
		if linear > last {
			t.Errorf("with %d GPUs linear layers take %g s, with fewer %g s", tp, linear, last)
		}
		last = linear
	}
}

func TestHalvingTheWeightsHalvesTheirStreaming(t *testing.T) {
	d := on(t, "llama-3-70b", "h100-sxm", 4)
	wide := roofline(t, d).linear.at(1).bytes
	d.Weights = FP8
	near(t, "bytes", roofline(t, d).linear.at(1).bytes, wide/2, 0.001)
}

func TestAnyOrderOfRequestsCostsTheSame(t *testing.T) {
	r := roofline(t, on(t, "llama-3.1-8b", "h100-sxm", 1))
	contexts := []int{5, 900, 17, 4000, 33}
	var a, b Step
	for _, c := range contexts {
		a.AddDecode(c, Window{})
	}
	a.AddChunk(100, 50, true, Window{})
	b.AddChunk(100, 50, true, Window{})
	for _, c := range slices.Backward(contexts) {
		b.AddDecode(c, Window{})
	}
	if r.Cost(a) != r.Cost(b) {
		t.Errorf("%+v and %+v", r.Cost(a), r.Cost(b))
	}
}

func TestAnEmptyStepCostsNothing(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Host = Host{ExposedBase: 1e-3}
	if c := roofline(t, d).Cost(Step{}); c != (Cost{}) {
		t.Errorf("got %+v", c)
	}
}

func TestHostTimeComesInTwoParts(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	bare := roofline(t, d).Cost(decodes(10, 100, Window{}))
	d.Host = Host{ExposedBase: 450e-6, ExposedPerSeq: 10e-6, HiddenBase: 1e-3, HiddenPerSeq: 5e-6}
	c := roofline(t, d).Cost(decodes(10, 100, Window{}))
	if c.Exposed != 550*time.Microsecond || c.Host != 1050*time.Microsecond {
		t.Errorf("exposed %v, hidden %v", c.Exposed, c.Host)
	}
	if c.Device != bare.Device {
		t.Errorf("the host changed the device's time: %v, %v", c.Device, bare.Device)
	}
}

func TestSeveralSimulationsMayShareARoofline(t *testing.T) {
	d := on(t, "mixtral-8x7b", "h100-sxm", 2)
	alone, shared := roofline(t, d), roofline(t, d)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := 1; n < 200; n++ {
				if s := decodes(n, 100, Window{}); shared.Cost(s) != alone.Cost(s) {
					t.Errorf("%d decodes cost %+v", n, shared.Cost(s))
				}
			}
		})
	}
	group.Wait()
}

func TestFasterHardwareNeverTakesLonger(t *testing.T) {
	for name, improve := range map[string]func(*Device){ // order does not matter: the cases are independent
		"bandwidth": func(d *Device) { d.Bandwidth *= 2 },
		"FLOP/s":    func(d *Device) { d.BF16, d.FP8, d.INT8, d.FP4 = 2*d.BF16, 2*d.FP8, 2*d.INT8, 2*d.FP4 },
		"link":      func(d *Device) { d.Link.Bandwidth *= 2 },
	} {
		for _, d := range everyDeployment(t) {
			r := roofline(t, d)
			improve(&d.Device)
			faster := roofline(t, d)
			for _, s := range everyStep(r.Window()) {
				if a, b := r.Price(s), faster.Price(s); b > a {
					t.Errorf("%s with twice the %s: %v becomes %v for %+v", label(d), name, a, b, s)
				}
			}
		}
	}
}

func TestPriceLeavesOutTheHost(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Host = Host{ExposedBase: 1e-3, HiddenBase: 1e-3}
	r := roofline(t, d)
	s := decodes(3, 100, Window{})
	if got, want := r.Price(s), r.Cost(s).Device; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBadHardwareNumbersAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Deployment)
		want  string
	}{
		{func(d *Deployment) { d.Device.Bandwidth = 0 }, "mem_bw_tbs is missing"},
		{func(d *Deployment) { d.Device.BF16 = -1 }, "bf16_tflops must lie"},
		{func(d *Deployment) { d.Device.Kernels.GEMM.P = 0 }, "GEMM's exponent"},
		{func(d *Deployment) { d.Device.Kernels.DecodeMemory = math.NaN() }, "decode attention's fraction"},
		{func(d *Deployment) { d.Device.Kernels.DecodeT0 = -1e-6 }, "decode attention t0"},
		{func(d *Deployment) { d.Device.Kernels.ElementMemory = math.Inf(1) }, "element-wise"},
		{func(d *Deployment) { d.TP, d.Device.Kernels.TwoShotFraction = 2, 0 }, "two-shot"},
		{func(d *Deployment) { d.Host.ExposedBase = math.NaN() }, "host times"},
	} {
		d := on(t, "llama-3.1-8b", "h100-sxm", 1)
		c.spoil(&d)
		if _, err := NewRoofline(d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error about %q, got %v", c.want, err)
		}
	}
}

func TestCostAllocatesNothing(t *testing.T) {
	for _, d := range everyDeployment(t) {
		r := roofline(t, d)
		s := decodes(50, 700, r.Window())
		s.AddChunk(200, 100, true, r.Window())
		if n := testing.AllocsPerRun(100, func() { r.Cost(s) }); n != 0 {
			t.Errorf("%s: %v allocations", label(d), n)
		}
	}
}

func BenchmarkCost(b *testing.B) {
	r := roofline(b, on(b, "llama-3.1-8b", "h100-sxm", 1))
	s := decodes(50, 700, Window{})
	b.ReportAllocs()
	for b.Loop() {
		s.KVRead++
		r.Cost(s)
	}
}

func BenchmarkCostOfLatentAttention(b *testing.B) {
	d := on(b, "deepseek-v3", "h200-sxm", 8)
	d.Weights = FP8
	r := roofline(b, d)
	s := decodes(50, 700, Window{})
	b.ReportAllocs()
	for b.Loop() {
		s.KVRead++
		r.Cost(s)
	}
}

func BenchmarkTableRow(b *testing.B) {
	r := roofline(b, on(b, "llama-3.1-8b", "h100-sxm", 1))
	for b.Loop() {
		r.tokens(777)
	}
}

func TestSpansSaturateInsteadOfTurningNegative(t *testing.T) {
	for _, s := range []float64{1e10, 1e300, math.Inf(1)} {
		if got := nanoseconds(s); got != longestSpan {
			t.Errorf("%g s are %v", s, got)
		}
	}
	p, c := price{compute: 1e12, weights: 3e12, network: 4e12}, Cost{}
	p.settle(&c, nanoseconds(1e20))
	by := c.By
	if sum := by.Compute + by.Weights + by.KVRead + by.Network + by.Overhead; c.Device != longestSpan || sum != c.Device+c.Hop || by.Compute <= 0 || by.Network < c.Hop {
		t.Errorf("got %+v", c)
	}
}
