package metrics

import (
	"math/rand/v2"
	"testing"
	"time"
)

func BenchmarkReportOfAHundredThousandRequests(b *testing.B) {
	r := New(Config{SLO: SLO{TTFT: time.Second}})
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		ttft, rest := rnd.Int64N(1e9), rnd.Int64N(1e10)
		r.records.add(&record{
			ttft: ttft, tpot: float64(rest) / 255, e2el: ttft + rest, prompt: 512, output: 256,
		})
	}
	for b.Loop() {
		r.Report(1)
	}
}

func BenchmarkGap(b *testing.B) {
	g := newGaps()
	for b.Loop() {
		g.add(21_345_678, 170)
	}
}
