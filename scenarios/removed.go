package scenarios

import "strings"

// A RemovedFlag is a setting that vLLM no longer has. It is read over with a warning, so that a command line copied
// from an old page still runs and nobody believes that it did something.
type RemovedFlag struct {
	Name    string // as on the command line, without dashes in front
	Since   string // when vLLM removed it
	Instead string // what to do now
	V0      bool   // vLLM V0's policy (scheduler: continuous) still knows it
}

func (r RemovedFlag) key() string { return strings.ReplaceAll(r.Name, "-", "_") }

// Warning is the one line that a user of the flag is shown.
func (r RemovedFlag) Warning() string {
	return r.key() + " was removed from vLLM in " + r.Since + " and has no effect: " + r.Instead
}

// RemovedFlags returns the settings that vLLM has removed, with dates from its history.
func RemovedFlags() []RemovedFlag { return append([]RemovedFlag(nil), removedFlags...) }

var removedFlags = []RemovedFlag{
	{"num-scheduler-steps", "August 2025", "async_scheduling hides the host instead", false},
	{"multi-step-stream-outputs", "August 2025", "stream_interval groups tokens instead", false},
	{"use-v2-block-manager", "2025", "there is only one block manager", false},
	{"preemption-mode", "September 2025", "V1 always recomputes", true},
	{"scheduler-delay-factor", "September 2025", "V1 schedules a request as soon as it fits", false},
	{"max-seq-len-to-capture", "September 2025", "use cudagraph_capture_sizes", false},
	{"num-lookahead-slots", "November 2025", "it follows from speculative_config", false},
	{"cuda-graph-sizes", "December 2025", "use cudagraph_capture_sizes", false},
	{"swap-space", "March 2026", "V1 never swapped; kv_offloading_size is a cache tier, not a swap space", true},
	{"max-num-partial-prefills", "July 2026", "V1 never used it; see long_prefill_token_threshold", false},
	{"max-long-partial-prefills", "July 2026", "V1 never used it; see long_prefill_token_threshold", false},
	{"disable-log-requests", "2025", "enable_log_requests took its place; there is no log here", false},
}
