package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/servesim/servesim/hardware"
)

// A Profile is one version of the engine: what it does by itself when a setting is left to it, and what a step costs
// it on the host.
type Profile struct {
	Name     string // as in engine.profile
	Version  string // the newest release that it describes
	Released string

	Scheduler       string // the policy that forms batches
	Utilization     float64
	AsyncScheduling bool
	ReserveFullISL  bool // a prompt is admitted only when all of it fits
	GraphMemory     bool // memory for CUDA graphs is taken off the KV pool; before, it lay beyond the engine's share
	PrefixCaching   bool
	ChunkedPrefill  bool
	Watermark       float64

	// MaxNumSeqs and MaxNumBatchedTokens are the server's defaults by class of device.
	MaxNumSeqs, MaxNumBatchedTokens [classes]int

	Host     hardware.Host
	Workers  time.Duration // host time of a step on several GPUs: to the processes of the workers and back
	Frontend Latency
}

// Latency is what the front end takes of its own time.
type Latency struct {
	PerRequest time.Duration // of an API process, one request after the other
	PerToken   time.Duration // tokenisation, per token of the prompt, in the same queue
	Ingress    time.Duration // HTTP both ways, hand-over: nobody waits for anybody
	PerChunk   time.Duration // detokenisation and writing; one chunk after the other in each API process
}

// A class of devices shares defaults. vLLM tells them apart by the total memory of the first GPU and by its name.
type class int

const (
	small   class = iota // everything else: A100 of any size, L40S, RTX 4090, …
	large                // 70 GiB and more, but no A100: H100, H200, RTX PRO 6000, …
	huge                 // 160 GiB and more: B200, MI300X, …
	classes = iota
)

func classOf(d hardware.Device) class {
	const gib = 1 << 30
	switch {
	case d.Memory >= 160*gib:
		return huge
	case d.Memory >= 70*gib && !strings.Contains(strings.ToLower(d.Name), "a100"):
		return large
	}
	return small
}

// What an engine costs beside the GPU's work: the host's part of a step, in seconds, and the front end's part of a first token.
// Four numbers a version are fitted to served runs, on at most half of what there is: exposed base and slope, the latency of the
// front end, and a hand-over: the time of a chunk where steps are planned ahead, that between processes where they are not. Which
// rows those are, and how the others fare, is what `servesim validate` prints as fit_of_…:
//
//	0.14 to 0.16  five models on H100 (inference-sim's benchmark of 0.15.1); the others, A100 and L40S are left out
//	0.20 on       gpt-oss-120b on two H100 (InferenceX, 0.21); eight GPUs and all H200 are left out
//	0.19          the log of an RTX PRO 6000 published with LLMServingSim, which fixes base + 128 slopes and no more; that of
//	              an RTX 4090 is left out. Neither has a server around the engine: the front end is that of 0.14
//	0.10 to 0.13  Qwen3-8B on one H100 with 1 and 4 clients (GPUStack, 0.11); 2 and 8 are left out. The hand-over: see workers
//
// 0.17 and 0.18 lie between and have no runs here: steps as in 0.20, requests as in 0.14. Two digits of all this mean little: bases
// and slopes lie along a flat valley, and depend on the CPU.
var (
	host2025 = exposed(0.45e-3, 10e-6)
	host015  = exposed(0.45e-3, 10e-6)
	host019  = exposed(0.30e-3, 7e-6)
	host020  = exposed(0.75e-3, 3e-6)

	frontend2025 = latency(48 * time.Millisecond)
	frontend015  = latency(4500 * time.Microsecond)
	frontend020  = latency(20 * time.Millisecond)
)

// exposed returns the host's part where a step of n sequences exposes base + perSeq·n. The rest, which shows only in engines that
// do not plan ahead, is that of Qwen3-8B above.
func exposed(base, perSeq float64) hardware.Host {
	return hardware.Host{ExposedBase: base, ExposedPerSeq: perSeq, HiddenBase: 0.45e-3, HiddenPerSeq: 10e-6}
}

// latency returns a front end. One thread of Hugging Face's tokenizers takes in 1.28 MB/s of a long text (huggingface/tokenizers
// #1582, with Llama 3.1's), 3.4 µs for a token of 4.4 bytes.
//
// The 48 ms of 2025 are those of the chat endpoint, and of its clients: completions came some 40 ms sooner (Llama-3.1-70B of
// InferenceMAX), which is how long a client's TCP leaves a first small packet unacknowledged while the second waits.
func latency(ingress time.Duration) Latency {
	return Latency{PerToken: 3400 * time.Nanosecond, Ingress: ingress, PerChunk: 40 * time.Microsecond}
}

