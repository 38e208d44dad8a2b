package hardware

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// unhurried returns a cost model that remembers no decodes and takes every step for that of an unusual deployment.
func unhurried(t *testing.T, d Deployment) *Roofline {
	r := roofline(t, d)
	r.decodings.list, r.plain = nil, nil
	return r
}

// everyBound returns every deployment, and one whose decode attention waits for arithmetic.
func everyBound(t *testing.T) []Deployment {
	weak := on(t, "llama-3-70b", "h100-sxm", 8)
	weak.Device.BF16 /= 100
	return append(everyDeployment(t), weak)
}

func TestWhatIsRememberedOfDecodesChangesNoBit(t *testing.T) {
	for _, d := range everyBound(t) {
		quick, plain := roofline(t, d), unhurried(t, d)
		for _, n := range []int{1, 2, 7, 50, 256, 700} {
			for _, past := range []int{1, 700, 1234} {
				s := decodes(n, past, quick.Window())
				s.KVShared = s.KVRead / 3
				if got, want := quick.Cost(s), plain.Cost(s); got != want {
					t.Fatalf("%s: %d decodes of %d tokens cost %+v, want %+v", label(d), n, past, got, want)
				}
			}
		}
	}
}

func TestAPlainDeploymentIsPricedLikeAnyOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range everyBound(t) {
		quick, slow := roofline(t, d), unhurried(t, d)
		for range 500 {
			s := decodes(r.IntN(300), r.IntN(20_000), quick.Window())
			for range r.IntN(4) {
				s.AddChunk(1+r.IntN(1<<r.IntN(14)), r.IntN(20_000), r.IntN(2) == 0, quick.Window())
			}
			if r.IntN(4) == 0 {
				s.KVShared = r.Int64N(s.KVRead + 1)
			}
			if r.IntN(8) == 0 {
				s.Rows = r.IntN(600)
			}
			if got, want := quick.Cost(s), slow.Cost(s); got != want {
				t.Fatalf("%s: %+v costs %+v, want %+v", label(d), s, got, want)
			}
		}
	}
}

func TestStepsThatLastForeverAreThoseOfAnyDeployment(t *testing.T) {
	for _, d := range everyDeployment(t) {
		quick, slow := roofline(t, d), unhurried(t, d)
		s := decodes(4, 1000, quick.Window())
		s.KVRead = 1 << 62
		if got, want := quick.Cost(s), slow.Cost(s); got != want || got.Device < longestSpan/1000 {
			t.Errorf("%s: %+v, want %+v", label(d), got, want)
		}
	}
}

func TestBeatsCostWhatTheirStepsCost(t *testing.T) {
	paced := 0
	for _, d := range everyBound(t) {
		quick, slow := roofline(t, d), unhurried(t, d)
		for _, n := range []int{1, 30, 256} {
			s := decodes(n, 100, quick.Window())
			s.KVShared = s.KVRead / 4
			var b Beats
			if !quick.Beats(&b, &s) {
				continue
			}
			paced++
			var got Cost
			for range 500 {
				b.Next(&got)
				if want := slow.Cost(s); got != want {
					t.Fatalf("%s: %+v costs %+v, want %+v", label(d), s, got, want)
				}
				s.KVRead += int64(n)
			}
		}
	}
	if paced == 0 {
		t.Error("no deployment has beats")
	}
}

func TestSimulationsMayShareWhatIsRemembered(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	shared, own := roofline(t, d), roofline(t, d)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := 1; n < 300; n++ {
				s := decodes(n%100, 500, Window{})
				s.AddChunk(n, 0, true, Window{})
				shared.Cost(s)
				shared.Cost(decodes(n, 500, Window{}))
			}
		})
	}
	all.Wait()
	for n := 1; n < 300; n++ {
		if s := decodes(n, 500, Window{}); shared.Cost(s) != own.Cost(s) {
			t.Errorf("%d decodes cost %+v, want %+v", n, shared.Cost(s), own.Cost(s))
		}
	}
}

func BenchmarkFill(b *testing.B) {
	r := roofline(b, on(b, "llama-3.1-8b", "h100-sxm", 1))
	s := decodes(50, 700, Window{})
	var c Cost
	b.ReportAllocs()
	for b.Loop() {
		s.KVRead++
		r.Fill(&c, &s)
	}
}

func BenchmarkBeats(b *testing.B) {
	r := roofline(b, on(b, "llama-3.1-8b", "h100-sxm", 1))
	s := decodes(50, 700, Window{})
	var beats Beats
	if !r.Beats(&beats, &s) {
		b.Fatal("no beats")
	}
	var c Cost
	for b.Loop() {
		beats.Next(&c)
	}
}

func BenchmarkFillMixed(b *testing.B) {
	r := roofline(b, on(b, "llama-3.1-8b", "h100-sxm", 1))
	s := decodes(50, 700, Window{})
	s.AddChunk(500, 0, true, Window{})
	var c Cost
	b.ReportAllocs()
	for b.Loop() {
		s.KVRead++
		r.Fill(&c, &s)
	}
}
