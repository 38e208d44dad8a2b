package sim

import (
	"iter"
	"time"
)

// Process is a story in virtual time: straight-line code that sleeps and waits while the events of others
// go on. It runs on a coroutine, one at a time with everything else, so it needs no locks.
type Process struct {
	kernel *Kernel
	name   string
	yield  func(struct{}) bool
	resume func()
	stop   func()
	ended  bool
}

// Go starts a story now, in the Arrive phase. The name identifies it if it never ends.
func (k *Kernel) Go(name string, story func(*Process)) {
	p := &Process{kernel: k, name: name}
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer p.unwind()
		story(p)
	})
	p.stop = stop
	p.resume = func() {
		if _, alive := next(); !alive {
			p.ended = true
		}
	}
	k.stories = append(k.stories, p)
	k.At(k.now, Arrive, p.resume)
}

// Now returns the current instant.
func (p *Process) Now() Time { return p.kernel.now }

// Sleep lets d pass.
func (p *Process) Sleep(d time.Duration) {
	p.kernel.After(d, Arrive, p.resume)
	p.park()
}

// Wait parks the story until the function it hands to arm is called, once. Calling it before arm returns
// is allowed: the story then goes on at this same instant.
func (p *Process) Wait(arm func(done func())) {
	called := false
	arm(func() {
		if called {
			panic("sim: process " + p.name + " was resumed twice from one Wait")
		}
		called = true
		p.kernel.At(p.kernel.now, Arrive, p.resume)
	})
	p.park()
}

// Stop ends every story that is still parked, releasing its coroutine. A run that was cut short calls it.
func (k *Kernel) Stop() {
	for _, p := range k.stories {
		if !p.ended {
			p.ended = true
			p.stop()
		}
	}
}

// stopped is what unwinds a parked story when Stop ends it.
type stopped struct{}

func (p *Process) unwind() {
	if r := recover(); r != nil && r != any(stopped{}) {
		panic(r)
	}
}

func (p *Process) park() {
	if !p.yield(struct{}{}) {
		panic(stopped{})
	}
}
