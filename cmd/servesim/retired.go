package main

import (
	"slices"
	"strings"

	"github.com/servesim/servesim/scenarios"
)

// A retired flag is accepted, so that a command line copied from elsewhere runs, and has no effect; a warning says why.
type retired struct {
	why  string // the warning, after the flag's name
	key  string // field of the scenario that warns of it, in place of why
	bare bool   // it never takes a value
}

// retiredFlags lists the flags of `vllm serve` that vLLM has removed, and those of `vllm bench serve` that speak of a
// real server.
func retiredFlags() map[string]retired {
	const served = "concerns a real server or its client and has no effect in a simulation"
	flags := map[string]retired{
		"enable-log-requests": {why: served, bare: true},
		"trust-remote-code":   {why: served, bare: true},
		"disable-tqdm":        {why: served, bare: true},
		"append-result":       {why: served, bare: true},
		"ignore-eos":          {why: "is implied: every answer is as long as its workload says", bare: true},
	}
	for _, name := range []string{"speculative-model", "num-speculative-tokens"} {
		flags[name] = retired{why: "was removed from vLLM in 2025 and has no effect: --speculative-config took its place"}
	}
	for _, name := range []string{
		"host", "port", "base-url", "endpoint", "backend", "endpoint-type", "served-model-name", "tokenizer",
		"ready-check-timeout-sec", "distributed-executor-backend", "metadata", "label", "num-warmups", "temperature", "top-p", "top-k",
	} {
		flags[name] = retired{why: served}
	}
	for _, r := range scenarios.RemovedFlags() {
		if r.V0 {
			continue // a flag like any other, which V1 has no use for
		}
		flags[r.Name] = retired{key: "engine." + strings.ReplaceAll(r.Name, "-", "_")}
	}
	return flags
}

// takes reports whether a word that follows the flag is its value. Those of vLLM that are gone were numbers, switches
// or words of a short list; a scenario's name is none of them.
func (r retired) takes(word string) bool {
	switch {
	case r.bare:
		return false
	case r.key == "":
		return !strings.HasPrefix(word, "-")
	}
	return isNumber(word) || slices.Contains([]string{"true", "false", "True", "False"}, word)
}
