package scenarios

import (
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// watchBoth returns hooks that call those of a, then those of b. A hook that only one of them has is taken as it is, so
// that watching costs nothing more.
func watchBoth(a, b engine.Hooks) engine.Hooks {
	return engine.Hooks{
		Coasted: onCoast(&a, &b),
		Arrived: onLife(a.Arrived, b.Arrived), Admitted: onLife(a.Admitted, b.Admitted),
		FirstOut: onLife(a.FirstOut, b.FirstOut), Resumed: onLife(a.Resumed, b.Resumed),
		Preempted: onLife(a.Preempted, b.Preempted), TokenOut: onLife(a.TokenOut, b.TokenOut),
		Finished: onLife(a.Finished, b.Finished),
		Gap:      onGap(a.Gap, b.Gap), Planned: onPlan(a.Planned, b.Planned), Ran: onRan(a.Ran, b.Ran),
	}
}

func onLife(a, b func(sim.Time, *engine.Life)) func(sim.Time, *engine.Life) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(now sim.Time, l *engine.Life) { a(now, l); b(now, l) }
}

func onGap(a, b func(time.Duration, int)) func(time.Duration, int) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(gap time.Duration, n int) { a(gap, n); b(gap, n) }
}

func onPlan(a, b func(sim.Time, *scheduler.Plan)) func(sim.Time, *scheduler.Plan) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(now sim.Time, p *scheduler.Plan) { a(now, p); b(now, p) }
}

func onRan(a, b func(*engine.Ran)) func(*engine.Ran) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(r *engine.Ran) { a(r); b(r) }
}

// onCoast joins two hooks for whole stretches of steps. Somebody who wants to see every step by itself keeps the other
// from seeing stretches.
func onCoast(a, b *engine.Hooks) func([]engine.Ran) {
	if a.Coasted == nil && stepwise(a) || b.Coasted == nil && stepwise(b) {
		return nil
	}
	if a.Coasted == nil || b.Coasted == nil {
		return either(a.Coasted, b.Coasted, a.Coasted == nil)
	}
	return func(steps []engine.Ran) { a.Coasted(steps); b.Coasted(steps) }
}

// stepwise reports whether hooks see steps.
func stepwise(h *engine.Hooks) bool { return h.Planned != nil || h.Ran != nil || h.Gap != nil }

func either[F any](a, b F, second bool) F {
	if second {
		return b
	}
	return a
}
