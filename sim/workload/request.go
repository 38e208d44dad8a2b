package workload

import (
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// Request is what a client sends.
type Request struct {
	ID        int64          // place in the order of arrival, from 0
	Arrival   sim.Time       // when the client sends it
	Prompt    kvcache.Prompt // the runs of the prompt
	Tokens    int32          // tokens in the prompt
	Output    int32          // tokens that the answer will turn out to have
	MaxTokens int32          // tokens that the client allows
	Answer    uint64         // label of the answer's run
	Priority  int32          // lower is more important
	Class     int32          // index into the workload's classes
	Client    int32          // who sent it, for closed loops
	Session   int32
	Timeout   time.Duration // the client gives up after it; 0: never
}

// Status says how a request ended.
type Status uint8

const (
	Completed Status = iota
	Rejected         // refused at arrival: it could never be served
	Aborted          // the client gave up
)

// Outcome is what the client sees at the end of its request.
type Outcome struct {
	Status Status
	Reason string // why it was rejected; empty otherwise
	// At is when the client sees its last token or the refusal, or gave up. It may lie a little ahead of the call: the
	// last chunk is still on its way then.
	At sim.Time
}

// Server is what clients talk to: an engine, or a cluster of them. The request must stay unchanged until done is
// called, once; done may be nil. Afterwards the client may reuse the request and its prompt for another one, in a later
// event.
type Server interface {
	Submit(r *Request, done func(Outcome))
}

// Load is a workload that can be played against a server.
type Load interface {
	// Start schedules the whole workload on the kernel: every request is submitted at its time.
	Start(k *sim.Kernel, s Server)
	// Requests is the number of requests, or -1 if it is open-ended (cut by a duration).
	Requests() int
}
