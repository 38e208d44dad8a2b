package scheduler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each of the members is a number of tokens; in every beat it begins a block if those it has are whole blocks.
func TestPhasesForeseeWhoBeginsABlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(t, "size")
		f := newPhases(size)
		f.turn(rapid.IntRange(0, size).Draw(t, "turned"))
		members := rapid.SliceOfN(rapid.IntRange(0, 100), 0, 10).Draw(t, "members")
		for _, tokens := range members {
			f.add(f.slot(int32(tokens%size)), 1)
		}
		var want []int
		sum := 0
		for beat := range rapid.IntRange(0, 50).Draw(t, "beats") {
			begun := 0
			for _, tokens := range members {
				if (tokens+beat)%size == 0 {
					begun++
				}
			}
			want = append(want, begun)
			sum += begun
		}
		got := make([]int, len(want))
		f.foresee(got)
		if !slices.Equal(got, want) {
			t.Errorf("foreseen %v, want %v", got, want)
		}
		if n := f.pass(len(want), len(members)); n != sum {
			t.Errorf("%d blocks begin, want %d", n, sum)
		}
		for _, tokens := range members {
			f.add(f.slot(int32((tokens+len(want))%size)), -1)
		}
		if slices.Max(f.twice) != 0 || slices.Min(f.twice) != 0 {
			t.Errorf("all have left, and there are still %v", f.twice)
		}
	})
}
