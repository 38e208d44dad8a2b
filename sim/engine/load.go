package engine

import (
	"slices"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// An arrival is a load on its way: its sequence will have KV for so many tokens.
type arrival struct {
	seq    *scheduler.Seq
	tokens int32
	at     sim.Time
}

// startLoads sends the loads of a plan over the link, one after the other:
//
//	arrival = max(now, end of the load before) + blocks × Block + Latency
//
// but not before what comes from farther away has come to the host, by a link that it may share with other engines.
func (e *Engine) startLoads(p *scheduler.Plan, now sim.Time) {
	for i := range p.Loads {
		l := &p.Loads[i]
		if l.Remote {
			e.fetch(now, l)
			continue
		}
		e.linkFree = max(e.linkFree, now).Add(time.Duration(l.Blocks) * e.c.Host.Block)
		at := e.linkFree
		if far := e.c.Host.Far; far != nil && l.Far > 0 {
			at = max(at, far.carry(now, l.Far))
		}
		e.expect(arrival{l.Seq, l.Tokens, at.Add(e.c.Host.Latency)})
	}
}

// expect keeps the loads in order of arrival.
func (e *Engine) expect(a arrival) {
	at := len(e.loads)
	for at > 0 && e.loads[at-1].at > a.at {
		at--
	}
	e.loads = slices.Insert(e.loads, at, a)
}

// finishLoads tells the scheduler what has arrived. It is called between steps only: that is when an engine looks.
func (e *Engine) finishLoads(now sim.Time) {
	n := 0
	for n < len(e.loads) && e.loads[n].at <= now {
		e.loader.Ready(e.loads[n].seq, int(e.loads[n].tokens))
		n++
	}
	if n > 0 {
		e.loads = slices.Delete(e.loads, 0, n)
	}
}

// forgetLoad makes sure that the load of a sequence that is dropped tells nobody of its end. It goes on on the link.
func (e *Engine) forgetLoad(s *scheduler.Seq) {
	e.loads = slices.DeleteFunc(e.loads, func(a arrival) bool { return a.seq == s })
}

// charge adds to a step what moves between GPU and host because of it. What is swapped goes before the step begins, and
// everybody waits. What is stored or loaded goes beside it, and takes memory bandwidth and the host's time.
func (h *Host) charge(c *hardware.Cost, p *scheduler.Plan) {
	if n := p.SwappedOut + p.SwappedIn; n > 0 {
		c.Exposed += time.Duration(n) * h.Block
	}
	n := p.Stored
	for _, l := range p.Loads {
		if !l.Remote {
			n += int(l.Blocks)
		}
	}
	if n == 0 {
		return
	}
	k := time.Duration(n)
	c.Device += k * h.Copy.Device
	c.Exposed += k * h.Copy.Exposed
	c.By.KVRead += k * h.Copy.By.KVRead
	c.Bytes += float64(n) * h.Copy.Bytes
}
