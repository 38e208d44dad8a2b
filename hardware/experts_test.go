package hardware

import "testing"

func TestPaddingRowsAreRoutedToo(t *testing.T) {
	d := on(t, "mixtral-8x7b", "h100-sxm", 2)
	r := roofline(t, d)
	if a, b := r.tokens(11), r.tokens(16); a != b {
		t.Errorf("eleven tokens run as sixteen: %+v, %+v", a, b)
	}
}

func TestSmallBatchesStreamOnlyTheExpertsTheyHit(t *testing.T) {
	d := on(t, "mixtral-8x7b", "h100-sxm", 2)
	x := newExperts(d, newShard(d))
	one, many := x.price(1), x.price(64)
	near(t, "bytes", one.bytes, many.bytes*2/8, 0.02)
}

func TestSkewHitsFewerExperts(t *testing.T) {
	d := on(t, "gpt-oss-120b", "h100-sxm", 2)
	d.Weights = MXFP4
	even := newExperts(d, newShard(d))
	d.ExpertSkew = 0.8
	skewed := newExperts(d, newShard(d))
	for _, c := range []struct{ tokens, share float64 }{{1, 1}, {16, 0.8}, {512, 0.8}} {
		a, _ := even.load(c.tokens)
		b, _ := skewed.load(c.tokens)
		near(t, "experts hit", b, c.share*a, 1e-9)
	}
}

func TestSkewBurdensTheBusiestGPUOfExpertParallelism(t *testing.T) {
	d := on(t, "qwen3-30b-a3b", "h100-sxm", 4)
	d.ExpertParallel = true
	_, even := newExperts(d, newShard(d)).load(1000)
	d.ExpertSkew = 0.5
	_, skewed := newExperts(d, newShard(d)).load(1000)
	near(t, "pairs on the busiest GPU", skewed, 2*even, 1e-9)
	near(t, "pairs with even routing", even, 1000*8/4, 1e-9)
}

func TestMXFP4ExpertsStreamNoFasterOnH200(t *testing.T) {
	took := map[string]float64{}
	for _, name := range []string{"h100-sxm", "h200-sxm"} {
		d := on(t, "gpt-oss-120b", name, 2)
		d.Weights = MXFP4
		p := newExperts(d, newShard(d)).price(32)
		took[name] = p.seconds()
	}
	near(t, "H200 against H100", took["h200-sxm"], took["h100-sxm"], 0.1)
}

func TestSlidingLayersReadOnlyTheirWindow(t *testing.T) {
	d := on(t, "gemma-3-27b", "b200-sxm", 1)
	r := roofline(t, d)
	if w := r.Window(); w.Keys != 1024 || w.Tile != 128 {
		t.Fatalf("window %+v", w)
	}
	short, long := r.Cost(decodes(8, 20_000, r.Window())), r.Cost(decodes(8, 40_000, r.Window()))
	d.Model.Window = 0
	full := roofline(t, d)
	a, b := full.Cost(decodes(8, 20_000, full.Window())), full.Cost(decodes(8, 40_000, full.Window()))
	slope, fullSlope := float64(long.By.KVRead-short.By.KVRead), float64(b.By.KVRead-a.By.KVRead)
	near(t, "growth with context: 10 of 62 layers", slope, fullSlope*10/62, 0.001)
	// A prompt shorter than the window costs the same either way.
	if x, y := r.Price(prefill(900, r.Window())), full.Price(prefill(900, full.Window())); x != y {
		t.Errorf("%v with windows, %v without", x, y)
	}
}

func TestLatentDecodesArePricedByBothTerms(t *testing.T) {
	d := on(t, "deepseek-v3", "h200-sxm", 1)
	a := newLatent(d, newShard(d))
	k := a.decode(32, 32*8000, 0)
	near(t, "FLOPs", k.flops, 2176*128*32*8000, 1e-9)
	near(t, "bytes", k.bytes, 576*2*32*8000, 1e-9)
	if k.compute <= 0 || k.kv <= 0 {
		t.Errorf("both count: %+v", k)
	}
	// Below 64 heads a GPU works on 64 all the same.
	eight, two := newLatent(d, shard{heads: 16}), newLatent(d, shard{heads: 64})
	if eight.decode(1, 1000, 0).flops != two.decode(1, 1000, 0).flops {
		t.Error("16 and 64 heads per GPU must cost the same")
	}
}

func TestEnergyFollowsTheBoardPowerModel(t *testing.T) {
	// Decoding 8B at batch 1 draws about 305 W on H100; a large prefill runs at the limit.
	r := roofline(t, on(t, "llama-3.1-8b", "h100-sxm", 1))
	c := r.Cost(decodes(1, 1024, Window{}))
	near(t, "watts of batch 1", c.Joules/c.Device.Seconds(), 305, 0.03)
	c = r.Cost(prefill(8000, Window{}))
	if w := c.Joules / c.Device.Seconds(); w < 550 || w > 700 {
		t.Errorf("a prefill draws %.0f W", w)
	}
	many := r.Cost(decodes(64, 1024, Window{}))
	if one := r.Cost(decodes(1, 1024, Window{})); many.Joules/64 >= one.Joules/4 {
		t.Errorf("a token costs %.3f J at batch 64, %.3f J at batch 1", many.Joules/64, one.Joules)
	}
}

func TestWhatAnotherSequenceHasReadComesFromL2(t *testing.T) {
	d := on(t, "llama-2-7b", "h100-sxm", 1)
	a := newGrouped(d, newShard(d))
	alone, half := a.decode(32, 32*1000, 0), a.decode(32, 32*1000, 16*1000)
	near(t, "half of the reads at half the price", half.bytes/alone.bytes, 0.75, 0.001)
	if half.flops != alone.flops {
		t.Errorf("arithmetic must not change: %v and %v", half.flops, alone.flops)
	}
}
