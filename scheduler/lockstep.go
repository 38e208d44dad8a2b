package scheduler

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// lockstep is the data-parallel ranks of a mixture of experts, as one scheduler: every rank has sequences, memory and a
// budget of its own, but they share the experts, so that they all take a step together or none does. A rank that has
// nothing to do runs along with a dummy batch (vLLM's "DP attention"). A plan is the plans of all ranks side by side.
//
// Two things of vLLM are left out: ranks look only every 32 steps whether all are done, so that an engine that falls idle
// goes on with dummy batches for a moment; and the API servers balance from news that crosses two sockets.
type lockstep struct {
	ranks   []rank
	home    []int32 // the rank of each sequence, by its ID
	flying  []*lockstepPlan
	retired []*lockstepPlan
	idle    Plan
	balance balance
}

// rank is one data-parallel rank.
type rank struct {
	Scheduler
	cache kvcache.Cache
}

// A lockstepPlan is a plan of all ranks, and those that it is made of.
type lockstepPlan struct {
	Plan
	parts []*Plan // by rank; of an empty one only that it was empty
}

// Lockstep returns data-parallel ranks in lockstep, one for each pool. policy makes the scheduler of a rank, whose plans
// must name all sequences.
func Lockstep(l Limits, pools []kvcache.Cache, policy func(Limits, kvcache.Cache) Scheduler) Scheduler {
	l.Named = true
	s := &lockstep{balance: newBalance(len(pools))}
	for _, pool := range pools {
		s.ranks = append(s.ranks, rank{policy(l, pool), pool})
	}
	return s
}

// Refuse implements Scheduler: all ranks are alike.
func (l *lockstep) Refuse(s *Seq) string { return l.ranks[0].Refuse(s) }

// Add gives s to the rank that the balancer picks.
func (l *lockstep) Add(s *Seq) {
	r := l.balance.pick(l.ranks, s.Arrival)
	for len(l.home) <= int(s.ID) {
		l.home = append(l.home, 0)
	}
	l.home[s.ID] = int32(r)
	l.ranks[r].Add(s)
}

// of returns the rank that s belongs to.
func (l *lockstep) of(s *Seq) *rank { return &l.ranks[l.home[s.ID]] }

// Plan plans every rank. As long as one has work, all take the step.
func (l *lockstep) Plan(now sim.Time) *Plan {
	l.balance.listen(l.ranks, now)
	p := l.blank()
	for i := range l.ranks {
		part := l.ranks[i].Plan(now)
		p.join(part)
		p.parts = append(p.parts, part)
		p.Ranks = append(p.Ranks, part.Step)
	}
	if !p.Empty() {
		l.flying = append(l.flying, p)
		return &p.Plan
	}
	l.idle.reset()
	l.idle.Preempted = append(l.idle.Preempted, p.Preempted...)
	l.idle.Loads = append(l.idle.Loads, p.Loads...)
	l.idle.Wake = p.Wake
	l.retired = append(l.retired, p)
	return &l.idle
}

func (l *lockstep) blank() *lockstepPlan {
	n := len(l.retired) - 1
	if n < 0 {
		return &lockstepPlan{}
	}
	p := l.retired[n]
	l.retired = l.retired[:n]
	p.reset()
	p.parts = p.parts[:0]
	return p
}

// join adds one rank's plan. Its rows are copies: the rank keeps the originals for its Done.
func (p *lockstepPlan) join(part *Plan) {
	p.Work = append(p.Work, part.Work...)
	p.Preempted = append(p.Preempted, part.Preempted...)
	p.Admitted = append(p.Admitted, part.Admitted...)
	p.Loads = append(p.Loads, part.Loads...)
	p.Stored += part.Stored
	p.SwappedOut += part.SwappedOut
	p.SwappedIn += part.SwappedIn
	if part.Wake > 0 && (p.Wake == 0 || part.Wake < p.Wake) {
		p.Wake = part.Wake
	}
	p.Step.Add(part.Step)
}

// Done implements Scheduler.
func (l *lockstep) Done(p *Plan, now sim.Time) {
	if p.Empty() {
		return
	}
	done := l.flying[0]
	l.flying = l.flying[:copy(l.flying, l.flying[1:])]
	for i, part := range done.parts {
		if done.Ranks[i].Tokens > 0 { // an empty part has been reused since
			l.ranks[i].Done(part, now)
		}
	}
	l.retired = append(l.retired, done)
}

// Drop implements Scheduler.
func (l *lockstep) Drop(s *Seq) { l.of(s).Drop(s) }

// Ready implements Loader.
func (l *lockstep) Ready(s *Seq, tokens int) {
	if loader, ok := l.of(s).Scheduler.(Loader); ok {
		loader.Ready(s, tokens)
	}
}

// Load implements Scheduler.
func (l *lockstep) Load() (running, waiting int) {
	for i := range l.ranks {
		r, w := l.ranks[i].Load()
		running += r
		waiting += w
	}
	return running, waiting
}

// Counters implements Scheduler.
func (l *lockstep) Counters() (sum Counters) {
	for i := range l.ranks {
		sum.add(l.ranks[i].Counters())
	}
	return sum
}

// Check implements Scheduler.
func (l *lockstep) Check() error {
	for i := range l.ranks {
		if err := l.ranks[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Counters) add(d Counters) {
	c.Preemptions += d.Preemptions
	c.RecomputedTokens += d.RecomputedTokens
	c.PrefixQueries += d.PrefixQueries
	c.PrefixHits += d.PrefixHits
	c.HostQueries += d.HostQueries
	c.HostHits += d.HostHits
	c.StoredBlocks += d.StoredBlocks
	c.LoadedBlocks += d.LoadedBlocks
	c.FarHits += d.FarHits
	c.FarStored += d.FarStored
	c.FarLoaded += d.FarLoaded
	c.SwappedOut += d.SwappedOut
	c.SwappedIn += d.SwappedIn
	c.SwapsRefused += d.SwapsRefused
}

var (
	_ Scheduler = (*lockstep)(nil)
	_ Loader    = (*lockstep)(nil)
)
