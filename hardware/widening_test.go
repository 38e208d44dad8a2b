package hardware

import "testing"

// AutoAWQ #235: Llama-2-13B on A100 made 1724 and 1761 tokens/s with 128 and 256 sequences, in AWQ 1146 and 1008, and with fewer
// than 64 more than in 16 bits. vLLM widened nothing in memory yet; the constant was chosen for the first of these.
func TestTheOwnKernelsOfAWQHelpSmallBatchesAndHurtLargeOnes(t *testing.T) {
	decode := func(w Dtype, unfused bool, n int) float64 {
		d := on(t, "llama-2-13b", "a100-sxm-80g", 1)
		d.Weights, d.Unfused, d.Eager = w, unfused, true
		return ms(roofline(t, d).Price(decodes(n, 300, Window{})))
	}
	near(t, "tokens/s in AWQ to 16 bits, 128 sequences", decode(BF16, false, 128)/decode(AWQ, true, 128), 1146./1724, 0.05)
	near(t, "tokens/s in AWQ to 16 bits, 255 sequences", decode(BF16, false, 255)/decode(AWQ, true, 255), 1008./1761, 0.05)
	if a, b := decode(AWQ, true, 32), decode(BF16, false, 32); a >= b {
		t.Errorf("32 sequences: %.1f ms in AWQ, %.1f in 16 bits", a, b)
	}
}

// A step of any size that widens first pays the same for it: a fixed time, whose share falls with the size.
func TestWideningFirstCostsEveryLargeStepTheSame(t *testing.T) {
	for _, w := range []Dtype{AWQ, GPTQ} {
		var cost []float64
		for _, tokens := range []int{512, 2048} {
			d := on(t, "llama-2-13b", "a100-sxm-80g", 1)
			wide := ms(roofline(t, d).Price(prefill(tokens, Window{})))
			d.Weights, d.Unfused = w, true
			cost = append(cost, ms(roofline(t, d).Price(prefill(tokens, Window{})))-wide)
		}
		if cost[0] <= 0 {
			t.Errorf("%s: widening takes %.2f ms", w, cost[0])
		}
		near(t, string(w)+": milliseconds of 2048 and of 512 tokens", cost[1], cost[0], 1e-3)
	}
}
