package reference

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Config is what the reference engine is made of. Its fields mean what those of the fast engine's configuration mean.
type Config struct {
	Scheduler scheduler.Scheduler
	Cost      hardware.CostModel
	Cache     kvcache.Cache // only read, for the log's free blocks; may be nil

	InFlight int  // batches in the pipeline; 0 means 1
	Async    bool // host time hides behind the device
	Stages   int  // pipeline stages that a batch passes in turn; 0 means 1

	MaxModelLen       int // bounds prompt + max_tokens; 0: no bound
	Blocks, BlockSize int // the usable KV pool; Blocks 0: no bound

	PerRequest time.Duration // of the API process for each request, one after the other
	PerToken   time.Duration // tokenisation, per token of the prompt, in the same queue
	Ingress    time.Duration // from there to the scheduler's queue
	PerChunk   time.Duration // of the API process for each chunk that it writes, one after the other
	Interval   int           // tokens in a chunk, but for the first and the last; 0 means 1

	Predict func(*workload.Request) int32 // output tokens that a request is thought to get; nil: no prediction

	Shared func() int64 // cached tokens that several sequences read, beyond the first of each; nil: none

	Check bool // check the scheduler's invariants after every step, and panic with the one that is violated
}

// Log is all that happened in a run. Requests are named by their place in the list that Run was given.
type Log struct {
	Tokens      []Token // in the order in which the engine handed them out
	Steps       []Step
	Preemptions []Preemption
	Outcomes    []workload.Outcome // of each request
	Unfinished  []int              // requests that no plan would ever have served; their outcomes are void
}

// A Token is an output token that reached its client, the newest of its chunk.
type Token struct {
	Request, Index int // Index counts a request's tokens from 0
	At             sim.Time
}

// A Step is a batch that ran. Plans without work are not steps.
type Step struct {
	Start, End sim.Time // from the first stage to the last
	Work       []Item
	Preempted  []int // by the plan of this step
	Free       int   // blocks that could be taken after the plan was made
}

// An Item is one request's part of a step.
type Item struct {
	Request, Tokens, Past int
	Decode, Samples       bool
}

// A Preemption is a request's loss of its memory. A plan may preempt and yet hold no work, and so be no step.
type Preemption struct {
	Request int
	At      sim.Time
}
