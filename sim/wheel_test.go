package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type parcel struct {
	peg Peg[parcel]
	due int64
	id  int
}

// The oracle of the wheel: look at every item at every tick.
func TestTheWheelHandsOutWhatIsDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Wheel[parcel]
		var open []*parcel
		for tick := range int64(60) {
			tick *= int64(rapid.SampledFrom([]int{1, 700}).Draw(t, "pace"))
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				p := &parcel{due: tick + int64(rapid.IntRange(0, 3*laps).Draw(t, "wait")), id: len(open)}
				w.Hang(&p.peg, p, p.due)
				open = append(open, p)
			}
			if len(open) > 0 && rapid.Bool().Draw(t, "take back") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				w.Unhang(&open[i].peg)
				w.Unhang(&open[i].peg) // a second time changes nothing
				open = slices.Delete(open, i, i+1)
			}
			if len(open) == 0 {
				continue
			}
			now := open[rapid.IntRange(0, len(open)-1).Draw(t, "now")].due
			for quiet := range int64(w.Quiet(tick, 5)) {
				if w.Any(tick+quiet) || slices.ContainsFunc(open, func(p *parcel) bool { return p.due == tick+quiet }) {
					t.Fatalf("tick %d is said to be quiet", tick+quiet)
				}
			}
			got := w.Due(now, nil)
			var want []*parcel
			open = slices.DeleteFunc(open, func(p *parcel) bool {
				if p.due == now {
					want = append(want, p)
				}
				return p.due == now
			})
			if len(got) != len(want) {
				t.Fatalf("tick %d: %d due, want %d", now, len(got), len(want))
			}
			for _, p := range want {
				if !slices.Contains(got, p) || p.peg.Hung() {
					t.Fatalf("tick %d: item due at %d is missing or still hangs", now, p.due)
				}
			}
		}
	})
}
