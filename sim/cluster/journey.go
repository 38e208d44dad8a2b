package cluster

import (
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// A journey is a request that two engines share. Journeys go round: their number is the largest number of requests that were
// ever shared at once.
type journey struct {
	engine.Journey
	from, to     *Replica
	leg          workload.Request // the prompt, as the first engine sees it
	here, there  engine.Ticket    // at the first engine and at the second
	hereTokens   int64            // what the routers have charged them with
	thereTokens  int64
	client       func(workload.Outcome)
	ready        sim.Time // when the first engine's front end is through with it
	bytes        int64    // that have to travel
	skipped      int      // leading blocks that the second engine has already
	sent         int      // leading blocks that are there, or have been sent, or need not be
	sending      int      // transfers under way or about to begin, the first token's included
	following    bool     // the first token follows the KV
	prompted     bool     // the leg has begun
	prefilled    bool     // … and is over
	kept         bool     // the leg's KV is there: it must be freed
	placed       bool     // the second engine has memory for it …
	landed       bool     // … and all its KV
	gone         bool     // the client has its outcome
	idle         bool     // nobody has anything more to do with it
	computed     sim.Time // when the leg was over
	lease        sim.Timer
	over, ended  func(workload.Outcome) // the methods legOver and answered, bound once
	arrive, drop func()
}

// set sends a request on its way over two engines.
func (d *Disaggregated) set(r *workload.Request, p, c Choice, done func(workload.Outcome)) {
	j := d.journey()
	j.from, j.to, j.client = d.prefill.replicas[p.Replica], d.decode.replicas[c.Replica], done
	j.leg = *r
	j.leg.Output, j.leg.MaxTokens, j.leg.Timeout = 1, 1, 0
	j.Until = r.Arrival
	if why := j.from.Engine.Refusal(&j.leg); why != "" {
		j.to.Engine.Decline(r, j.ended, why)
		return
	}
	there, ok := j.to.Engine.Expect(r, j.ended)
	if !ok {
		return
	}
	j.there = there
	j.hereTokens, j.thereTokens = p.Tokens, c.Tokens
	j.from.Tokens += p.Tokens
	j.to.Tokens += c.Tokens
	d.roles.charge(j.from.Index, int64(r.Tokens))
	there.Life().Journey = &j.Journey
	d.decode.note(c.Replica, there.Life().Slot, j)
	j.ready = j.from.Engine.Greet(r.Tokens)
	if d.c.Mode == Pull {
		d.prompt(j, j.ready)
		return
	}
	queued := j.to.Engine.Greet(r.Tokens)
	j.To(engine.AtFrontend, queued)
	j.to.Engine.Join(there, queued, 1)
}

// note files a journey under its life at one engine.
func (in *pool) note(replica int, slot int32, j *journey) {
	list := in.journeys[replica]
	for int(slot) >= len(list) {
		list = append(list, nil)
	}
	list[slot] = j
	in.journeys[replica] = list
}

// prompt has the first engine compute the prompt, from instant at on.
func (d *Disaggregated) prompt(j *journey, at sim.Time) {
	j.prompted = true
	j.here = j.from.Engine.Prefill(&j.leg, at, j.over)
	j.here.Life().Journey = &j.Journey
	d.prefill.note(j.from.Index, j.here.Life().Slot, j)
}

// legOver learns that the leg is over: its first token is known, or it has been stopped.
func (d *Disaggregated) legOver(j *journey, o workload.Outcome) {
	j.prefilled = true
	j.from.Tokens -= j.hereTokens
	d.roles.charge(j.from.Index, -int64(j.leg.Tokens))
	if o.Status != workload.Completed {
		d.rest(j)
		return
	}
	now, l := d.kernel.Now(), j.here.Life()
	j.kept, j.computed = j.here.Keeps(), now
	j.To(engine.AtFrontend, l.Queued)
	j.To(engine.InQueue, l.Scheduled)
	j.To(engine.InPrefill, now)
	if d.c.Mode == Pull {
		d.offer(j, now)
		return
	}
	j.Closed = d.c.Early
	if j.sending == 0 { // nothing of the last step was left to send
		d.sentAll(j)
	}
	if d.c.Early {
		j.to.Engine.Answer(j.there, o.At)
	}
}

// answered learns that the client has its outcome, and passes it on.
func (d *Disaggregated) answered(j *journey, o workload.Outcome) {
	client := j.client
	j.gone, j.client = true, nil
	if j.there != (engine.Ticket{}) {
		j.to.Tokens -= j.thereTokens
		d.forsake(j)
	}
	d.rest(j)
	if client != nil {
		client(o)
	}
}

// forsake stops what is still being done for a request whose client has its outcome: it has given up, if there is any.
func (d *Disaggregated) forsake(j *journey) {
	switch {
	case j.prompted && !j.prefilled:
		j.from.Engine.Free(j.here)
	case j.kept && !j.placed && d.kernel.Now() >= j.there.Life().Queued:
		d.free(j) // the second engine says that it will not fetch it
	case j.kept && !j.placed: // the second engine has not heard of it yet, and never will
		j.lease.Cancel()
		j.lease = d.kernel.At(j.computed.Add(d.c.Lease), sim.Finish, j.drop)
	}
	if j.placed && !j.landed && j.sending == 0 {
		j.landed = true
		j.to.Engine.Landed(j.there, 0) // nothing will be written there any more
	}
}

// free gives back the KV at the first engine.
func (d *Disaggregated) free(j *journey) {
	j.lease.Cancel()
	if j.kept {
		j.kept = false
		j.from.Engine.Free(j.here)
	}
}

// rest puts a journey away once nobody has anything more to do with it.
func (d *Disaggregated) rest(j *journey) {
	if j.idle || !j.gone || j.prompted && !j.prefilled || j.kept || j.sending > 0 || j.placed && !j.landed {
		return
	}
	j.idle = true
	d.idle = append(d.idle, j)
}

func (d *Disaggregated) journey() *journey {
	if n := len(d.idle) - 1; n >= 0 {
		j := d.idle[n]
		d.idle = d.idle[:n]
		*j = journey{over: j.over, ended: j.ended, arrive: j.arrive, drop: j.drop}
		return j
	}
	j := new(journey)
	j.over = func(o workload.Outcome) { d.legOver(j, o) }
	j.ended = func(o workload.Outcome) { d.answered(j, o) }
	j.arrive = func() { d.arrived(j) }
	j.drop = func() { d.expire(j) }
	return j
}

// ask gathers what a rule may look at.
func (d *Disaggregated) ask(r *workload.Request, replica int) Question {
	to := d.decode.replicas[replica]
	q := Question{Tokens: int(r.Tokens), Cached: to.Cache.Match(r.Prompt, int(r.Tokens)).Tokens}
	_, q.DecodeWaiting = to.Scheduler.Load()
	for _, p := range d.prefill.replicas {
		running, _ := p.Scheduler.Load()
		q.PrefillWaiting += max(p.Open()-running, 0)
	}
	return q
}
