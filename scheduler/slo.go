package scheduler

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim"
)

// SLO returns an order that has as many requests as possible meet their targets: least slack first,
//
//	slack = deadline − now − time of the prefill alone
//
// with the deadlines of [EDF]; and who has no slack left, since even an idle engine could not meet the deadline any more,
// is demoted behind all who can still be helped. Of the demoted the oldest comes first.
//
// Sources: least slack: Mok, "Fundamental Design Problems of Distributed Systems for the Hard-Real-Time Environment", MIT
// 1983; demotion: the eager relegation of Goel et al., "Niyama: Breaking the Silos of LLM Inference Serving", arXiv
// 2503.22562, 2025; Mooncake (Qin et al., FAST 2025) goes further and refuses such requests.
func SLO(cost hardware.CostModel, targets func(*Seq) Targets) Order {
	return &slo{edf: edf{targets}, cost: cost}
}

type slo struct {
	edf
	cost  hardware.CostModel
	lines []*heap
}

// What the order notes about a sequence.
const (
	sloPrefill = iota // time that its prefill takes alone
	sloLate           // 1: demoted
)

// Arrive works out how long the prefill takes.
func (o *slo) Arrive(s *Seq) { s.Notes[sloPrefill] = int64(alone(o.cost, s)) }

// Before puts those who can be helped first, and among them who must start first.
func (o *slo) Before(a, b *Seq) bool {
	if x, y := a.Notes[sloLate], b.Notes[sloLate]; x != y {
		return x < y
	} else if x == 1 {
		return older(a, b)
	}
	if x, y := o.latest(a), o.latest(b); x != y {
		return x < y
	}
	return older(a, b)
}

// latest returns when s must start, at the latest: what is left until then is its slack.
func (o *slo) latest(s *Seq) sim.Time {
	if d := o.deadline(s); d != sim.Never {
		return d - sim.Time(s.Notes[sloPrefill])
	}
	return sim.Never
}

func (o *slo) line() line {
	h := &heap{before: o.Before}
	o.lines = append(o.lines, h)
	return h
}

func (o *slo) skippedFirst(a, b *Seq) bool { return o.Before(a, b) }
func (o *slo) victim(running []*Seq) int   { return sorted{o}.victim(running) }

// tick demotes those who have become hopeless. They stand at the head: nobody has less slack.
func (o *slo) tick(now sim.Time, b *batcher) {
	if !b.someoneWaits() {
		return
	}
	start := now.Add(o.company(b))
	for _, h := range o.lines {
		for s := h.head(); s != nil && s.Notes[sloLate] == 0 && o.latest(s) < start; s = h.head() {
			h.pop()
			s.Notes[sloLate] = 1
			h.push(s)
		}
	}
}

// company returns what the others cost whoever is admitted now: a step like the last one goes with its own, and where
// steps are planned ahead, one is still under way.
func (o *slo) company(b *batcher) time.Duration {
	latest := b.latest()
	if latest == nil || b.running.n == 0 {
		return 0
	}
	step := took(o.cost, latest.Step)
	if b.async {
		step *= 2
	}
	return step
}

// alone returns how long an engine that does nothing else takes to compute what s knows.
func alone(cost hardware.CostModel, s *Seq) time.Duration {
	var step hardware.Step
	step.AddChunk(int(s.Known()), 0, true, hardware.Window{})
	return took(cost, step)
}

// took returns how long a step takes.
func took(cost hardware.CostModel, s hardware.Step) time.Duration {
	c := cost.Cost(s)
	return c.Exposed + max(c.Device, c.Host)
}
