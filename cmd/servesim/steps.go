package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
)

// A stepLog writes one line per step, so that a small run can be followed by hand: who was in it, how many tokens it
// computed, how many requests were left waiting and how many KV blocks free, and what its time was spent on.
type stepLog struct {
	out     *bufio.Writer
	n       int
	several bool // every line names its replica
}

// planned is what the scheduler left behind when it made a plan.
type planned struct{ waiting, free int }

// stepNames bounds how many sequences of a step are named.
const stepNames = 8

// replicaWidth is the width of the column that names the replica, where there are several.
const replicaWidth = 14

func newStepLog(w io.Writer, replicas int) *stepLog {
	l := &stepLog{out: bufio.NewWriter(w), several: replicas > 1}
	if l.several {
		fmt.Fprintf(l.out, "%-*s", replicaWidth, "replica")
	}
	fmt.Fprintf(l.out, "%5s %12s %9s %6s %6s %7s %7s %7s  %-34s  %s\n",
		"step", "from (ms)", "took (ms)", "tokens", "chunks", "decodes", "waiting", "free", "compute / weights / KV / net / other", "who: cached+new")
	return l
}

// hooks watches one engine of the run.
func (l *stepLog) hooks(r *cluster.Replica) engine.Hooks {
	e := &stepper{log: l, replica: r}
	return engine.Hooks{Planned: e.planned, Ran: e.ran}
}

// A stepper follows the steps of one engine.
type stepper struct {
	log     *stepLog
	replica *cluster.Replica
	pending []planned // plans in flight, oldest first
}

func (e *stepper) planned(_ sim.Time, p *scheduler.Plan) {
	if p.Empty() {
		return
	}
	_, waiting := e.replica.Scheduler.Load()
	e.pending = append(e.pending, planned{waiting, e.replica.Cache.Usage().Available()})
}

func (e *stepper) ran(r *engine.Ran) {
	var s planned
	if len(e.pending) > 0 {
		s, e.pending = e.pending[0], e.pending[1:]
	}
	l := e.log
	l.n++
	chunks, decodes, tokens := 0, 0, 0
	for i := range r.Plan.Work {
		w := &r.Plan.Work[i]
		tokens += int(w.Tokens)
		if w.Decode {
			decodes++
		} else {
			chunks++
		}
	}
	by := r.Cost.By
	other := r.End.Sub(r.Start) - by.Compute - by.Weights - by.KVRead - by.Network
	split := fmt.Sprintf("%s / %s / %s / %s / %s", ms(by.Compute), ms(by.Weights), ms(by.KVRead), ms(by.Network), ms(other))
	if l.several {
		fmt.Fprintf(l.out, "%-*s", replicaWidth, e.replica.Name)
	}
	fmt.Fprintf(l.out, "%5d %12s %9s %6d %6d %7d %7d %7d  %-34s  %s\n",
		l.n, ms(time.Duration(r.Start)), ms(r.End.Sub(r.Start)), tokens, chunks, decodes, s.waiting, s.free, split, who(r.Plan))
}

// who names the sequences of a step by their place in the order of arrival.
func who(p *scheduler.Plan) string {
	var names []string
	for i, w := range p.Work {
		if i == stepNames {
			names = append(names, fmt.Sprintf("… %d more", len(p.Work)-i))
			break
		}
		names = append(names, fmt.Sprintf("#%d:%d+%d", w.Seq.Order, w.Past, w.Tokens))
	}
	for _, s := range p.Preempted {
		names = append(names, fmt.Sprintf("preempted #%d", s.Order))
	}
	return strings.Join(names, " ")
}

// ms prints a span in milliseconds to the microsecond.
func ms(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1e3, 'f', 3, 64) }

// close ends the log with an empty line: the report follows.
func (l *stepLog) close() error {
	l.out.WriteByte('\n')
	return l.out.Flush()
}
