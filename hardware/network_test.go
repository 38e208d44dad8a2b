package hardware

import "testing"

func TestAllReduceOf70BTakesTheTimeWorkedOutByHand(t *testing.T) {
	n := newNetwork(on(t, "llama-3-70b", "h100-sxm", 4))
	near(t, "µs of 33.5 MB", n.within(2*2048*8192)*1e6, 167, 0.01)
}

func TestRingsReplaceNVLinkOnPCIeCards(t *testing.T) {
	for _, c := range []struct {
		tp   int
		want float64 // µs for 1 MB
	}{{2, 5.2 + 1e6/19.2e3}, {4, 13.3 + 1.5e6/3.7e3}, {8, 25 + 1.75e6/2.0e3}} {
		n := newNetwork(on(t, "llama-3.1-8b", "l40s", c.tp))
		near(t, "ring", n.within(1e6)*1e6, c.want, 0.01)
	}
}

func TestTensorParallelismIsALossOnPCIe(t *testing.T) {
	// A 7B model on L40-class cards: eight of them are slower than two.
	two := roofline(t, on(t, "llama-2-7b", "l40s", 2)).Price(decodes(32, 512, Window{}))
	eight := roofline(t, on(t, "llama-2-7b", "l40s", 8)).Price(decodes(32, 512, Window{}))
	if eight <= two {
		t.Errorf("eight cards take %v, two %v", eight, two)
	}
}

func TestEightGPUsAreFarFromTwiceFour(t *testing.T) {
	four := roofline(t, on(t, "llama-3.1-70b", "h100-sxm", 4)).Price(decodes(64, 1024, Window{}))
	eight := roofline(t, on(t, "llama-3.1-70b", "h100-sxm", 8)).Price(decodes(64, 1024, Window{}))
	if gain := float64(four) / float64(eight); gain < 1.2 || gain > 1.8 {
		t.Errorf("gain %.2f: %v on four, %v on eight", gain, four, eight)
	}
}

func TestGroupsBeyondANodeCrossTheSlowLink(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 8)
	d.GPUsPerNode = 8
	inside := newNetwork(d).allReduce(1 << 20).network
	d.TP, d.Internode = 16, Link{Bandwidth: 50e9, Latency: 17e-6}
	across := newNetwork(d).allReduce(1 << 20).network
	// The node's own all-reduce, there and back over two nodes, and an eighth of the tensor over each GPU's link.
	want := inside + 2*17e-6 + (1<<20)/8/(50e9*0.73)
	near(t, "across two nodes", across, want, 1e-6)
}

func TestHopsCarryTheActivationsOfAStep(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	if c := roofline(t, d).Cost(prefill(100, Window{})); c.Hop != 0 {
		t.Errorf("one stage hops %v", c.Hop)
	}
	d.PP, d.GPUsPerNode = 2, 8
	within := roofline(t, d).Cost(prefill(1000, Window{})).Hop.Seconds()
	near(t, "hop over NVLink", within, 7.6e-6+2*1000*4096/(450e9*0.8), 0.01)
	d.GPUsPerNode, d.Internode = 1, Link{Bandwidth: 50e9, Latency: 17e-6}
	across := roofline(t, d).Cost(prefill(1000, Window{})).Hop.Seconds()
	near(t, "hop across nodes", across, 17e-6+2*1000*4096/(50e9*0.73), 0.01)
}

func TestStagesDecodeFarSlowerThanTensorParallelismAtSmallBatches(t *testing.T) {
	tp := roofline(t, on(t, "llama-3.1-70b", "h100-sxm", 4)).Price(decodes(1, 1024, Window{}))
	d := on(t, "llama-3.1-70b", "h100-sxm", 1)
	d.PP = 4
	pp := 4 * roofline(t, d).Price(decodes(1, 1024, Window{}))
	if ratio := float64(pp) / float64(tp); ratio < 2.5 || ratio > 4 {
		t.Errorf("one token takes %v through four stages, %v on four GPUs at once", pp, tp)
	}
}

func TestAStageTakesItsShareOfTheLayers(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 1)
	one := roofline(t, d).Price(decodes(8, 1024, Window{}))
	d.PP = 4
	four := roofline(t, d).Cost(decodes(8, 1024, Window{})).Device
	near(t, "a stage of four", float64(four), float64(one)/4, 0.05) // and the LM head
	if 4*four < one {
		t.Errorf("the stages together take %v, less than the whole model's %v", 4*four, one)
	}
}
