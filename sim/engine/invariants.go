package engine

import "fmt"

// verify checks the engine's invariants after a step. Those of the scheduler and of its cache are their own.
//
//   - causality: a step ends after it starts
//   - conservation of requests: the scheduler holds exactly the active ones
//   - the scheduler's invariants: budget, seats, blocks
func (e *Engine) verify(f *flight) {
	if f.End <= f.Start {
		e.fail("causality", "step %d starts at %v and ends at %v", e.done(), f.Start, f.End)
	}
	running, waiting := e.c.Scheduler.Load()
	if running+waiting != e.active {
		e.fail("conservation of requests", "%d run + %d wait, but %d are active", running, waiting, e.active)
	}
	if err := e.c.Scheduler.Check(); err != nil {
		e.fail("scheduler", "%v", err)
	}
}

// fail stops the engine at its first violated invariant.
func (e *Engine) fail(invariant, format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("engine at %v: invariant %q is violated: %s", e.kernel.Now(), invariant, fmt.Sprintf(format, args...))
	}
}
