package engine

// coast steps on for as long as steps hold nothing but the cohort: nobody arrives, ends, gives up or waits, and its
// members just decode. It does what the loop does for such steps, without
// asking anybody who has nothing to say; observers see no difference.
func (e *Engine) coast() {
	if e.coaster == nil || e.flying.n < e.c.InFlight || len(e.aborts) > 0 || e.c.Check {
		return
	}
	until := e.kernel.Next()
	if len(e.inbox) > 0 {
		until = min(until, e.inbox[0].Queued)
	}
	now := e.kernel.Now()
	for {
		f := e.flying.at(0)
		if f.end >= until || f.plan == nil || e.endings.Any(f.plan.Beat) || !e.coaster.Coasts(f.plan) {
			break
		}
		now = f.end
		e.beatEnds(f)
		e.coaster.Coast(f.plan)
		e.planned++
		g := e.flying.again()
		g.number = e.planned
		if h := e.c.Hooks.Planned; h != nil {
			h(now, g.plan)
		}
		g.cost = e.price(g.plan)
		g.start, g.end = e.pass(now, &g.cost)
	}
	if now > e.kernel.Now() {
		e.kernel.Advance(now)
	}
}

// beatEnds shows the end of a step whose rows are all unnamed.
func (e *Engine) beatEnds(f *flight) {
	e.counts.Steps++
	if h := e.c.Hooks.Ran; h != nil {
		e.ran = e.report(f)
		h(&e.ran)
	}
	f.out = e.desk.turn(f.end)
	e.gaps(f.out.Sub(e.lastOut), f.plan.Members)
	e.over(f, f.plan.Members)
}
