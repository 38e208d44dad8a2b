package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func run(t *testing.T, k *Kernel) {
	t.Helper()
	if err := k.Run(context.Background(), Never); err != nil {
		t.Fatal(err)
	}
}

func TestEventsFireByTimeThenPhaseThenSequence(t *testing.T) {
	k := New(1)
	var got []string
	note := func(s string) func() { return func() { got = append(got, s) } }
	k.At(5, Watch, note("5 watch"))
	k.At(5, Arrive, note("5 arrive, first"))
	k.At(5, Arrive, note("5 arrive, second"))
	k.At(5, Decide, note("5 decide"))
	k.At(5, Finish, note("5 finish"))
	k.At(3, Watch, note("3 watch"))
	run(t, k)
	want := []string{"3 watch", "5 arrive, first", "5 arrive, second", "5 finish", "5 decide", "5 watch"}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

// The oracle of the heap: sort what was scheduled, leave out what was cancelled.
func TestQueueAgreesWithASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type item struct {
			at    Time
			phase Phase
			seq   int
		}
		k := New(1)
		var want, got []item
		for i := range rapid.IntRange(1, 200).Draw(t, "events") {
			it := item{Time(rapid.IntRange(0, 20).Draw(t, "at")), Phase(rapid.IntRange(0, 3).Draw(t, "phase")), i}
			timer := k.At(it.at, it.phase, func() { got = append(got, it) })
			if rapid.IntRange(0, 3).Draw(t, "cancel") == 0 {
				if !timer.Cancel() || timer.Cancel() {
					t.Fatal("a pending timer is cancelled once")
				}
				continue
			}
			want = append(want, it)
		}
		slices.SortStableFunc(want, func(a, b item) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(a.phase) - int(b.phase)
		})
		if err := k.Run(context.Background(), Never); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("fired %v, want %v", got, want)
		}
		if c := k.Counts(); c.Scheduled != c.Fired+c.Cancelled || c.Pending != 0 {
			t.Fatalf("events lost: %+v", c)
		}
	})
}

func TestSchedulingInThePastPanics(t *testing.T) {
	k := New(1)
	k.At(10, Arrive, func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		k.At(9, Arrive, func() {})
	})
	run(t, k)
}

func TestAStaleTimerDoesNotCancelTheEventThatReusesItsSlot(t *testing.T) {
	k := New(1)
	old := k.At(1, Arrive, func() {})
	run(t, k)
	fired := false
	k.At(2, Arrive, func() { fired = true })
	if old.Cancel() {
		t.Error("a fired timer was cancelled")
	}
	run(t, k)
	if !fired {
		t.Error("the new event was lost")
	}
	if (Timer{}).Cancel() {
		t.Error("the zero timer cancelled something")
	}
}

func TestRunStopsAtItsLimitAndGoesOnFromThere(t *testing.T) {
	k := New(1)
	var at []Time
	for _, s := range []Time{1, 5, 9} {
		k.At(s, Arrive, func() { at = append(at, k.Now()) })
	}
	if err := k.Run(context.Background(), 5); err != nil || k.Now() != 5 || len(at) != 2 {
		t.Errorf("after Run until 5: now %v, fired %v, error %v", k.Now(), at, err)
	}
	run(t, k)
	if k.Now() != 9 || len(at) != 3 {
		t.Errorf("after Run to the end: now %v, fired %v", k.Now(), at)
	}
}

func TestRunEndsWhenItsContextDoes(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	k := New(1)
	var tick func()
	tick = func() {
		if k.Now() == 10 {
			cancel(enough)
		}
		k.After(1, Arrive, tick)
	}
	k.After(1, Arrive, tick)
	if err := k.Run(ctx, Never); !errors.Is(err, enough) {
		t.Errorf("error %v, want %v", err, enough)
	}
}

func TestAdvanceGoesNoFurtherThanTheNextEvent(t *testing.T) {
	k := New(1)
	k.At(1, Arrive, func() {
		if k.Next() != 7 {
			t.Errorf("next %v, want 7ns", k.Next())
		}
		k.Advance(7)
		defer func() {
			if recover() == nil {
				t.Error("advanced beyond a pending event")
			}
		}()
		k.Advance(8)
	})
	k.At(7, Arrive, func() {})
	run(t, k)
}

func TestStreamsAreIndependentOfTheOrderInWhichTheyAreAskedFor(t *testing.T) {
	draw := func(s rand.Source) (v [4]uint64) {
		for i := range v {
			v[i] = s.Uint64()
		}
		return v
	}
	a, b := New(7), New(7)
	first := draw(a.Rand("arrivals"))
	draw(b.Rand("lengths"))
	if draw(b.Rand("arrivals")) != first {
		t.Error("asking for another stream shifted the draws")
	}
	if draw(New(8).Rand("arrivals")) == first || draw(a.Rand("lengths")) == first {
		t.Error("another seed or another name gave the same draws")
	}
}

func TestSecondsRoundsToTheNearestNanosecondAndSaturates(t *testing.T) {
	for _, c := range []struct {
		s    float64
		want time.Duration
	}{{0, 0}, {1e-9, 1}, {1.4e-9, 1}, {1.6e-9, 2}, {-1.6e-9, -2}, {3, 3 * time.Second}, {math.Inf(1), math.MaxInt64}, {1e300, math.MaxInt64}} {
		if got := Seconds(c.s); got != c.want {
			t.Errorf("Seconds(%g) = %d, want %d", c.s, got, c.want)
		}
	}
	if got := Never.Add(time.Hour); got != Never {
		t.Errorf("Never + 1h = %v", got)
	}
	if got := Time(12_000_000_345).String(); got != "12.000000345s" {
		t.Errorf("prints as %q", got)
	}
}

func TestAPendingEventCostsNoAllocation(t *testing.T) {
	k := New(1)
	n := 0
	var tick func()
	tick = func() {
		if n++; n%1000 != 0 {
			k.After(1, Arrive, tick)
		}
	}
	loop := func() {
		k.After(1, Arrive, tick)
		run(t, k)
	}
	loop()
	if avg := testing.AllocsPerRun(10, loop); avg > 1 {
		t.Errorf("%.1f allocations per 1000 events, want none", avg)
	}
}

// BenchmarkHold is the classic hold model: pop one event, push one, at a steady queue length.
func BenchmarkHold(b *testing.B) {
	for _, length := range []int{16, 1024, 131072} {
		b.Run(fmt.Sprintf("pending=%d", length), func(b *testing.B) {
			k := New(1)
			rng := rand.New(k.Rand("hold"))
			left := b.N
			var hold func()
			hold = func() {
				if left--; left > 0 {
					k.After(time.Duration(rng.Int64N(1000)), Finish, hold)
				}
			}
			for range length {
				k.After(time.Duration(rng.Int64N(1000)), Finish, hold)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := k.Run(context.Background(), Never); err != nil {
				b.Fatal(err)
			}
		})
	}
}