// workers is what a step on several GPUs costs the host in addition: Llama-3.1-70B in FP8 on two to eight H100 (aiconfigurator's
// silicon samples, October 2025); H200, and Qwen3-32B with 0.12, were left out.
const workers = 700 * time.Microsecond

// Defaults by class of device, in the order small, large, huge. Source: vLLM's engine arguments, and the changes to
// them #12369 (larger steps on H100) and #17885 (but not on A100, where they lowered throughput).
var (
	seqsV0     = [classes]int{256, 256, 256}
	tokensV0   = [classes]int{2048, 2048, 2048} // with chunking; without, the longest sequence if that is more
	seqsV1     = [classes]int{256, 1024, 1024}
	tokensV1   = [classes]int{2048, 8192, 8192}
	tokens2026 = [classes]int{2048, 8192, 16384}
)

// v1 is what all profiles of the V1 engine have in common.
func v1(p Profile) Profile {
	p.Scheduler, p.PrefixCaching, p.ChunkedPrefill = "chunked", true, true
	p.MaxNumSeqs, p.Workers = seqsV1, workers
	return p
}

// profiles are ordered from new to old. Sources: vLLM's source at the releases; #37307 (full-prompt gate, March 2026),
// #38284 (0.92 and graph memory, April 2026).
var profiles = []Profile{
	v1(Profile{Name: "vllm-0.27", Version: "0.27", Released: "2026-08", Utilization: 0.92, AsyncScheduling: true, ReserveFullISL: true, GraphMemory: true, MaxNumBatchedTokens: tokens2026, Host: host020, Frontend: frontend020}),
	v1(Profile{Name: "vllm-0.20", Version: "0.26", Released: "2026-05", Utilization: 0.92, AsyncScheduling: true, ReserveFullISL: true, GraphMemory: true, MaxNumBatchedTokens: tokensV1, Host: host020, Frontend: frontend020}),
	v1(Profile{Name: "vllm-0.19", Version: "0.19", Released: "2026-04", Utilization: 0.90, AsyncScheduling: true, ReserveFullISL: true, MaxNumBatchedTokens: tokensV1, Host: host019, Frontend: frontend015}),
	v1(Profile{Name: "vllm-0.17", Version: "0.18", Released: "2026-03", Utilization: 0.90, AsyncScheduling: true, MaxNumBatchedTokens: tokensV1, Host: host020, Frontend: frontend015}),
	v1(Profile{Name: "vllm-0.14", Version: "0.16", Released: "2026-01", Utilization: 0.90, AsyncScheduling: true, MaxNumBatchedTokens: tokensV1, Host: host015, Frontend: frontend015}),
	v1(Profile{Name: "vllm-0.10", Version: "0.13", Released: "2025-07", Utilization: 0.90, MaxNumBatchedTokens: tokensV1, Host: host2025, Frontend: frontend2025}),
	{Name: "vllm-0.9", Version: "0.9", Released: "2025-06", Scheduler: "continuous", Utilization: 0.90, Watermark: 0.01, MaxNumSeqs: seqsV0, MaxNumBatchedTokens: tokensV0, Host: host2025, Workers: workers, Frontend: frontend2025},
}

// aliases are the other names of profiles: releases within one's span, and the names of eras.
var aliases = []struct{ name, profile string }{
	{"vllm-v1", "vllm-0.27"}, // the newest known
	{"vllm-v1-2025", "vllm-0.10"},
	{"vllm-v0", "vllm-0.9"},
	{"vllm-0.26", "vllm-0.20"},
	{"vllm-0.25", "vllm-0.20"},
	{"vllm-0.24", "vllm-0.20"},
	{"vllm-0.23", "vllm-0.20"},
	{"vllm-0.22", "vllm-0.20"},
	{"vllm-0.21", "vllm-0.20"},
	{"vllm-0.18", "vllm-0.17"},
	{"vllm-0.16", "vllm-0.14"},
	{"vllm-0.15", "vllm-0.14"},
	{"vllm-0.13", "vllm-0.10"},
	{"vllm-0.12", "vllm-0.10"},
	{"vllm-0.11", "vllm-0.10"},
}

// Profiles returns the engine profiles, newest first.
func Profiles() []Profile { return slices.Clone(profiles) }

// FindProfile returns the profile of a name, or of the release or era that it names.
func FindProfile(name string) (Profile, bool) {
	for _, a := range aliases {
		if a.name == name {
			name = a.profile
			break
		}
	}
	i := slices.IndexFunc(profiles, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return profiles[i], true
}

// profileNames lists every name that FindProfile knows, the eras first.
func profileNames() []string {
	var names []string
	for _, a := range aliases[:3] {
		names = append(names, a.name)
	}
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	for _, a := range aliases[3:] {
		names = append(names, a.name)
	}
	return names
}
