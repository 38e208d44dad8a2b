package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Kernel owns virtual time: it keeps the pending events and fires them in order. The zero value is not
// usable; see New. A Kernel is for one goroutine.
type Kernel struct {
	seed    uint64
	now     Time
	limit   Time // the `until` of the Run under way
	queue   queue
	slots   []slot // the first is none
	spare   int32  // the newest slot that is free; 0: none
	dead    int    // cancelled events that are still in the queue
	seq     uint64
	counts  Counts
	stories []*Process
}

// A slot holds the callback of one pending event. Its generation tells a live Timer from a stale one.
type slot struct {
	do   func()
	gen  uint32
	next int32 // among the free
}

// Counts says what became of every event, so that a run can be checked for lost ones:
// Scheduled = Fired + Cancelled + Pending.
type Counts struct{ Scheduled, Fired, Cancelled, Pending uint64 }

// New returns a kernel at instant zero whose random streams all derive from seed.
func New(seed uint64) *Kernel {
	return &Kernel{seed: seed, limit: Never, slots: make([]slot, 1)}
}

// Now returns the current instant.
func (k *Kernel) Now() Time { return k.now }

// At schedules do to run at instant t, in phase p. It panics when t is past: an event that should have
// happened already is a bug of the caller, never something to be patched over.
func (k *Kernel) At(t Time, p Phase, do func()) Timer {
	if t < k.now {
		k.refuse(t)
	}
	if k.spare == 0 {
		k.grow()
	}
	i := k.spare
	s := &k.slots[i]
	s.do, k.spare = do, s.next
	k.queue.push(event{at: t, key: uint64(p)<<56 | k.seq, slot: i})
	k.seq++
	k.counts.Scheduled++
	return Timer{kernel: k, slot: i, gen: s.gen}
}

// grow makes one more slot.
func (k *Kernel) grow() {
	k.spare = int32(len(k.slots))
	k.slots = append(k.slots, slot{})
}

func (k *Kernel) refuse(t Time) {
	panic(fmt.Sprintf("sim: event at %v scheduled in the past (now %v)", t, k.now))
}

// After schedules do to run d from now, in phase p.
func (k *Kernel) After(d time.Duration, p Phase, do func()) Timer {
	return k.At(k.now.Add(d), p, do)
}

// Run fires events in order until none is left, or the next one lies beyond until, or ctx is done. The
// clock then stands at the last event fired (at until, if that cut the run short). At the natural end of
// a run every story must have ended: one that still waits is reported as an error by name.
func (k *Kernel) Run(ctx context.Context, until Time) error {
	k.limit = until
	defer func() { k.limit = Never }()
	for n := 0; ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if k.dead > 0 {
			k.search()
		}
		if len(k.queue) == 0 {
			return k.Check()
		}
		if k.queue[0].at > until {
			k.now = until
			return nil
		}
		i := k.queue[0].slot
		k.now = k.queue[0].at
		k.queue.pop()
		do := k.slots[i].do
		k.release(i)
		k.counts.Fired++
		do()
	}
}

// Next returns the instant of the next event, or of the current Run's end if that is sooner. Until then
// nothing outside can change, so an engine may step on by itself (see Advance).
func (k *Kernel) Next() Time {
	if k.dead > 0 || len(k.queue) == 0 {
		return k.search()
	}
	return min(k.queue[0].at, k.limit)
}

// search is Next where the head of the queue may be cancelled, or missing. It removes cancelled events from the head, so
// that the head is real.
func (k *Kernel) search() Time {
	for len(k.queue) > 0 && k.slots[k.queue[0].slot].do == nil {
		k.release(k.queue[0].slot)
		k.queue.pop()
		k.dead--
	}
	if len(k.queue) == 0 {
		return k.limit
	}
	return min(k.queue[0].at, k.limit)
}

// Advance moves the clock up to t, which must lie between now and Next: the caller has lived through
// that span by itself.
func (k *Kernel) Advance(t Time) {
	if t < k.now || t > k.Next() {
		k.refuseToAdvance(t)
	}
	k.now = t
}

func (k *Kernel) refuseToAdvance(t Time) {
	panic(fmt.Sprintf("sim: cannot advance from %v to %v: the next event is at %v", k.now, t, k.Next()))
}

// Rand returns the random stream named by its purpose. Streams are independent of each other and of the
// order in which they are asked for; asking twice for one name gives two copies of the same stream.
func (k *Kernel) Rand(stream string) rand.Source { return Stream(k.seed, stream) }

// Stream returns the random stream of the given seed that is named by its purpose: a PCG whose second
// word is the FNV-1a hash of the name.
func Stream(seed uint64, name string) rand.Source {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return rand.NewPCG(seed, h)
}

// Counts reports what became of the events so far: Scheduled = Fired + Cancelled + Pending.
func (k *Kernel) Counts() Counts {
	c := k.counts
	c.Pending = uint64(len(k.queue) - k.dead)
	return c
}

// Check reports a violated conservation law: an event lost, or a story that nobody will ever resume.
func (k *Kernel) Check() error {
	c := k.Counts()
	if c.Scheduled != c.Fired+c.Cancelled+c.Pending {
		return fmt.Errorf("sim: events lost: %d scheduled, but %d fired + %d cancelled + %d pending",
			c.Scheduled, c.Fired, c.Cancelled, c.Pending)
	}
	if c.Pending > 0 {
		return nil
	}
	for _, p := range k.stories {
		if !p.ended {
			return fmt.Errorf("sim: process %q waits for ever: no event is left that could resume it", p.name)
		}
	}
	return nil
}

func (k *Kernel) release(i int32) {
	s := &k.slots[i]
	s.do, s.next = nil, k.spare
	s.gen++
	k.spare = i
}

// Timer is a scheduled event that may still be cancelled. The zero Timer cancels nothing.
type Timer struct {
	kernel *Kernel
	slot   int32
	gen    uint32
}

// Cancel takes the event back and reports whether it was still pending.
func (t Timer) Cancel() bool {
	return t.kernel != nil && t.kernel.cancel(t)
}

func (k *Kernel) cancel(t Timer) bool {
	s := &k.slots[t.slot]
	if s.gen != t.gen || s.do == nil {
		return false
	}
	s.do = nil // the queue drops the event when it comes to the head
	k.dead++
	k.counts.Cancelled++
	return true
}
