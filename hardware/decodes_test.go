package hardware

import "testing"

func TestWhatIsRememberedOfDecodesChangesNoBit(t *testing.T) {
	for _, d := range everyDeployment(t) {
		quick, plain := roofline(t, d), roofline(t, d)
		plain.decodings = nil
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
