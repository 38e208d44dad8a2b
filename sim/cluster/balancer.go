package cluster

import (
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// balancer is the load balancer of vLLM's data-parallel front end. It knows the queues of its engines as they were at the
// last multiple of scheduler.NewsInterval; between two of them it sees what it has sent itself, and nothing else. It takes the lowest
// score, and equals take turns.
type balancer struct {
	kernel  *sim.Kernel
	score   func(n *news, open int) float64
	counts  bool   // what is sent counts as waiting until the next news
	news    []news // by Replica.Index
	turn    turn
	all     []*Replica
	ticking bool
	tick    func() // the publish method, bound once
}

// news is what is known of an engine.
type news struct {
	waiting, running int
	usage            float64 // of its KV cache, as a share
}

// newBalancer returns the balancer as it has been since 2026.
func newBalancer(k *sim.Kernel) *balancer {
	b := &balancer{kernel: k, score: scoreKV}
	b.tick = b.publish
	return b
}

// newCountingBalancer returns the balancer as it was until then.
func newCountingBalancer(k *sim.Kernel) *balancer {
	b := newBalancer(k)
	b.score, b.counts = scoreCounts, true
	return b
}

// scoreKV is scheduler.BalancerScore, by the requests under way as the engine reports them, or as this front end has sent
// them there, if those are more.
func scoreKV(n *news, open int) float64 {
	return scheduler.BalancerScore(max(open, n.waiting+n.running), n.waiting, n.usage)
}

// scoreCounts is 4 · waiting + running.
func scoreCounts(n *news, _ int) float64 { return float64(4*n.waiting + n.running) }

// Route implements Router.
func (b *balancer) Route(_ *workload.Request, replicas []*Replica) Choice {
	for _, r := range replicas {
		for len(b.news) <= r.Index {
			b.news = append(b.news, news{})
			b.all = append(b.all, nil)
		}
		b.all[r.Index] = r
	}
	if !b.ticking {
		b.ticking = true
		b.kernel.At(scheduler.NextNews(b.kernel.Now()), sim.Watch, b.tick)
	}
	i := least(&b.turn, len(replicas), func(i int) float64 {
		r := replicas[i]
		return b.score(&b.news[r.Index], r.Open())
	})
	if b.counts {
		b.news[replicas[i].Index].waiting++
	}
	return Choice{Replica: i}
}

// publish takes the news of all engines, and comes again as long as there are any.
func (b *balancer) publish() {
	b.ticking = false
	for i, r := range b.all {
		if r == nil {
			continue
		}
		n := &b.news[i]
		n.running, n.waiting = r.Scheduler.Load()
		n.usage = r.usage()
		b.ticking = b.ticking || r.Open() > 0 || n.running+n.waiting > 0
	}
	if b.ticking {
		b.kernel.After(scheduler.NewsInterval, sim.Watch, b.tick)
	}
}
