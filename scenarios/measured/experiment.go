package measured

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/workload"
)

// A setting is one value of a scenario.
type setting struct{ path, value string }

// experiment resolves a row; the error says why it cannot be run.
func (r *Row) experiment() (*scenarios.Experiment, error) {
	if err := r.refusal(); err != nil {
		return nil, err
	}
	return build(r.ID, append(r.server(), r.load()...))
}

// build makes an experiment of settings.
func build(name string, settings []setting) (*scenarios.Experiment, error) {
	d, err := scenarios.Parse(name, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range append([]setting{{"name", name}}, settings...) {
		if s.value == "" {
			continue
		}
		if err := d.Set(s.path, s.value, name); err != nil {
			return nil, reason(err)
		}
	}
	s, err := d.Scenario()
	if err != nil {
		return nil, reason(err)
	}
	x, err := s.Build()
	if err != nil {
		return nil, reason(err)
	}
	return x, nil
}

// reason words a refusal in one line, without the place: a row has no other.
func reason(err error) error {
	var all scenarios.Mistakes
	if !errors.As(err, &all) {
		return err
	}
	var words []string
	for _, m := range all {
		words = append(words, m.Path+": "+m.What)
	}
	return errors.New(strings.Join(words, "; "))
}

// refusal says what keeps the row from being run, before anything is built.
func (r *Row) refusal() error {
	for _, need := range []struct {
		column string
		blank  bool
	}{
		{"engine_version", r.EngineVersion == ""},
		{"model", r.Model == ""},
		{"gpu", r.GPU == ""},
		{"tp", r.TP == 0},
		{"arrival", r.Arrival == ""},
		{"num_requests", r.Requests == 0},
		{"prompt_tokens", r.PromptTokens == 0},
		{"output_tokens", r.OutputTokens == 0},
		{"rate_rps", r.RatePerS == 0 && slices.Contains([]string{"poisson", "poisson-n", "constant"}, r.Arrival)},
		{"concurrency", r.Concurrency == 0 && r.Arrival == "closed"},
	} {
		if need.blank {
			return fmt.Errorf("%s is blank", need.column)
		}
	}
	switch {
	case r.Engine != "" && r.Engine != "vllm":
		return fmt.Errorf("engine %s is not modelled; vllm is", r.Engine)
	case r.EP > 1 && r.EP != r.TP*max(r.DP, 1):
		return fmt.Errorf("ep %d: experts can only be spread over all %d GPUs that share them", r.EP, r.TP*max(r.DP, 1))
	case !slices.Contains([]string{"", "all", "throughput", "report"}, r.Compare):
		return fmt.Errorf("compare %q is unknown; all, throughput and report are known", r.Compare)
	}
	if _, ok := scenarios.FindProfile(profile(r.EngineVersion)); !ok {
		return fmt.Errorf("engine_version %s: no profile describes it; profiles: %s", r.EngineVersion, knownProfiles())
	}
	return nil
}

// profile names the engine profile of a release: that of its first two numbers.
func profile(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return "vllm-" + strings.Join(parts[:min(len(parts), 2)], ".")
}

func knownProfiles() string {
	var names []string
	for _, p := range scenarios.Profiles() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// server returns the settings of the engine. What is blank in the row stays with the profile.
func (r *Row) server() []setting {
	dtype, quantization := weights(r.WeightDtype)
	expert := ""
	if r.EP > 1 {
		expert = "true"
	}
	return []setting{
		{"model", r.Model},
		{"hardware.gpu", r.GPU},
		{"engine.profile", profile(r.EngineVersion)},
		{"engine.dtype", dtype},
		{"engine.quantization", quantization},
		{"engine.kv_cache_dtype", r.KVCacheDtype},
		{"engine.tensor_parallel_size", whole(r.TP)},
		{"engine.data_parallel_size", whole(max(r.DP, 1))},
		{"engine.pipeline_parallel_size", whole(r.PP)},
		{"engine.enable_expert_parallel", expert},
		{"engine.max_model_len", whole(r.MaxModelLen)},
		{"engine.max_num_seqs", whole(r.MaxNumSeqs)},
		{"engine.max_num_batched_tokens", whole(r.MaxNumBatchedTokens)},
		{"engine.block_size", whole(r.BlockSize)},
		{"engine.gpu_memory_utilization", decimal(r.GPUMemoryUtilization)},
		{"engine.enable_prefix_caching", onOff(r.PrefixCaching)},
		{"engine.enable_chunked_prefill", onOff(r.ChunkedPrefill)},
		{"engine.async_scheduling", onOff(r.AsyncScheduling)},
		{"engine.kv_offloading_size", decimal(r.CPUOffloadGiB)},
	}
}

// weights splits the format of the weights into dtype and quantisation: "fp8-dynamic weights" are fp8.
func weights(format string) (dtype, quantization string) {
	name, _, _ := strings.Cut(format, " ")
	name = strings.TrimSuffix(strings.ToLower(name), "-dynamic")
	if slices.Contains([]string{"", "auto", "bfloat16", "float16", "half"}, name) {
		return name, ""
	}
	return "", name
}

// onOff reads a switch: 1 and 0, or words; blank leaves it to the profile.
func onOff(cell string) string {
	switch strings.ToLower(cell) {
	case "1":
		return "true"
	case "0":
		return "false"
	}
	return strings.ToLower(cell)
}

func whole(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func decimal(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// load returns the settings of the workload.
func (r *Row) load() []setting {
	s := []setting{{"workload.requests", whole(r.Requests)}}
	switch r.Arrival {
	case "poisson-n":
		s = append(s, setting{"workload.arrivals", "{name: poisson, rescale: true}"}, setting{"workload.rate", decimal(r.RatePerS)})
	case "closed":
		s = append(s, setting{"workload.arrivals", fmt.Sprintf("{name: closed, clients: %d}", r.Concurrency)})
	case "burst":
		s = append(s, setting{"workload.arrivals", "burst"})
	default:
		s = append(s, setting{"workload.arrivals", r.Arrival}, setting{"workload.rate", decimal(r.RatePerS)})
	}
	if r.PrefixTokens > 0 || r.DistinctPrompts > 0 {
		s = append(s,
			setting{"workload.prefix.groups", whole(r.PrefixGroups)}, setting{"workload.prefix.tokens", whole(r.PrefixTokens)},
			setting{"workload.prefix.distinct", whole(r.DistinctPrompts)})
	}
	return append(s, setting{"workload.timeout", r.patience()},
		setting{"workload.prompt", length(r.Lengths, r.PromptTokens-float64(r.PrefixTokens), r.PromptRange)},
		setting{"workload.output", length(r.Lengths, r.OutputTokens, r.OutputRange)})
}

// Of runs on ShareGPT only the mean lengths are known. The logarithm of the lengths deviates by about 1.1, and vLLM's
// benchmark leaves out prompts above 1024 tokens and conversations above 2048.
const (
	shareGPTSigma   = 1.1
	shareGPTLongest = 1024
)

// shareGPT returns a lognormal law whose draws, cut to the longest, have the given mean.
func shareGPT(mean float64) string {
	low, high := mean, 2*mean
	for range 40 {
		mid := (low + high) / 2
		cut := workload.Length{Law: workload.LogNormal{Mean: mid, Sigma: shareGPTSigma}, Cap: shareGPTLongest}
		if cut.Mean() < mean {
			low = mid
		} else {
			high = mid
		}
	}
	std := low * math.Sqrt(math.Expm1(shareGPTSigma*shareGPTSigma))
	return fmt.Sprintf("{dist: lognormal, mean: %g, std: %g, max: %d}", low, std, shareGPTLongest)
}

// length writes a law of lengths. A fixed length that is not whole is a mean, and rounded.
func length(law string, mean float64, span string) string {
	low, high, between := strings.Cut(span, "..")
	switch {
	case law == "sharegpt":
		return shareGPT(mean)
	case law == "uniform" && between:
		from, errLow := strconv.ParseFloat(low, 64)
		to, errHigh := strconv.ParseFloat(high, 64)
		if errLow != nil || errHigh != nil {
			return fmt.Sprintf("{dist: uniform, range_ratio: %q}", span) // refused with its text
		}
		return fmt.Sprintf("{dist: uniform, min: %d, max: %d}", int(math.Floor(from*mean)), int(math.Ceil(to*mean)))
	case law == "uniform" && span != "" && span != "0":
		return fmt.Sprintf("{dist: uniform, mean: %g, range_ratio: %s}", math.Round(mean), span)
	case law == "uniform" || law == "":
		law = "fixed"
	}
	return fmt.Sprintf("{dist: %s, mean: %g}", law, math.Round(mean))
}
