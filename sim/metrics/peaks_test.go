package metrics

import (
	"math/rand/v2"
	"testing"

	"github.com/servesim/servesim/sim"
)

// A second's crowd is counted here request by request.
func TestCrowdsAreTheSameHoweverSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []int64{1e9, 60e9, 5e12, 1e15} {
		var c crowd
		origin := sim.Time(span / 10)
		var stays [][2]int64
		for range 300 {
			came := sim.Time(r.Int64N(span)) - origin
			went := came + sim.Time(r.Int64N(1+r.Int64N(20e9)))
			c.add(came, went)
			stays = append(stays, [2]int64{int64(max(came, 0)) / 1e9, int64(max(went, 0)) / 1e9})
		}
		want := 0
		for _, at := range stays { // the largest crowd begins when one comes
			n := 0
			for _, s := range stays {
				if s[0] <= at[0] && at[0] <= s[1] {
					n++
				}
			}
			want = max(want, n)
		}
		if got := c.largest(); got != want {
			t.Errorf("span %d ns: a crowd of %d, want %d", span, got, want)
		}
	}
	if new(crowd).largest() != 0 {
		t.Error("nobody is a crowd")
	}
}
