package scenarios

import (
	"errors"
	"fmt"
	"slices"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine/reference"
)

// memory returns the cache of a run.
func (x *Experiment) memory(o *Options, far farTier) (Memory, error) {
	if o.Naive {
		if err := x.knownToNaive(); err != nil {
			return nil, err
		}
		if o.Order != nil {
			return nil, errors.New("the reference engine knows no order of the caller's own")
		}
		if o.Scheduler != nil {
			return nil, errors.New("the reference engine has its own scheduler: it cannot play the caller's")
		}
		return reference.NewPool(x.Memory.Blocks-1, x.Deployment.BlockSize, x.Scenario.Engine.EnablePrefixCaching == On), nil
	}
	if x.Deployment.DP > 1 {
		if o.Memory != nil {
			return nil, errors.New("a pool that earlier runs have warmed is for one rank")
		}
		if o.Scheduler != nil {
			return nil, errors.New("ranks in lockstep know no scheduler of the caller's own: leave out data_parallel_size")
		}
		return x.rankPools(), nil
	}
	if o.Memory != nil {
		return o.Memory, nil
	}
	return x.cold(far), nil
}

// knownToNaive says what the naive scheduler and pool cannot play.
func (x *Experiment) knownToNaive() error {
	var found []error
	if n := x.Scenario.Scheduler.Name; n != "chunked" {
		found = append(found, fmt.Errorf("the reference engine knows only the scheduler chunked, not %s", n))
	}
	if len(x.Memory.Groups) > 1 || x.Limits.Window.Keys > 0 {
		found = append(found, errors.New("the reference engine knows no sliding-window layers: choose another model"))
	}
	if x.Deployment.DP > 1 {
		found = append(found, errors.New("the reference engine knows no ranks in lockstep: leave out data_parallel_size"))
	}
	if x.Scenario.hostBlocks(x.Memory) > 0 {
		found = append(found, errors.New("the reference engine knows no host memory: leave out kv_offloading_size"))
	}
	if slices.Contains([]string{"srpt", "mlfq", "fair", "slo"}, x.Scenario.Engine.SchedulingPolicy) {
		found = append(found, fmt.Errorf("the reference engine knows no order that changes while requests wait or takes seats away: scheduling_policy %s", x.Scenario.Engine.SchedulingPolicy))
	}
	return errors.Join(found...)
}

// policy returns the scheduler of a run over its pool; named: its plans must name every sequence.
func (x *Experiment) policy(o *Options, cache kvcache.Cache, named bool) scheduler.Scheduler {
	if p, ok := cache.(*reference.Pool); ok {
		limits := x.Limits
		limits.Order = x.order(o)
		return reference.NewScheduler(limits, p)
	}
	if r, ok := cache.(*ranked); ok {
		return x.lockstep(r, o)
	}
	if o.Scheduler != nil {
		limits := x.Limits
		limits.Order, limits.Named = x.order(o), true // what goes unnamed, a policy from outside need not know of
		return o.Scheduler(limits, cache)
	}
	return x.scheduler(cache, named, x.order(o))
}
