package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAProcessTellsItsStoryInVirtualTime(t *testing.T) {
	k := New(1)
	var log []string
	k.Go("client", func(p *Process) {
		for i := range 2 {
			p.Sleep(10)
			p.Wait(func(done func()) { k.After(5, Finish, done) })
			log = append(log, fmt.Sprint(i, "@", int64(p.Now())))
		}
	})
	run(t, k)
	if got := strings.Join(log, " "); got != "0@15 1@30" {
		t.Errorf("log %q", got)
	}
}

func TestAnAnswerGivenAtOnceResumesTheProcessAtTheSameInstant(t *testing.T) {
	k := New(1)
	ended := Time(-1)
	k.Go("client", func(p *Process) {
		p.Wait(func(done func()) { done() })
		ended = p.Now()
	})
	run(t, k)
	if ended != 0 {
		t.Errorf("ended at %v", ended)
	}
}

func TestAProcessThatWaitsForEverIsReportedByName(t *testing.T) {
	k := New(1)
	k.Go("forgotten", func(p *Process) { p.Wait(func(func()) {}) })
	err := k.Run(context.Background(), Never)
	if err == nil || !strings.Contains(err.Error(), `"forgotten"`) {
		t.Errorf("error %v", err)
	}
	k.Stop()
	if err := k.Check(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
}

func TestStopUnwindsDeferredCallsOfAParkedProcess(t *testing.T) {
	k := New(1)
	unwound := false
	k.Go("sleeper", func(p *Process) {
		defer func() { unwound = true }()
		p.Sleep(time.Hour)
	})
	if err := k.Run(context.Background(), Time(time.Minute)); err != nil {
		t.Fatal(err)
	}
	k.Stop()
	if !unwound {
		t.Error("the story is still parked")
	}
}

// Example shows a clock and a client side by side.
func Example() {
	k := New(1)
	k.Go("client", func(p *Process) {
		for range 2 {
			p.Sleep(2 * time.Second)
			fmt.Println("client at", p.Now())
		}
	})
	k.At(Time(3*time.Second), Watch, func() { fmt.Println("clock at", k.Now()) })
	_ = k.Run(context.Background(), Never)
	// Output:
	// client at 2.000000000s
	// clock at 3.000000000s
	// client at 4.000000000s
}

func BenchmarkSwitch(b *testing.B) {
	k := New(1)
	k.Go("sleeper", func(p *Process) {
		for range b.N {
			p.Sleep(1)
		}
	})
	b.ReportAllocs()
	if err := k.Run(context.Background(), Never); err != nil {
		b.Fatal(err)
	}
}
