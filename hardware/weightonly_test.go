package hardware

import "testing"

// Marlin on an A100 against the 16-bit product, 18,432 × 18,432 (vLLM #2497): narrow weights pay as long as they are what is
// waited for, and cost once arithmetic is.
func TestNarrowWeightsPayForSmallBatchesAndCostLargeOnes(t *testing.T) {
	d := device(t, "a100-sxm-80g")
	time := func(w Dtype, rows float64) float64 {
		p := matmul{n: 18432, k: 18432, by: d.arithmetic(w)}.price(rows)
		return p.seconds()
	}
	for _, c := range []struct{ rows, speedup float64 }{{1, 3.12}, {16, 3.19}, {32, 2.28}, {64, 1.47}, {128, 1.01}, {256, 0.74}, {512, 0.73}, {1024, 0.66}, {2048, 0.60}, {4000, 0.61}} {
		got := time(BF16, c.rows) / time(GPTQ, c.rows)
		t.Logf("%4g rows: %.2f, measured %.2f", c.rows, got, c.speedup)
		if got < 0.85*c.speedup || got > 1.15*c.speedup {
			t.Errorf("%g rows: %.2f times as fast as 16 bits, want %.2f", c.rows, got, c.speedup)
		}
	}
}
