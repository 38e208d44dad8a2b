package engine

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Config is what an engine is made of.
type Config struct {
	Scheduler scheduler.Scheduler
	Cost      hardware.CostModel

	// InFlight is the number of batches in the pipeline: 1 when synchronous, 2 when asynchronous; with pipeline
	// parallelism the stages, or the stages plus one.
	InFlight int
	// Async says that host time hides behind the device instead of adding to it.
	Async bool
	// Stages is the number of pipeline stages that a batch passes through; 0 means 1.
	Stages int

	// MaxModelLen bounds prompt + max_tokens of a request; 0: no bound.
	MaxModelLen int
	// Blocks and BlockSize describe the usable KV pool, so that a request that can never fit is refused with numbers.
	// Blocks 0: no bound.
	Blocks, BlockSize int
	// Need returns the blocks that a sequence of so many tokens may hold at once; nil: one block per BlockSize tokens.
	// Models with several kinds of layers hold more.
	Need func(tokens int) int

	// Shared reports how many of the cached tokens that the running sequences read are read by another one, too, beyond
	// the first to read each; nil: none are known of.
	Shared func() int64

	// Predict returns how many output tokens a request is thought to get, for orders that want to know; nil: no prediction.
	Predict func(*workload.Request) int32
	// Acceptance decides about drafts; nil: the scheduler plans none.
	Acceptance *Acceptance

	Frontend Frontend
	Host     Host
	Hooks    Hooks
	Legs     Hooks // hear of the parts of requests that are computed here for other engines; Ran, Planned and Gap of it are not called
	// Began is told of every step with chunks of prompts in it, when the device is to take it up and when its tokens will be known.
	Began func(start, end sim.Time, p *scheduler.Plan)
	// Fetch is told that a request whose prompt another engine has computed has got the memory for it: the transfer may
	// begin. It ends with Landed.
	Fetch func(now sim.Time, t Ticket, l *scheduler.Load)
	// Check makes the engine verify its invariants after every step; a violation panics with the invariant's name.
	Check bool
}

// A Link carries blocks one after the other, in the order in which they are asked for.
type Link struct {
	Block   time.Duration // one block takes so long
	Latency time.Duration // of a load, beside the time of its blocks
	free    sim.Time      // when it has carried all that was asked for
}

// carry returns when so many blocks will have come.
func (l *Link) carry(now sim.Time, blocks int32) sim.Time {
	l.free = max(l.free, now).Add(time.Duration(blocks) * l.Block)
	return l.free.Add(l.Latency)
}

// Host is the way of KV blocks between GPU and host memory, for schedulers that send some there. PCIe carries both
// directions at once, and each GPU of an engine has a link of its own for its part of a block.
type Host struct {
	Block   time.Duration // one block takes so long on the link, in either direction
	Latency time.Duration // of a load, beside the time of its blocks
	// Far is the way from the tier below the host's memory; nil: there is none. Engines that share the tier share it.
	Far *Link
	// Copy is what copying one block adds to the step that stores or loads it: little where it goes on in the background, its
	// whole time on the link where the step waits. The sequence of a load waits in any case.
	Copy hardware.Cost
}
