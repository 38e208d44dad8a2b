package cluster

import (
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// begin has the first engine compute the prompt, now that the second has memory for its KV. The blocks that the second has
// already stay where they are; those that the first finds in its own prefix cache travel like the others.
func (d *Disaggregated) begin(j *journey, now sim.Time, l *scheduler.Load) {
	j.placed = true
	j.To(engine.InMemory, now)
	j.skipped = int(l.Seq.Hit) / j.to.Cache.BlockSize()
	j.sent = j.skipped
	j.Bytes, j.Saved = j.bytes, int64(j.skipped)*d.c.BlockBytes
	d.prompt(j, max(now, j.ready))
}

// A chunkTime is when a step begins and ends.
type chunkTime struct{ start, end sim.Time }

// push sends what a step computes: block by block of whole blocks, and the last one as it is.
func (d *Disaggregated) push(replica int, at chunkTime, p *scheduler.Plan) {
	for i := range p.Work {
		w := &p.Work[i]
		if w.Decode {
			continue
		}
		j := d.leg(replica, w.Seq)
		if j == nil {
			continue // it is served here alone
		}
		blocks := int(w.Past+w.Tokens) / j.to.Cache.BlockSize()
		if w.Past+w.Tokens >= j.leg.Tokens {
			blocks = j.skipped + int(j.bytes/d.c.BlockBytes)
		}
		if n := blocks - j.sent; n > 0 {
			j.sent = blocks
			d.schedule(j, at, int64(n)*d.c.BlockBytes)
		}
	}
}

// leg returns the journey that a sequence of a first engine belongs to, or nil.
func (d *Disaggregated) leg(replica int, s *scheduler.Seq) *journey {
	list := d.prefill.journeys[replica]
	if int(s.ID) >= len(list) {
		return nil
	}
	j := list[s.ID]
	if j == nil || j.idle || !j.prompted || j.prefilled || j.from.Index != replica || j.here.Life().Seq != s {
		return nil
	}
	return j
}

// schedule sends so many bytes that a step computes. By chunks they go when it is over. By layers each goes when it has been
// computed: all but the last from the end of the first on, in one piece, and the last when the step is over. So what is left
// to wait for is the last layer, or whatever the link could not carry beside the step.
func (d *Disaggregated) schedule(j *journey, at chunkTime, bytes int64) {
	last := bytes
	if layers := int64(d.c.Layers); d.c.Mode == PushLayers && layers > 1 {
		last = bytes / layers
		d.sendAt(j, at.start.Add(at.end.Sub(at.start)/time.Duration(layers)), bytes-last)
	}
	d.sendAt(j, at.end, last)
}

// sendAt begins a transfer at an instant, unless nobody wants it any more by then.
func (d *Disaggregated) sendAt(j *journey, t sim.Time, bytes int64) {
	j.sending++
	d.kernel.At(t, sim.Finish, func() {
		if j.gone {
			d.arrived(j)
			return
		}
		if j.Sent == 0 {
			j.Sent = t
		}
		d.fabric.Send(d.prefill.ports[j.from.Index], d.decode.ports[j.to.Index], bytes, j.arrive)
	})
}

// arrivedPart learns that a part of the KV has arrived, or the first token after all of it; or that a part was not sent for a
// request that has ended.
func (d *Disaggregated) arrivedPart(j *journey) {
	if j.sending > 0 {
		return
	}
	switch {
	case j.gone, j.following:
		j.landed = true
		j.to.Engine.Landed(j.there, j.leg.Tokens)
		d.free(j)
		d.rest(j)
	case j.prefilled:
		d.sentAll(j)
	}
}

// sentAll ends the transfer: all of the prompt's KV is there, and the first token follows.
func (d *Disaggregated) sentAll(j *journey) {
	now := d.kernel.Now()
	j.Landed = now
	j.To(engine.InTransfer, now)
	d.free(j)
	j.To(engine.InHandover, now.Add(d.c.Handover))
	j.sending, j.following = 1, true
	d.kernel.At(now.Add(d.c.Handover), sim.Finish, j.arrive)
}
