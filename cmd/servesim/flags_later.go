package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A later flag belongs to a feature that the simulator does not have yet. Its neutral values are accepted; any other is
// an error, since a simulator that ignores a knob answers "no difference", and people believe it.
type later struct {
	name, value, usage string
	neutral            []string // values that ask for nothing
}

func laterFlags() []later {
	return []later{
		{"decode-context-parallel-size", "N", "GPUs that share the KV cache of a sequence", []string{"1"}},
		{"cpu-offload-gb", "GIB", "weights in host memory", []string{"0", "0.0"}},
		{"prefill-schedule-interval", "N", "steps between prefills of data-parallel ranks", []string{"1"}},
		{"kv-transfer-config", "JSON", "KV between engines", []string{"", "{}"}},
		{"all2all-backend", "NAME", "how experts exchange tokens", []string{"allgather_reducescatter"}},
		{"enable-dbo", "", "two batches overlapped", []string{"false"}},
		{"enable-eplb", "", "experts moved to balance the load", []string{"false"}},
		{"performance-mode", "NAME", "a set of defaults", []string{"balanced"}},
		{"optimization-level", "N", "how far the model is compiled", []string{"2"}},
		{"compilation-config", "JSON", "how the model is compiled", []string{"", "{}"}},
		{"max-cudagraph-capture-size", "N", "largest CUDA graph (use --cudagraph-capture-sizes)", nil},
		{"self-timed", "", "replay at the times of the trace", []string{"true"}},
		{"hf-overrides", "JSON", "changes to the model's config.json", []string{"", "{}"}},
		{"ramp-up-strategy", "NAME", "linear or exponential growth of the rate", []string{"", "none"}},
		{"ramp-up-start-rps", "N", "rate at the first request", nil},
		{"ramp-up-end-rps", "N", "rate at the last request", nil},
		{"seeds", "N", "number of seeds to run", []string{"1"}},
		{"html", "FILE", "write a page", nil},
		{"timeline", "FILE", "write a timeline", nil},
	}
}

// refuse returns an error if the flag was given a value that asks for something.
func (l later) refuse(f *pflag.FlagSet) error {
	if !f.Changed(l.name) {
		return nil
	}
	value := f.Lookup(l.name).Value.String()
	if slices.Contains(l.neutral, strings.ToLower(value)) {
		return nil
	}
	if len(l.neutral) == 0 || l.neutral[0] == "" || l.value == "" {
		return usagef("--%s is not supported yet: leave it out", l.name)
	}
	return usagef("--%s %s is not supported yet: leave it out, or give %s", l.name, value, l.neutral[0])
}
