// Package sim is the discrete-event kernel: virtual time, and nothing that knows of language models.
//
// # Instants and order
//
// A [Time] is an integer number of nanoseconds since the run began, so two events at one instant are
// truly simultaneous. Events fire in the order (time, phase, sequence): the [Phase] settles who comes
// first within an instant — arrivals before completions, completions before decisions, decisions before
// observers — and the sequence number keeps everything else in the order in which it was scheduled.
// Scheduling in the past is a bug and panics.
//
// # Events and processes
//
// [Kernel.At] and [Kernel.After] schedule a callback and return a [Timer] that can be cancelled. A story
// that reads better as a story — a client that sends, waits for the answer, thinks and sends again — is
// a [Process]: straight-line code that calls Sleep and Wait while virtual time passes underneath. A
// process runs on a coroutine (iter.Pull), never in parallel with anything.
//
// # Randomness
//
// [Kernel.Rand] hands out one independent stream per purpose, named by a string. A new consumer never
// shifts the draws of an old one, and one seed gives the same arrivals to every policy under test.
//
// # Determinism
//
// One goroutine's worth of work, integer time and named streams: the same program and seed give the same
// events in the same order, whatever GOMAXPROCS is.
package sim
