package hardware

import (
	"slices"
	"testing"
)

func TestCaptureSizesAreThoseOfVLLM(t *testing.T) {
	for _, c := range []struct {
		seqs, tokens int
		blackwell    bool
		last         []int // the largest three
		count        int
	}{
		{256, 8192, false, []int{480, 496, 512}, 3 + 31 + 17},
		{1024, 8192, false, []int{480, 496, 512}, 51},
		{1024, 8192, true, []int{992, 1008, 1024}, 3 + 31 + 49},
		{128, 2048, false, []int{240, 248, 256}, 3 + 31 + 1},
		{128, 100, false, []int{88, 96, 100}, 3 + 12 + 1},
		{1, 2048, false, []int{1, 2}, 2},
		{3, 2048, false, []int{1, 2, 4}, 3},
		{0, 2048, false, nil, 0},
	} {
		got := CaptureSizes(c.seqs, c.tokens, c.blackwell)
		if len(got) != c.count || !slices.Equal(got[max(0, len(got)-3):], c.last) || !slices.IsSorted(got) {
			t.Errorf("max_num_seqs %d, budget %d: %d sizes %v", c.seqs, c.tokens, len(got), got)
		}
	}
}

func TestStepsArePaddedToTheNextGraph(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	l := newLaunches(d, newShard(d))
	for _, c := range []struct{ tokens, padded int }{{1, 1}, {3, 4}, {5, 8}, {9, 16}, {249, 256}, {257, 272}, {512, 512}, {513, 513}} {
		if got := l.pad(c.tokens); got != c.padded {
			t.Errorf("%d tokens run as %d, want %d", c.tokens, got, c.padded)
		}
	}
	r := roofline(t, d)
	if a, b := r.tokens(9), r.tokens(16); a != b {
		t.Errorf("nine tokens must cost what sixteen do: %+v, %+v", a, b)
	}
}

func TestEagerStepsAreBoundByTheirLaunches(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	graphed := roofline(t, d)
	d.Eager = true
	eager := roofline(t, d)
	small, large := decodes(1, 100, Window{}), prefill(4000, Window{})
	if a, b := graphed.Price(small), eager.Price(small); float64(b) < 0.99*20e3*12*32 || b <= a {
		t.Errorf("a decode takes %v, with a graph %v", b, a)
	}
	if by := eager.Cost(decodes(1, 100, Window{})).By; by.Overhead <= graphed.Cost(small).By.Overhead {
		t.Errorf("waiting for launches is overhead: %+v", by)
	}
	if a, b := graphed.Price(large), eager.Price(large); a != b {
		t.Errorf("long kernels hide their launches: %v, %v", a, b)
	}
	// Above the largest graph, compiled kernels are launched one by one as well: the floor of a tiny model.
	d = on(t, "qwen3-0.6b", "h100-sxm", 1)
	r := roofline(t, d)
	if floor := 6e-6 * 12 * 28; r.Price(decodes(600, 1, Window{})).Seconds() < floor*0.999 {
		t.Errorf("%v is less than its launches take", r.Price(decodes(600, 1, Window{})))
	}
}
