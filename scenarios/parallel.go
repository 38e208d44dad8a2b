package scenarios

import (
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// spread decides what data parallelism means for the model. The ranks of a mixture of experts share the experts and so
// take their steps together: they are one engine. Those of a dense model have nothing in common but the balancer in front
// of them: they are engines of their own.
func (x *deployment) spread(m *Mistakes) {
	s, n := x.s, x.s.Engine.DataParallelSize
	s.experts = x.Model.MoE.Experts > 0
	s.ranks, s.copies = 1, 1
	switch {
	case n <= 1:
	case s.experts:
		x.DP, s.ranks = n, n
		if s.Engine.KVOffloadingSize > 0 {
			m.at(s, "engine.kv_offloading_size", "is not supported beside data_parallel_size for a mixture of experts; leave one of them out")
		}
		if s.speculates() {
			m.at(s, "engine.speculative_config", "is not supported beside data_parallel_size for a mixture of experts; leave one of them out")
		}
	default:
		s.copies = n
		if s.scales() {
			m.at(s, "engine.data_parallel_size", "does not go with cluster.autoscale, which says how many engines there are; leave one of them out")
		}
		if !s.Explicit("cluster.router") {
			s.Cluster.Router = "vllm-dp"
		}
	}
}

// A ranked cache is the pools of data-parallel ranks in lockstep, as those see them who look at an engine as a whole.
type ranked struct {
	kvcache.Cache // of one rank: all are alike
	pools         []kvcache.Cache
}

// rankPools returns the pools of an engine whose ranks step together.
func (x *Experiment) rankPools() *ranked {
	r := &ranked{}
	for range x.Deployment.DP {
		r.pools = append(r.pools, x.Pool())
	}
	r.Cache = r.pools[0]
	return r
}

// Again is not asked for: ranks are priced one by one.
func (r *ranked) Again() int { return 0 }

// Usage is of all pools together.
func (r *ranked) Usage() (sum kvcache.Usage) {
	for _, p := range r.pools {
		u := p.Usage()
		sum.Free += u.Free
		sum.Cached += u.Cached
		sum.Held += u.Held
		sum.Total += u.Total
	}
	return sum
}

// Available is of all pools together.
func (r *ranked) Available() int { return r.Usage().Available() }

// Match is what the rank that knows most of the prompt has of it.
func (r *ranked) Match(p kvcache.Prompt, tokens int) (best kvcache.Hit) {
	for _, pool := range r.pools {
		if h := pool.Match(p, tokens); h.Tokens > best.Tokens {
			best = h
		}
	}
	return best
}

// lockstep returns the scheduler of all ranks.
func (x *Experiment) lockstep(r *ranked, o *Options) scheduler.Scheduler {
	return scheduler.Lockstep(x.Limits, r.pools, func(_ scheduler.Limits, c kvcache.Cache) scheduler.Scheduler {
		return x.scheduler(c, true, x.order(o))
	})
}

// alone returns the cost model by which steps may be priced one by one, nil where ranks step together.
func (x *Experiment) alone() hardware.CostModel {
	if x.Deployment.DP > 1 {
		return nil
	}
	return x.cost
}
