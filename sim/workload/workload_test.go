package workload

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
)

func streams(seed uint64) func(string) rand.Source {
	return func(name string) rand.Source { return sim.Stream(seed, name) }
}

// A desk is a server that answers each request after a time, or refuses them all. It keeps what it was sent.
type desk struct {
	kernel  *sim.Kernel
	answers func(r *Request) time.Duration
	refuses bool
	seen    []Request
	underWay,
	most int
}

func (d *desk) Submit(r *Request, done func(Outcome)) {
	kept := *r
	kept.Prompt = slices.Clone(r.Prompt)
	d.seen = append(d.seen, kept)
	if d.refuses {
		done(Outcome{Status: Rejected, At: d.kernel.Now()})
		return
	}
	d.underWay++
	d.most = max(d.most, d.underWay)
	d.kernel.After(d.answers(r), sim.Finish, func() {
		if r.ID != kept.ID {
			panic("a request was reused before its answer")
		}
		d.underWay--
		done(Outcome{At: d.kernel.Now()})
	})
}

func always(d time.Duration) func(*Request) time.Duration {
	return func(*Request) time.Duration { return d }
}

// play runs a workload to its end against a desk that answers after a second.
func play(t *testing.T, s Spec) []Request {
	t.Helper()
	return playAgainst(t, s, &desk{answers: always(time.Second)})
}

func playAgainst(t *testing.T, s Spec, d *desk) []Request {
	t.Helper()
	l, err := New(s, streams(1))
	if err != nil {
		t.Fatal(err)
	}
	d.kernel = sim.New(1)
	l.Start(d.kernel, d)
	if err := d.kernel.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if n := l.Requests(); n >= 0 && n != len(d.seen) {
		t.Fatalf("Requests() = %d, but %d were sent", n, len(d.seen))
	}
	return d.seen
}

// basic is a valid workload for tests to vary.
func basic() Spec {
	return Spec{
		Requests: 1000,
		Arrivals: Poisson{Rescale: true},
		Rate:     10,
		Prompt:   Length{Law: LogNormal{Mean: 512, P99: 2048}},
		Output:   Length{Law: Normal{Mean: 200, Stdev: 50}},
	}
}

func rows(requests []Request) string {
	var b []byte
	for i := range requests {
		b = append(AppendRequest(b, &requests[i]), '\n')
	}
	return string(b)
}
