package scenarios

import (
	"errors"
	"fmt"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine/reference"
)

// memory returns the pool of a run.
func (x *Experiment) memory(o *Options) (kvcache.Cache, func() int, error) {
	if o.Naive {
		if err := x.knownToNaive(); err != nil {
			return nil, nil, err
		}
		p := reference.NewPool(x.Memory.Blocks-1, x.Deployment.BlockSize, x.Scenario.Engine.EnablePrefixCaching == On)
		return p, p.Again, nil
	}
	p := o.Cache
	if p == nil {
		p = x.Pool()
	}
	if n := x.Scenario.hostBlocks(x.Memory); n > 0 {
		return kvcache.Over(p, n), p.Again, nil
	}
	return p, p.Again, nil
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
	if x.Scenario.hostBlocks(x.Memory) > 0 {
		found = append(found, errors.New("the reference engine knows no host memory: leave out kv_offloading_size"))
	}
	return errors.Join(found...)
}

// policy returns the scheduler of a run over its pool; named: its plans must name every sequence.
func (x *Experiment) policy(cache kvcache.Cache, named bool) scheduler.Scheduler {
	if p, ok := cache.(*reference.Pool); ok {
		return reference.NewScheduler(x.Limits, p)
	}
	return x.scheduler(cache, named)
}
