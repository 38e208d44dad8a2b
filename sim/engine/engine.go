package engine

import (
	"fmt"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/workload"
)

// Engine is one replica. It implements workload.Server. It belongs to its kernel's goroutine.
type Engine struct {
	kernel *sim.Kernel
	c      Config

	inbox   []*life      // sent, not yet in the scheduler's queue; in order of Queued
	aborts  []*life      // given up by their clients, to be dropped at the next turn
	lives   []*life      // by sequence ID
	freeIDs []int32      // IDs whose life is over
	retired []retirement // lives that are over, but may still be named by a plan in flight

	desk  desk   // the API processes
	judge *judge // of drafts; nil: there are none

	flying  pipeline
	coaster scheduler.Coaster // the scheduler, if it can coast and nobody minds
	blocks  []int             // scratch of coast
	step    hardware.Step     // scratch of price
	beats   hardware.Step     // scratch of coast
	filler  hardware.Filler   // the cost model
	pacer   hardware.Pacer    // the cost model, if it can price one beat after the other
	paced   hardware.Beats    // scratch of priceBeats
	stages  []sim.Time        // when each pipeline stage becomes free
	lastEnd sim.Time          // end of the newest completed step
	lastOut sim.Time          // when the API processes turned to its chunks
	beat    int64             // newest completed beat of the scheduler's cohort
	beatOut sim.Time          // when the API processes turned to the chunks of the step that took it
	endings sim.Wheel[life]   // unnamed lives by the beat in which their answers end by themselves, where that is sooner than the scheduler knows
	gap     time.Duration     // between two chunks of the answers that got theirs last …
	same    int               // … so many of them, not reported yet
	sooner  []*life           // scratch of endSooner
	ending  []*scheduler.Seq  // scratch of endSooner
	ghosts  int               // unnamed lives that were given up since the last drain: the batch at the head still counts them
	planned int64             // plans made so far
	active  int               // requests in the scheduler
	order   int64             // of submission
	fits    int               // the most tokens of one sequence that the pool is known to have room for

	lockstep hardware.LockstepModel // the cost model, if it can price ranks that step together
	loader   scheduler.Loader       // nil: the scheduler knows no loads
	loads    []arrival              // in order of arrival
	linkFree sim.Time               // when the link from the host has carried all that was asked for

	asleep  bool      // nothing in flight: only an arrival or the alarm starts the loop again
	alarm   sim.Timer // set while asleep, for alarmAt
	alarmAt sim.Time
	wake    sim.Time // when the scheduler wants to be asked again

	holder   scheduler.Holder // nil: the scheduler cannot keep memory for peers
	strays   []stray          // loads from peers that are over, not yet reported to the scheduler
	released []*life          // on hold, to be given back at the next turn
	fetching int              // loads from peers under way
	holds    int              // lives on hold

	looping func() // the loop method, bound once
	landing func() // the land method, bound once

	counts Counts
	err    error
}

// Counts says what became of the requests: Submitted = Completed + Rejected + Aborted + those still alive.
type Counts struct{ Submitted, Completed, Rejected, Aborted, Steps int64 }

// New returns an idle engine on kernel k.
func New(k *sim.Kernel, c Config) *Engine {
	c.InFlight = max(c.InFlight, 1)
	c.Stages = max(c.Stages, 1)
	e := &Engine{kernel: k, c: c, stages: make([]sim.Time, c.Stages), asleep: true, alarmAt: sim.Never, flying: newPipeline(c.InFlight)}
	e.desk = newDesk(c.Frontend)
	if a := c.Acceptance; a != nil {
		e.judge = newJudge(*a, k.Rand("speculation"))
	}
	e.loader, _ = c.Scheduler.(scheduler.Loader)
	e.lockstep, _ = c.Cost.(hardware.LockstepModel)
	e.holder, _ = c.Scheduler.(scheduler.Holder)
	e.looping, e.landing = e.loop, e.land
	e.filler = fillerOf(c.Cost)
	e.pacer, _ = c.Cost.(hardware.Pacer)
	h := &c.Hooks
	if alone := h.Planned == nil && h.Ran == nil && h.Gap == nil; len(e.stages) == 1 && !c.Check && (h.Coasted != nil || alone) {
		e.coaster, _ = c.Scheduler.(scheduler.Coaster)
		e.blocks = make([]int, stretch)
	}
	return e
}

