package scheduler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheRunningBehaveLikeAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r running
		var list []*Seq
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				s := &Seq{}
				r.add(s)
				if n := len(list); n > 0 && list[n-1].Rank >= s.Rank {
					t.Fatalf("rank %d comes after %d", s.Rank, list[n-1].Rank)
				}
				list = append(list, s)
			},
			"remove": func(t *rapid.T) {
				if len(list) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
				r.remove(list[i])
				list = slices.Delete(list, i, i+1)
				if r.n != len(list) {
					t.Fatalf("%d run, want %d", r.n, len(list))
				}
			},
			"list": func(t *rapid.T) {
				if !slices.Equal(r.list(), list) {
					t.Fatal("another list, or another order")
				}
			},
		})
	})
}
