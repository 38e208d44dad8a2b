package scheduler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/sim"
)

// A queued is a line and the plain list that it must behave like.
type queued struct {
	line   queue
	list   []*Seq
	sorted bool
	number int64
}

func (q *queued) fresh(t *rapid.T) *Seq {
	q.number++
	return &Seq{
		Order: q.number, Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
		Arrival: sim.Time(rapid.IntRange(0, 3).Draw(t, "arrival")),
	}
}

func (q *queued) insert(i int, s *Seq) {
	q.list = slices.Insert(q.list, i, s)
	if q.sorted {
		slices.SortFunc(q.list, func(a, b *Seq) int {
			if (priority{}).Before(a, b) {
				return -1
			}
			return 1
		})
	}
}

func (q *queued) push(t *rapid.T) {
	s := q.fresh(t)
	q.line.push(s)
	q.insert(len(q.list), s)
}

func (q *queued) pushFront(t *rapid.T) {
	s := q.fresh(t)
	q.line.pushFront(s)
	q.insert(0, s)
}

func (q *queued) pop(t *rapid.T) {
	if len(q.list) == 0 {
		t.Skip("empty")
	}
	if s := q.line.pop(); s != q.list[0] {
		t.Fatalf("popped %d, want %d", s.Order, q.list[0].Order)
	}
	q.list = q.list[1:]
}

func (q *queued) remove(t *rapid.T) {
	if q.line.remove(q.fresh(t)) {
		t.Fatal("removed a sequence that was not there")
	}
	if len(q.list) == 0 {
		return
	}
	i := rapid.IntRange(0, len(q.list)-1).Draw(t, "i")
	if !q.line.remove(q.list[i]) {
		t.Fatalf("%d was not found", q.list[i].Order)
	}
	q.list = slices.Delete(q.list, i, i+1)
}

func (q *queued) check(t *rapid.T) {
	var head *Seq
	if len(q.list) > 0 {
		head = q.list[0]
	}
	if q.line.n != len(q.list) || q.line.head() != head {
		t.Fatalf("length %d, want %d; or another head", q.line.n, len(q.list))
	}
	seen := 0
	q.line.each(func(*Seq) { seen++ })
	if seen != len(q.list) {
		t.Fatalf("walked over %d of %d", seen, len(q.list))
	}
}

func TestLinesBehaveLikeLists(t *testing.T) {
	for _, o := range []order{fcfs{}, sorted{priority{}}} {
		rapid.Check(t, func(t *rapid.T) {
			_, ok := o.(sorted)
			q := &queued{line: queue{line: o.line()}, sorted: ok}
			t.Repeat(map[string]func(*rapid.T){
				"push": q.push, "push front": q.pushFront, "pop": q.pop, "remove": q.remove, "": q.check,
			})
		})
	}
}
