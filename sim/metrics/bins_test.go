package metrics

import (
	"math/rand/v2"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func TestBinsAreThoseOfAnHdrHistogram(t *testing.T) {
	h := hdr.New(1, longestGap, 3)
	ours := make(bins, binOf(longestGap)+1)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range int64(20_000) {
		v := i
		if i >= 5000 {
			v = r.Int64N(longestGap+1) >> r.IntN(46)
		}
		n := 1 + r.Int64N(9)
		if err := h.RecordValues(v, n); err != nil {
			t.Fatal(err)
		}
		ours[binOf(v)] += n
	}
	_ = h.RecordValues(longestGap, 1)
	ours[binOf(longestGap)]++
	for i, bar := range h.Distribution() {
		from, to := binAt(i)
		if from != bar.From || to != bar.To || ours[i] != bar.Count {
			t.Fatalf("bin %d holds %d of %d to %d, a histogram's %d of %d to %d", i, ours[i], from, to, bar.Count, bar.From, bar.To)
		}
	}
}
