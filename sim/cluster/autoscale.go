package cluster

import (
	"math"
	"slices"
	"time"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// Autoscale starts replicas when there is too much to do, and stops them when there is too little. Every Interval it looks
// at one number per replica and compares their mean with the target, as Kubernetes' horizontal pod autoscaler does:
//
//	mean > target                          start replicas until ceil(replicas · mean / target), at most twice as many
//	mean < target/2 for a whole Cooldown   stop one
//
// A replica that is still starting counts as one with nothing to do, so that nobody starts another in its place. One that
// is to stop takes no new requests, serves those that it has, and is gone with the last of them: its cache, too. What
// starts later is a new replica.
type Autoscale struct {
	Min, Max int
	Measure  Measure
	Target   float64
	Startup  time.Duration // from the decision until a replica takes requests
	Cooldown time.Duration
	Interval time.Duration
}

// A Measure is what an autoscaler looks at.
type Measure uint8

const (
	Queue Measure = iota // requests waiting in a replica's queue
	KV                   // share of a replica's KV cache in use
	TTFT                 // mean time to first token since the last look, in seconds
)

// state is where a replica is in its life.
type state uint8

const (
	up state = iota
	starting
	draining
	stopped
)

// scaler is an autoscaler at work.
type scaler struct {
	Autoscale
	c      *Cluster
	kernel *sim.Kernel
	launch func() *Replica
	tick   func() // the look method, bound once

	coming  int      // replicas that are starting
	busy    sim.Time // when the mean was last above half the target, or the number of replicas last changed
	answers int      // first tokens since the last look …
	waited  time.Duration
}

// Scale makes the cluster start and stop replicas by itself. launch makes a new one; those that the cluster has been
// given are up already. Call it once, before the first request.
func (c *Cluster) Scale(k *sim.Kernel, a Autoscale, launch func() *Replica) {
	s := &scaler{Autoscale: a, c: c, kernel: k, launch: launch}
	s.tick = s.look
	c.scaler = s
	k.After(a.Interval, sim.Watch, s.tick)
}

// FirstOut is a hook for every engine of a cluster that scales by TTFT.
func (c *Cluster) FirstOut(_ sim.Time, l *engine.Life) {
	if s := c.scaler; s != nil {
		s.answers++
		s.waited += l.First.Sub(l.Request.Arrival)
	}
}

// look compares the mean with the target, and comes again unless nothing else will ever happen.
func (s *scaler) look() {
	if s.kernel.Counts().Pending <= uint64(s.coming) {
		return // only replicas that nobody needs are still on their way
	}
	now, mean := s.kernel.Now(), s.mean()
	n := len(s.c.up) + s.coming
	switch {
	case mean > s.Target:
		s.busy = now
		want := min(int(math.Ceil(float64(n)*mean/s.Target)), 2*n, s.Max)
		for ; n < want; n++ {
			s.start(now)
		}
	case mean >= s.Target/2:
		s.busy = now
	case now.Sub(s.busy) >= s.Cooldown && n > s.Min && s.coming == 0:
		s.busy = now
		s.drain(now)
	}
	s.kernel.After(s.Interval, sim.Watch, s.tick)
}

// mean returns what the measure comes to per replica, those included that are starting.
func (s *scaler) mean() float64 {
	sum := 0.0
	switch s.Measure {
	case Queue:
		for _, r := range s.c.up {
			_, waiting := r.Scheduler.Load()
			sum += float64(waiting)
		}
	case KV:
		for _, r := range s.c.up {
			sum += r.usage()
		}
	case TTFT:
		seconds := s.waited.Seconds() / float64(max(s.answers, 1))
		s.waited, s.answers = 0, 0
		sum = seconds * float64(len(s.c.up))
	}
	return sum / float64(len(s.c.up)+s.coming)
}

// start calls back a replica that is about to stop, or starts a new one.
func (s *scaler) start(now sim.Time) {
	c := s.c
	for i := len(c.replicas) - 1; i >= 0; i-- {
		if r := c.replicas[i]; r.state == draining {
			r.state = up
			c.up = append(c.up, r)
			return
		}
	}
	r := s.launch()
	r.Index, r.From, r.To, r.state = len(c.replicas), now, sim.Never, starting
	c.replicas = append(c.replicas, r)
	s.coming++
	s.kernel.After(s.Startup, sim.Arrive, func() {
		s.coming--
		r.state = up
		c.up = append(c.up, r)
	})
}

// drain stops the replica that took up work last.
func (s *scaler) drain(now sim.Time) {
	last := len(s.c.up) - 1
	r := s.c.up[last]
	s.c.up = slices.Delete(s.c.up, last, last+1)
	r.state = draining
	r.leave(now)
}

// leave stops a draining replica that has nothing left to do.
func (r *Replica) leave(now sim.Time) {
	if r.state == draining && r.Open() == 0 {
		r.state, r.To = stopped, now
	}
}

// usage returns the share of the KV cache in use.
func (r *Replica) usage() float64 {
	u := r.Cache.Usage()
	if u.Total == 0 {
		return 0
	}
	return float64(u.Held) / float64(u.Total)
}
