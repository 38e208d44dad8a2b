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
// # A step whose cost does not grow with the batch
//
// Read naively, a step touches every running sequence: the scheduler gives each its token, the engine delivers each.
// Two hundred sequences that just decode need none of that. They form a cohort (see scheduler): a plan says "the members
// go on" and names only what changes in it: chunks and admissions. Everything else follows from the number of the beat:
//
//	naive, per sequence and step             here, per step
//	computed[s]++, past tokens summed up     Σ past of the members grows by their number
//	does s begin a new block?                members counted by their phase within a block
//	is this its last token?                  a wheel of members by the beat that ends them
//	gap since its last token                 the same for all members: one entry with their number as weight
//	emitted[s]++, last[s] = now              worked out when asked: beats since it joined (catchUp)
//
// When budget or memory run short, order matters: the cohort disbands, plans name everybody, and the simple loop decides.
// The package reference is that simple loop alone, and tests hold the two to equal answers, to the nanosecond and to
// the block. A hook that wants every token (TokenOut) needs plans that name everybody: scheduler.Limits.Named.
//
// Many steps hold nothing but a beat. The loop does not take them one by one: it coasts (see the coast method) from one
// beat to the next until anything else happens, and only prices each. The scheduler is asked how far that goes (Calm) and
// told how far it went (Coast), and observers are shown all the steps at once (Hooks.Coasted). An observer that sets Ran,
// Planned or Gap and not Coasted sees each step by itself; the steps are the same.
//
// # Drafts
//
// With speculative decoding a decode is its newest token and K guesses behind it. Before a step is reported done, the
// engine draws how many of them were right and writes it into the plan's row: the scheduler keeps the KV of those and takes
// the rest back, and the answer goes on by one token more. They reach the client in one chunk. See [Acceptance].
//
// # Engines that share a request
//
// An engine may compute a prompt for another one, or decode what another one has prefilled; see Ticket. What travels, and
// when, is not its business: it tells when memory for it is there (Config.Fetch), and is told when the KV is (Landed).
//
// # Who knows what
//
// The true length of an answer lives here and nowhere else: the scheduler learns that a sequence has ended only when
// the engine drops it.
package engine
