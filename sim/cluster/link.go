package cluster

import (
	"math"
	"time"

	"github.com/servesim/servesim/sim"
)

// Sharing says what transfers that meet on a link do.
type Sharing uint8

const (
	Fair Sharing = iota // all go on at once, each with an equal part
	FIFO                // one after the other, in the order in which they were asked for
)

// Fabric carries KV between engines. Every engine has a port with a bandwidth of its own, the same out and in: the links of
// all its GPUs together. A transfer takes a part of its sender's port and of its receiver's; the switches in between are
// assumed to carry whatever the ports do.
//
// With Fair sharing n transfers at a port get 1/n of it each, and a transfer goes as fast as the narrower of its two parts:
//
//	rate = min( out/n(out), in/n(in) )
//
// so that the rates at a port never add up to more than the port. (What a transfer that is held back at its other end leaves
// over is not given to others.) Rates change whenever a transfer begins or ends. With FIFO a transfer has both its ports to
// itself, and begins when both have finished what came before.
//
// The last byte arrives a latency later, for which nobody waits but the transfer itself.
type Fabric struct {
	kernel  *sim.Kernel
	sharing Sharing
	latency time.Duration
	ports   []port

	active []*transfer // in the order in which they began; Fair only
	free   []*transfer
	alarm  sim.Timer
	next   func() // the method finish, bound once
	total  Carried
}

// Carried is what a fabric has been given to carry.
type Carried struct {
	Transfers int64
	Bytes     int64
}

// A port is where an engine meets the fabric.
type port struct {
	bandwidth       float64 // bytes per nanosecond, each way
	sending         int     // transfers out, and in
	receiving       int
	outFree, inFree sim.Time // FIFO: when it has sent, and received, all that was asked for
}

type transfer struct {
	from, to int
	left     float64 // bytes, at instant since
	rate     float64 // bytes per nanosecond from then on
	since    sim.Time
	ends     sim.Time
	done     func()
}

// NewFabric returns a fabric without ports.
func NewFabric(k *sim.Kernel, s Sharing, latency time.Duration) *Fabric {
	f := &Fabric{kernel: k, sharing: s, latency: latency}
	f.next = f.finish
	return f
}

// Attach gives an engine a port of so many bytes per second and returns its number.
func (f *Fabric) Attach(bytesPerSecond float64) int {
	f.ports = append(f.ports, port{bandwidth: bytesPerSecond / 1e9})
	return len(f.ports) - 1
}

// Carried reports what the fabric has been given so far.
func (f *Fabric) Carried() Carried { return f.total }

// Send begins a transfer; done is called when its last byte has arrived. Nothing stops it: the memory at both its ends must
// stay until then.
func (f *Fabric) Send(from, to int, bytes int64, done func()) {
	now := f.kernel.Now()
	f.total.Transfers++
	f.total.Bytes += bytes
	out, in := &f.ports[from], &f.ports[to]
	if f.sharing == FIFO {
		end := max(now, out.outFree, in.inFree).Add(ceil(float64(bytes) / min(out.bandwidth, in.bandwidth)))
		out.outFree, in.inFree = end, end
		f.kernel.At(end.Add(f.latency), sim.Finish, done)
		return
	}
	t := f.object()
	*t = transfer{from: from, to: to, left: float64(bytes), since: now, done: done}
	f.active = append(f.active, t)
	out.sending++
	in.receiving++
	f.share(now)
}

func (f *Fabric) object() *transfer {
	n := len(f.free) - 1
	if n < 0 {
		return new(transfer)
	}
	t := f.free[n]
	f.free = f.free[:n]
	return t
}

// share gives every transfer its rate from now on, and waits for the first to end. One whose rate stays ends when it
// would have: nothing is rounded twice.
func (f *Fabric) share(now sim.Time) {
	first := sim.Never
	for _, t := range f.active {
		out, in := &f.ports[t.from], &f.ports[t.to]
		rate := min(out.bandwidth/float64(out.sending), in.bandwidth/float64(in.receiving))
		if rate != t.rate {
			t.left = max(t.left-t.rate*float64(now-t.since), 0)
			t.rate, t.since = rate, now
			t.ends = now.Add(ceil(t.left / rate))
		}
		first = min(first, t.ends)
	}
	f.alarm.Cancel()
	if len(f.active) > 0 {
		f.alarm = f.kernel.At(first, sim.Finish, f.next)
	}
}

// finish ends the transfers whose time has come, in the order in which they began.
func (f *Fabric) finish() {
	now := f.kernel.Now()
	kept := f.active[:0]
	for _, t := range f.active {
		if t.ends > now {
			kept = append(kept, t)
			continue
		}
		f.ports[t.from].sending--
		f.ports[t.to].receiving--
		f.kernel.At(now.Add(f.latency), sim.Finish, t.done)
		t.done = nil
		f.free = append(f.free, t)
	}
	clear(f.active[len(kept):])
	f.active = kept
	f.share(now)
}

// ceil rounds nanoseconds up: a byte that is still under way has not arrived.
func ceil(ns float64) time.Duration { return time.Duration(math.Ceil(ns)) }
