// Package scheduler decides who runs next. A [Scheduler] returns a [Plan]; the engine executes it and reports back
// with Done. Nothing here knows how long a step takes, what a client is, or how long an answer will turn out to be.
//
// The mechanism — budget, admission, growth, preemption — is written once, in the batcher; a policy is a small value
// over it.
package scheduler
