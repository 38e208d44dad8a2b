package scenarios

import (
	"errors"
	"fmt"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
	"github.com/servesim/servesim/sim/workload"
)

// A fleet is the engines of one run, all on one kernel and watched by one recorder.
type fleet struct {
	kernel   *sim.Kernel
	options  *Options
	recorder *metrics.Recorder
	hooks    engine.Hooks // of all engines alike: those that the options ask for

	replicas []*cluster.Replica
	cluster  *cluster.Cluster // nil: one engine needs no router
}

// build makes the replicas of every group of the experiment.
func (f *fleet) build(x *Experiment) error {
	total := x.Replicas()
	if f.options.Cache != nil && total > 1 {
		return errors.New("a pool that earlier runs have warmed is for one engine")
	}
	for g := range x.all() {
		for i := range g.replicas {
			r, err := f.replica(g.engine, g.member(i))
			if err != nil {
				return err
			}
			f.replicas = append(f.replicas, r)
		}
	}
	return nil
}

// server returns what the clients talk to: the only engine, or a router with all of them behind it.
func (f *fleet) server(x *Experiment) workload.Server {
	if len(f.replicas) == 1 {
		return f.replicas[0].Engine
	}
	router := f.options.Router
	if router == nil {
		policy, _ := cluster.Find(x.Scenario.Cluster.Router)
		router = policy.New
	}
	f.cluster = cluster.New(f.replicas, router(f.kernel))
	return f.cluster
}

// replica makes one engine as x describes it: its pool, its scheduler, and whoever watches them.
func (f *fleet) replica(x *Experiment, name string) (*cluster.Replica, error) {
	o := f.options
	cache, again, err := x.memory(o)
	if err != nil {
		return nil, err
	}
	r := &cluster.Replica{Name: name, Cache: cache}
	mine := f.hooks
	for _, hooks := range o.Each {
		mine = watchBoth(mine, hooks(r))
	}
	hooks := watchBoth(f.recorder.Watch(x.watched(r)), mine)
	named := hooks.TokenOut != nil || mine.Planned != nil || mine.Ran != nil // somebody wants to see every sequence in every plan
	r.Scheduler = x.policy(cache, named)
	r.Engine = engine.New(f.kernel, engine.Config{
		Scheduler: r.Scheduler, Cost: x.cost,
		InFlight: x.inFlight(), Async: x.Limits.AsyncScheduling, Stages: x.Deployment.PP,
		MaxModelLen: x.Deployment.MaxModelLen, Blocks: x.Memory.Blocks - 1, BlockSize: x.Deployment.BlockSize,
		Need:     func(tokens int) int { return cache.Need(kvcache.Hit{}, tokens) },
		Shared:   func() int64 { return int64(again() * x.Deployment.BlockSize) },
		Frontend: x.frontend(), Host: x.host(), Hooks: hooks, Check: o.Check,
	})
	return r, nil
}

// watched is what the recorder must know of a replica.
func (x *Experiment) watched(r *cluster.Replica) metrics.Engine {
	d := &x.Deployment
	return metrics.Engine{
		Name: r.Name, GPU: d.Device.Name, Cost: x.cost, Window: x.Limits.Window,
		GPUs: x.Scenario.gpus(), PeakFLOPs: x.peak(), PeakBandwidth: d.Device.Bandwidth,
		IdleWatts:   d.Device.Kernels.IdleWatts,
		WeightBytes: x.Memory.Weights + x.Memory.Activations + x.Memory.Graphs + x.Memory.NonTorch,
		Blocks:      x.Memory.Blocks - 1, BlockSize: d.BlockSize, Ingress: x.Scenario.Frontend.Latency,
		BytesPerToken: float64(d.Model.KVBytesPerToken(d.KV)), BlockBytes: x.Memory.BlockBytes,
		Usage: r.Cache.Usage, Counters: func() scheduler.Counters { return r.Scheduler.Counters() },
	}
}

// err reports why an engine stopped, or what the router lost.
func (f *fleet) err() error {
	if f.cluster != nil {
		return f.cluster.Err()
	}
	return f.replicas[0].Engine.Err()
}

// behind returns the longest that tokens have had to wait for API processes, anywhere.
func (f *fleet) behind() time.Duration {
	var most time.Duration
	for _, r := range f.replicas {
		most = max(most, r.Engine.Behind())
	}
	return most
}

// A group is so many equal engines.
type group struct {
	name     string
	replicas int
	engine   *Experiment // what one of them is like; of its workload nothing is used
}

// all yields the groups: first the replicas as the scenario describes its engine, then those that differ from it.
func (x *Experiment) all() func(func(*group) bool) {
	return func(yield func(*group) bool) {
		plain := group{name: "replica", replicas: x.Scenario.plain(), engine: x}
		if plain.replicas > 0 && !yield(&plain) {
			return
		}
		for i := range x.groups {
			if !yield(&x.groups[i]) {
				return
			}
		}
	}
}

// member returns the name of a replica.
func (g *group) member(i int) string { return fmt.Sprintf("%s-%d", g.name, i) }

// Replicas returns the number of engines.
func (x *Experiment) Replicas() int {
	n := 0
	for g := range x.all() {
		n += g.replicas
	}
	return n
}

// GPUs returns the number of GPUs of all engines together.
func (x *Experiment) GPUs() int {
	n := 0
	for g := range x.all() {
		n += g.replicas * g.engine.Scenario.gpus()
	}
	return n
}
