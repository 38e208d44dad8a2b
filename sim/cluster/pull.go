package cluster

import (
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// offer passes a computed prompt on: the request goes to the second engine's queue, and the KV waits at the first for as long
// as its lease lasts.
func (d *Disaggregated) offer(j *journey, now sim.Time) {
	queued := now.Add(d.c.Handover)
	if lasts := now.Add(d.c.Lease); j.kept && (!d.c.Heartbeats || lasts < queued) {
		j.lease = d.kernel.At(lasts, sim.Finish, j.drop)
	}
	j.To(engine.InHandover, queued)
	j.to.Engine.Join(j.there, queued, 0)
}

// expire ends a lease.
func (d *Disaggregated) expire(j *journey) {
	if !j.kept || j.placed {
		return // it is being fetched
	}
	d.counts.Expired++
	d.free(j)
	d.rest(j)
}

// pull begins the transfer, if there is anything left to transfer.
func (d *Disaggregated) pull(j *journey, now sim.Time, l *scheduler.Load) {
	j.placed = true
	j.lease.Cancel()
	j.To(engine.InMemory, now)
	if !j.kept {
		d.counts.Fallbacks++
		j.landed, j.Failed = true, true
		j.to.Engine.Landed(j.there, l.Seq.Hit)
		return
	}
	j.Sent = now
	j.Bytes = j.bytes
	j.Saved = int64(int(l.Seq.Hit)/j.to.Cache.BlockSize()) * d.c.BlockBytes
	j.sending = 1
	d.fabric.Send(d.prefill.ports[j.from.Index], d.decode.ports[j.to.Index], j.bytes, j.arrive)
}

// arrived learns that a transfer is over.
func (d *Disaggregated) arrived(j *journey) {
	now := d.kernel.Now()
	j.sending--
	if d.c.Mode != Pull {
		d.arrivedPart(j)
		return
	}
	j.landed, j.Landed = true, now
	j.To(engine.InTransfer, now)
	d.free(j)
	j.to.Engine.Landed(j.there, j.leg.Tokens)
	d.rest(j)
}
