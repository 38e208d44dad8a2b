package scheduler

import (
	"time"

	"github.com/servesim/servesim/sim"
)

// Targets are what a request is to keep; 0: no target.
type Targets struct {
	TTFT time.Duration // to the first token
	TPOT time.Duration // for every token after it
}

// EDF returns earliest deadline first, by the deadline of the token that comes next:
//
//	d(k) = arrival + TTFT + k·TPOT    for the token after k others
//
// With one target for all it is first come, first served, but for those that have been preempted. It is optimal as long as all
// deadlines can be met, and fails at once when they cannot: it serves those who are late already first. See [SLO].
//
// Source: Liu and Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment", J. ACM 20(1), 1973.
func EDF(targets func(*Seq) Targets) Order { return edf{targets} }

type edf struct{ targets func(*Seq) Targets }

// Before reports whether a's next token is due before b's, or as soon and a is older.
func (o edf) Before(a, b *Seq) bool {
	if x, y := o.deadline(a), o.deadline(b); x != y {
		return x < y
	}
	return older(a, b)
}

// deadline returns when the next token of s is due; Never without a target.
func (o edf) deadline(s *Seq) sim.Time {
	t := o.targets(s)
	if t.TTFT == 0 {
		return sim.Never
	}
	return s.Arrival.Add(t.TTFT + time.Duration(s.Out)*t.TPOT)
}
