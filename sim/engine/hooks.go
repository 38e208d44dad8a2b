package engine

import (
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// A Life is what happened to one request, as the engine keeps it. Times are the client's: a token counts when it
// reaches the client.
type Life struct {
	Request   *workload.Request
	Seq       *scheduler.Seq
	Queued    sim.Time // joined the scheduler's waiting queue
	Scheduled sim.Time // first scheduled; valid once Started
	First     sim.Time // first output token; valid once Emitted > 0
	Last      sim.Time // newest chunk of output tokens
	Emitted   int32    // output tokens delivered
	Started   bool
	Slot      int32 // small, dense, reused after the life ends: an index for observers' own arrays
	Outcome   workload.Outcome
	Journey   *Journey // nil: one engine does it all
}

// A Ran tells observers about a step that has just completed. It is also what the engine keeps of a batch in flight.
type Ran struct {
	Start, End sim.Time      // End is when its tokens are known; Start when the device took it up
	Busy       time.Duration // how much this step moved the engine's busy time on: End less the later of Start and the previous End
	Plan       *scheduler.Plan
	Cost       hardware.Cost
	Hidden     time.Duration // host time that hid behind the device

	// Of a step that Hooks.Coasted is shown; its Plan has become another one.
	Members int           // the sequences in it, each of which got its next token
	Gap     time.Duration // between their tokens and those of the step before
	Blocks  int           // KV blocks that the plan took which was made as this step ended

	out sim.Time // once it has ended: when the API processes turn to its chunks
}

// Hooks are called as things happen, in the order of virtual time. Any may be nil. They must not change what they are
// shown, nor keep a *Life or a Plan beyond the call.
type Hooks struct {
	Arrived   func(now sim.Time, l *Life)           // reached the server (Rejected follows at once if it cannot be served)
	Admitted  func(now sim.Time, l *Life)           // first scheduled
	FirstOut  func(now sim.Time, l *Life)           // its first token reached the client; called after Ran of that step
	Resumed   func(now sim.Time, l *Life)           // its first token after a preemption; called after Ran of that step
	Preempted func(now sim.Time, l *Life)           // lost its memory
	Gap       func(gap time.Duration, n int)        // n consecutive chunks reached their clients `gap` after their predecessors
	TokenOut  func(now sim.Time, l *Life)           // every chunk: with a stream interval of 1, every token; costs a call each, for traces and tests
	Finished  func(now sim.Time, l *Life)           // completed, rejected or aborted: see l.Outcome
	Planned   func(now sim.Time, p *scheduler.Plan) // a plan was made, perhaps an empty one
	Ran       func(r *Ran)                          // a step completed, before its tokens are delivered

	// Coasted is called in the place of Planned, Ran and Gap after a stretch of steps in which all that happened was that
	// each member of the cohort (see scheduler) got a token: at the end of every such step the next was planned. Without
	// it, observers see every step by itself; set it to go fast.
	Coasted func(steps []Ran)
}
