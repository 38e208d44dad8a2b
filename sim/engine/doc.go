// Package engine is one replica of a serving engine: the step loop, the life of a request, and hooks through which
// metrics and traces watch it.
//
// # The loop
//
// An engine does three things over and over: it asks the scheduler for a plan, lets the device run it, and delivers
// the tokens. See [Engine] and its turn method, which follow the core loop of vLLM V1:
//
//	drain the input queue (new requests, aborts)
//	fewer than InFlight batches in the pipeline, and work left?  plan one more, even if it turns out empty
//	pipeline not full yet?                                       again
//	wait for the oldest batch, report it Done, deliver its tokens
//
// With InFlight 1 the engine is synchronous: plan, run, deliver. With 2 it plans step n+1 while step n runs, so the host's
// work hides behind the device, and a new arrival waits for up to two steps that have already been submitted.
//
// # Who knows what
//
// The true length of an answer lives here and nowhere else: the scheduler learns that a sequence has ended only when
// the engine drops it.
package engine
