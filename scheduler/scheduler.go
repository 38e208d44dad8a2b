package scheduler

import (
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// State says where a sequence is in its life.
type State uint8

const (
	Waiting State = iota
	Running
	Preempted // waiting again, its memory taken; the tokens it has generated are kept
	Loading   // it has memory, and waits for KV that is on its way there
	Loaded    // waiting, with memory whose KV has arrived
	Swapped   // preempted with its KV, which waits in the host's memory
	Gone      // dropped
	Held      // dropped, but for its memory: a peer has yet to fetch what it holds
)

// A Seq is a request as a scheduler may know it. The true output length is not in it: a policy cannot peek. It knows
// MaxTokens, as a server does, and perhaps a Guess, if a predictor was configured.
type Seq struct {
	// Notes are the order's own: what it wants to remember of the sequence. They begin as zeros.
	Notes [3]int64

	// Set by whoever adds the sequence, and never changed by a scheduler.
	Tokens    kvcache.Prompt // the prompt's runs, then the answer's
	Arrival   sim.Time
	Order     int64         // breaks ties of arrival: lower came first
	Priority  int32         // lower is more important
	Class     int32         // kind of request
	Client    int32         // who sent it
	Guess     int32         // predicted output tokens; 0: no prediction
	Given     int32         // output tokens that come with it
	Remote    bool          // a peer has computed its prompt: the KV is to be fetched
	ID        kvcache.SeqID // dense; may be reused after Drop
	Prompt    int32         // tokens in the prompt
	MaxTokens int32         // the most it may generate

	// Kept by the scheduler; read-only for everybody else.
	Out      int32 // output tokens that have arrived
	Computed int32 // positions whose KV exists, or will when the steps in flight finish
	Pending  int32 // output tokens expected from steps in flight (asynchronous scheduling)
	InFlight int32 // tokens of this sequence in the steps in flight
	State    State

	unnamed bool  // it decodes in the beats after joined, to the final one; see cohort
	index   int32 // where it stands in the list that holds it: a heap or the running
	slot    int32 // its place among the phases of the cohort
	joined  int64 // the cohort's beats when it joined
	final   int64 // the beat that gives it the last token that it may have
	peg     sim.Peg[Seq]

	// Rank grows from admission to admission: the running stand in its order.
	Rank int64

	Stale       int32 // of InFlight: scheduled before it was preempted. It may not resume before they are back
	Preemptions int32
	Hit         int32 // prompt tokens found in the prefix cache at its first admission

	fill int32 // tokens it had to compute, when it was admitted, before it decodes
	calm int32 // as long as fewer tokens are computed, it decodes and the cache need not hear of it
	full int32 // the cache wants to hear when so many tokens are known: they fill another block
	turn int32 // the first plan that may take it again (pipeline stages)
}

// Known returns the tokens of s that have content: prompt and arrived output.
func (s *Seq) Known() int32 { return s.Prompt + s.Out }

// Work is one sequence's part of a step.
type Work struct {
	Seq     *Seq
	Tokens  int32 // new tokens computed
	Past    int32 // tokens already in the cache when the step starts
	Decode  bool  // one token, and its drafts, on top of a finished prompt; false: part of a prompt or of a recomputation
	Samples bool  // its last position yields an output token
	Joins   bool  // from the next beat on it goes unnamed

	Drafts   int32 // of Tokens, the last ones: guesses that the step verifies
	Accepted int32 // of which were right, and within the answer: set by whoever runs the plan, before Done
}

// Plan is the next step. The scheduler reuses it after the Done that reports it.
type Plan struct {
	Work      []Work
	Preempted []*Seq          // evicted while planning, in order
	Admitted  []*Seq          // taken from the waiting queue while planning, in order (they are in Work too)
	Loads     []Load          // begin now; none of these sequences is in Work
	Moved                     // what has to be copied before, or behind, this step
	Wake      sim.Time        // ask again at this instant even if nothing happens (static batching's timeout); 0: on the next event
	Step      hardware.Step   // what the cost model needs to know
	Ranks     []hardware.Step // the parts of Step, one for each data-parallel rank; see Lockstep. Empty: there is one engine

	// Members is the number of sequences that decode in this step without being named in Work: they have said that
	// they would (Work.Joins), and go on by one token in every beat until they have MaxTokens, a plan names them again or
	// they are dropped.
	// So a plan lists only what changes, and costs no more for a large batch than for a small one.
	Members int
	// Last are those to whom this plan, unless it names them after all, gives the last token that they may have; in no
	// order.
	Last []*Seq
	// Beat counts the plans with members, this one included if it has any.
	Beat int64

	beats  bool  // it was made with members; they may have been named since
	number int32 // in the scheduler's folder
	next   int32 // in the list that holds it: of the beats in flight, or of plans not in use
}

// A Load is KV on its way from a lower tier to a sequence that has the memory for it already. When it has arrived, or
// failed to, the scheduler is told; see [Loader].
type Load struct {
	Seq    *Seq
	Tokens int32 // leading tokens of the sequence that will have KV then
	Blocks int32 // that travel
	Far    int32 // of which come from the farther tier
	Remote bool  // from a peer, not from a lower tier
}

// Moved counts the blocks that the steps so far have not been charged for.
type Moved struct {
	Stored     int // copied to the host in the background
	SwappedOut int // to be copied to the host before the step begins
	SwappedIn  int // and from there
}

// Empty reports whether the plan holds no work. An empty plan is not a step: it takes no time.
func (p *Plan) Empty() bool { return len(p.Work) == 0 && p.Members == 0 }

// Scheduler forms the batches of one engine.
type Scheduler interface {
	// Refuse reads only. It says why s could never be served under this policy and pool, or "": such a request is
	// turned away at arrival, since waiting for it would block everybody behind it for ever. A reason is its kind, a
	// colon and its numbers: reports count by kind.
	Refuse(s *Seq) string
	// Add puts s in the waiting queue.
	Add(s *Seq)
	// Plan picks the next step's work and takes the memory it needs. Several plans may be in flight. A plan stays as
	// it is until the first call of Plan after its Done; an empty one, which needs no Done, until the next call.
	Plan(now sim.Time) *Plan
	// Done reports that p, the oldest plan in flight, has run: each work item that samples has yielded one token, and one
	// more for each draft that was accepted.
	Done(p *Plan, now sim.Time)
	// Drop takes out a sequence that has finished or was aborted, whatever its state, and frees its memory. Finished
	// sequences are dropped after Done, in batch order: it decides the eviction order. Its ID is free at once; s itself
	// may still be named by plans in flight, as long as its InFlight is not 0.
	Drop(s *Seq)
	// Load reads only: how many sequences run and wait.
	Load() (running, waiting int)
	// Counters reads only.
	Counters() Counters
	// Check reports a violated invariant of the scheduler or of its cache, or nil.
	Check() error
}

// Loader is a Scheduler whose plans may hold loads.
type Loader interface {
	// Ready reports that the load of s is over and that its first `tokens` tokens have KV: all that the Load promised,
	// or fewer if it failed.
	Ready(s *Seq, tokens int)
}

// Counters are running totals of a scheduler.
type Counters struct {
	Preemptions      int64
	RecomputedTokens int64 // in the chunks that brought preempted sequences back to where they were
	PrefixQueries    int64 // tokens looked up in the prefix cache, first admissions only; 0 without one
	PrefixHits       int64 // of which were found

	HostQueries  int64 // tokens that the prefix cache lacked, looked up in the host's memory, first admissions only
	HostHits     int64 // of which were found there, or farther away
	FarHits      int64 // of which only the farther tier had
	StoredBlocks int64 // copied to the host
	LoadedBlocks int64 // and back
	FarStored    int64 // blocks for which the host had no room any more, copied from there to the farther tier
	FarLoaded    int64 // and back
	SwappedOut   int64 // blocks of preempted sequences, to the host
	SwappedIn    int64 // and back
	SwapsRefused int64 // preemptions by recomputation because the swap space was full
}

// Limits are the settings of a scheduler, named as vLLM names them.
type Limits struct {
	MaxNumBatchedTokens       int // token capacity of a step
	MaxNumScheduledTokens     int // token budget of a step; 0: MaxNumBatchedTokens
	MaxNumSeqs                int // sequences that may run
	MaxModelLen               int // prompt and output tokens of a sequence; 0: no bound
	LongPrefillTokenThreshold int // cap on one sequence's tokens in a step; 0: none
	EnableChunkedPrefill      bool
	SchedulerReserveFullISL   bool    // a whole known sequence must fit before it is admitted
	Watermark                 float64 // fraction of all blocks that an admission leaves free
	NumGPUBlocks              int     // the pool as the engine reports it, its null block included
	Priority                  bool    // short for an Order of Priority
	Order                     Order   // who comes first; nil: first come, first served
	AsyncScheduling           bool    // plan a step before the outputs of the one before are known
	PipelineStages            int     // a sequence decodes at most once in so many steps; 0 and 1: every step
	ReservedDecodeTokens      int     // memory for so many tokens of each sequence stays free when a prompt is fetched from a peer (SGLang)
	SwapBlocks                int     // blocks of host memory for preempted sequences (continuous); 0: they are computed again
	Window                    hardware.Window
	Speculation               Speculation // chunked only
	// Named makes every plan name all its sequences, for those who want to see each token. It changes no step.
	Named bool
}
