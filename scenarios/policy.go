package scenarios

import (
	"fmt"

	"github.com/servesim/servesim/scheduler"
)

// What of the scenario a batching policy is made of.

// policySettings are those that single policies know.
func (s *Scenario) policySettings() scheduler.Settings {
	c := &s.Scheduler
	return scheduler.Settings{
		Batch: scheduler.Batch{
			MaxBatch: c.MaxBatch, Timeout: c.Timeout, Preferred: c.PreferredBatchSizes, PadTo: c.PadTo, EarlyExit: c.EarlyExit,
		},
		ChunkSize: c.ChunkSize,
		SGLang: scheduler.SGLangRules{
			ChunkedPrefillSize: max(c.ChunkedPrefillSize, 0), MaxPrefillTokens: c.MaxPrefillTokens, Conservativeness: c.Conservativeness,
			LongestPrefixMatch: c.SchedulePolicy == "lpm", EnableMixedChunk: c.EnableMixedChunk,
		},
		MaxUtilization: c.CapacityPolicy == maxUtilization,
	}
}

// splits reports whether a prompt may be spread over several steps.
func (s *Scenario) splits() bool {
	switch s.Scheduler.Name {
	case "chunked", "trtllm":
		return s.Engine.EnableChunkedPrefill == On
	case "sarathi":
		return true
	case "sglang":
		return s.Scheduler.ChunkedPrefillSize != unsplit
	}
	return false
}

// stepTokens returns the most tokens of a step where nobody has said how many it may hold.
func (x *deployment) stepTokens() int {
	c, class := &x.s.Scheduler, classOf(x.Device)
	switch {
	case c.Name == "sarathi":
		return scheduler.Tiled(c.ChunkSize)
	case c.Name == "sglang" && x.s.splits():
		return min(c.ChunkedPrefillSize, c.MaxPrefillTokens)
	case c.Name == "sglang":
		return max(c.MaxPrefillTokens, x.MaxModelLen)
	case x.s.splits():
		return x.profile.MaxNumBatchedTokens[class]
	}
	return max(x.profile.MaxNumBatchedTokens[class], x.MaxModelLen)
}

// stepTokensKey is the setting that says how many tokens a step holds, where nobody has set max_num_batched_tokens.
func (x *deployment) stepTokensKey() string {
	const budget = "engine.max_num_batched_tokens"
	c := &x.s.Scheduler
	switch {
	case x.s.Explicit(budget) && x.s.idle(budget) == "":
		return budget
	case c.Name == "sarathi":
		return "scheduler.chunk_size"
	case c.Name == "sglang" && x.s.splits() && c.ChunkedPrefillSize <= c.MaxPrefillTokens:
		return "scheduler.chunked_prefill_size"
	case c.Name == "sglang":
		return "scheduler.max_prefill_tokens"
	}
	return budget
}

// prefillSize fills in SGLang's default of chunked_prefill_size, which goes by the GPU's memory.
func (x *deployment) prefillSize() {
	c := &x.s.Scheduler
	if c.ChunkedPrefillSize != 0 || c.Name != "sglang" {
		return
	}
	switch gib := x.Device.Memory / gibibyte; {
	case gib < 35:
		c.ChunkedPrefillSize = 2048
	case gib < 60:
		c.ChunkedPrefillSize = 4096
	case gib < 160:
		c.ChunkedPrefillSize = 8192
	default:
		c.ChunkedPrefillSize = 16384
	}
}

// checkPolicy makes the checks of settings that single policies know.
func (x *deployment) checkPolicy(m *Mistakes) {
	const sizes = "scheduler.preferred_batch_sizes"
	c := &x.s.Scheduler
	for _, n := range c.PreferredBatchSizes {
		if x.s.idle(sizes) == "" && (n < 1 || n > c.MaxBatch) {
			m.at(x.s, sizes, "must be from 1 to scheduler.max_batch, %d, got %d", c.MaxBatch, n)
		}
	}
	if n := scheduler.Tiled(c.ChunkSize); n != c.ChunkSize && x.s.Scheduler.Name == "sarathi" {
		x.note(fmt.Sprintf("chunk_size %d is rounded down to whole tiles: steps hold %d tokens", c.ChunkSize, n))
	}
}