// Counts reports what became of the requests so far.
func (e *Engine) Counts() Counts { return e.counts }

// Alive returns how many requests have been submitted and have not ended.
func (e *Engine) Alive() int64 {
	return e.counts.Submitted - e.counts.Completed - e.counts.Rejected - e.counts.Aborted
}

// Behind returns the longest that the chunks of a step have had to wait for the API processes.
func (e *Engine) Behind() time.Duration { return e.desk.behind }

// Err reports why the engine stopped, or nil. It stops when an invariant is violated: a bug, never the user's fault.
func (e *Engine) Err() error { return e.err }

// Submit takes a request from a client. A request that can never be served is refused at once.
func (e *Engine) Submit(r *workload.Request, done func(workload.Outcome)) {
	if l := e.open(r, done, opening{queued: e.Greet(r.Tokens)}); !l.ended {
		e.enqueue(l)
	}
}

// refuse says why a request can never be served, or "". The first checks are those of vLLM's API server, which answers
// a request longer than max_model_len with an error before it reaches the engine. The last one a real engine lacks: a
// sequence that outgrows the whole pool preempts itself for ever.
func (e *Engine) refuse(l *life) string {
	prompt, limit := l.seq.Prompt, int32(e.c.MaxModelLen)
	switch {
	case prompt < 1 || l.want < 1:
		return "prompt or output without tokens"
	case limit > 0 && prompt >= limit:
		return fmt.Sprintf("longer than max_model_len: a prompt of %d tokens leaves no room for output in max_model_len %d", prompt, limit)
	case limit > 0 && l.seq.MaxTokens > limit-prompt:
		return fmt.Sprintf("longer than max_model_len: prompt %d + max_tokens %d exceed max_model_len %d", prompt, l.seq.MaxTokens, limit)
	}
	// The last output token is never fed back, so it needs no room.
	if tokens := int(prompt) + int(l.want) - 1; tokens > e.fits {
		if r := e.tooBig(tokens); r != "" {
			return r
		}
	}
	return e.c.Scheduler.Refuse(&l.seq)
}

// tooBig says why the pool can never hold so many tokens, or "" and remembers that it can: fewer never need more blocks.
func (e *Engine) tooBig(tokens int) string {
	if need := e.need(tokens); e.c.Blocks > 0 && need > e.c.Blocks {
		return fmt.Sprintf("larger than the KV cache: it grows to %d KV blocks, the cache has %d", need, e.c.Blocks)
	}
	e.fits = tokens
	return ""
}

// need returns the KV blocks that a sequence of so many tokens may hold at once.
func (e *Engine) need(tokens int) int {
	if e.c.Need != nil {
		return e.c.Need(tokens)
	}
	return (tokens + e.c.BlockSize - 1) / max(e.c.BlockSize, 1)
}

// abort is the client giving up. It sees the outcome now; the engine notices when it next drains its input.
func (e *Engine) abort(l *life) {
	now := e.kernel.Now()
	if l.joined >= 0 && l.seq.Unnamed() {
		e.ghosts++
	}
	e.catchUp(l)
	e.end(l, workload.Outcome{Status: workload.Aborted, At: now})
	e.aborts = append(e.aborts, l)
	e.wakeAt(now)
}

// wakeAt makes sure that a sleeping engine runs its loop at instant t or sooner.
func (e *Engine) wakeAt(t sim.Time) {
	if !e.asleep || e.alarmAt <= t {
		return
	}
	e.alarm.Cancel()
	e.alarmAt = t
	e.alarm = e.kernel.At(t, sim.Decide, e.looping)
}
