package scheduler

import (
	"time"

	"github.com/servesim/servesim/kvcache"
)

// A Policy is a way to form batches: a name and a constructor. Adding one takes a file and a line of [Policies].
// A program that uses this package needs neither: any Scheduler may be given to an engine.
type Policy struct {
	Name  string
	Title string // as in "under static batching"
	// Async says that the engine of this policy can plan a step before the outputs of the one before are known; the
	// others are run synchronously.
	Async bool
	New   func(Limits, Settings, kvcache.Cache) Scheduler
}

// Policies returns the built-in policies, in the order in which they are offered. The guide to them is the package
// documentation.
func Policies() []Policy {
	return []Policy{
		{"chunked", "vLLM V1's scheduler", true, func(l Limits, _ Settings, c kvcache.Cache) Scheduler { return Chunked(l, c) }},
		{"continuous", "continuous batching", false, func(l Limits, _ Settings, c kvcache.Cache) Scheduler { return Continuous(l, c) }},
		{"static", "static batching", false, func(l Limits, s Settings, c kvcache.Cache) Scheduler { return Static(l, s.Batch, c) }},
		{"orca", "Orca's iteration-level batching", false, func(l Limits, _ Settings, c kvcache.Cache) Scheduler { return Orca(l, c) }},
		{"sarathi", "Sarathi's stall-free batching", false, func(l Limits, s Settings, c kvcache.Cache) Scheduler { return Sarathi(l, s.ChunkSize, c) }},
		{"sglang", "SGLang's scheduler", true, func(l Limits, s Settings, c kvcache.Cache) Scheduler { return SGLang(l, s.SGLang, c) }},
		{"trtllm", "TensorRT-LLM's scheduler", true, func(l Limits, s Settings, c kvcache.Cache) Scheduler { return TRTLLM(l, s.MaxUtilization, c) }},
	}
}

// FindPolicy returns the built-in policy of a name.
func FindPolicy(name string) (Policy, bool) {
	for _, p := range Policies() {
		if p.Name == name {
			return p, true
		}
	}
	return Policy{}, false
}

// Settings are those that only one policy knows.
type Settings struct {
	Batch          Batch       // static
	ChunkSize      int         // sarathi: tokens of a step; see [Tiled]
	SGLang         SGLangRules // sglang
	MaxUtilization bool        // trtllm: admit as long as prompts fit, and pause when memory runs out
}

// Batch are the settings of static batching.
type Batch struct {
	MaxBatch int           // requests in a batch
	Timeout  time.Duration // how long the oldest request waits for the batch to fill
	// Preferred are sizes that a batch need not wait any longer for (Triton's preferred_batch_size); none: only MaxBatch.
	Preferred []int
	PadTo     int  // prompts are padded to the longest of the batch, and at least to this
	EarlyExit bool // finished rows stop costing compute
}
