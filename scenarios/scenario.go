package scenarios

import (
	"slices"
	"strings"
	"time"
)

// A Scenario is one experiment as its file describes it. Numbers that the file leaves to the engine ("auto") are zero
// until Build resolves them for the chosen GPU and engine profile. Fields bear the names of their keys.
type Scenario struct {
	Name, Summary string
	Seed          uint64
	Model         string // name, Hugging Face id, or path of a config.json
	Hardware      Hardware
	Engine        Engine
	Scheduler     Scheduler
	Cluster       Cluster
	Frontend      Frontend
	Workload      Workload
	SLO           SLO
	Warmup        time.Duration // requests that arrive before it are not measured
	Overlay       string        // file with the constants of one's own machine; "": there is none

	dir string           // what relative file names in it are relative to
	set map[string]place // where each explicit value came from, by path
	top place            // the file as a whole

	overlay *Overlay // read from Overlay, or given

	// Known once the model is:
	experts bool // it is a mixture of them
	ranks   int  // of data parallelism in lockstep, within one engine; 0: one
	copies  int  // engines for each replica: the data-parallel ranks of a dense model; 0: one
}

// Hardware is what one engine runs on.
type Hardware struct {
	GPU         GPU
	GPUsPerNode int // beyond it, traffic crosses Internode
	Internode   Internode
	Kernels     Kernels
}

// Kernels names generations of kernels; "default" is the newest.
type Kernels struct{ GEMM, Attention, WeightOnly string }

// GPU is a known card by name, or a card of the user's: the columns of the table of GPUs. With a known name the columns
// given replace the card's own; zero columns are those that were not given.
type GPU struct {
	Name, Vendor, Arch, LinkType, PCIe, MemType, Source, Note string

	SM, BF16TFLOPS, FP8TFLOPS, INT8TOPS, FP4TFLOPS float64 // multiprocessors; dense peaks
	MemGB, MemMiBReported, MemBWTBs, L2MB          float64
	LinkGBs, PCIeGBs                               float64 // per direction
	TDPW, USDPerHLow, USDPerHTyp, RidgeBF16        float64
}

// Internode is the link between nodes: a named one, or its numbers.
type Internode struct {
	Name      string
	Bandwidth Bandwidth
	Latency   time.Duration
}

// Engine holds the settings of `vllm serve` under vLLM's names.
type Engine struct {
	Profile                                   string
	Dtype, Quantization, KVCacheDtype         string
	TensorParallelSize, PipelineParallelSize  int
	DataParallelSize                          int
	EnableExpertParallel                      bool
	ExpertSkew                                float64 // 0: 1, even routing
	MaxNumSeqs, MaxNumBatchedTokens           int     // 0: the profile's default for this GPU
	MaxNumScheduledTokens                     int     // 0: MaxNumBatchedTokens
	MaxModelLen                               int     // 0: the model's; -1: the longest that fits
	LongPrefillTokenThreshold                 int
	GPUMemoryUtilization                      float64 // 0: the profile's default
	KVCacheMemoryBytes                        Bytes
	NumGPUBlocksOverride                      int
	BlockSize                                 int
	Watermark                                 float64
	SchedulerReserveFullISL                   Switch
	EnableChunkedPrefill, EnablePrefixCaching Switch
	SchedulingPolicy                          string
	AsyncScheduling                           Switch
	EnforceEager                              bool
	CUDAGraphCaptureSizes                     []int
	APIServerCount                            int     // 0: Frontend.APIServers
	KVOffloadingSize                          float64 // GiB of host memory on all GPUs together; 0: none
	KVOffloadingPolicy                        string  // which blocks are copied
	KVOffloadingBackend                       string  // who copies: "lmcache", or "" and "native"
	KVFarTier                                 FarTier
	PreemptionMode                            string  // V0: "swap", or "" and "recompute"
	SwapSpace                                 float64 // V0: GiB of host memory per GPU
	StreamInterval                            int     // tokens in a chunk
	ConstrainedDecoding                       ConstrainedDecoding
	SpeculativeConfig                         SpeculativeConfig
	SamplingCost                              time.Duration // of each token sampled, beyond the plain sampler's
}

// FarTier is what takes the KV blocks for which the host's memory has no room any more.
type FarTier struct {
	Kind      string  // "disk": each engine has one; "remote": all engines alike share one
	Size      float64 // GiB; 0: there is none
	Bandwidth Bandwidth
	Latency   time.Duration // of a load, beside the time of its bytes
}

// ConstrainedDecoding is answers that must follow a grammar: what share of them, and what a token of theirs costs the host.
type ConstrainedDecoding struct {
	Share float64
	Cost  time.Duration
}

// Scheduler names the policy that forms batches.
type Scheduler struct {
	Name string // "": the profile's own

	MaxBatch            int           // static: requests in a batch
	Timeout             time.Duration // static: how long the oldest request waits for the batch to fill
	PadTo               int           // static: prompts are padded at least to this
	EarlyExit           bool          // static: finished rows stop costing compute
	PreferredBatchSizes []int         // static: sizes that a batch does not wait beyond

	ChunkSize int // sarathi: tokens of a step

	ChunkedPrefillSize int     // sglang: most tokens of prompts in a step; 0: by the GPU's memory, -1: prompts are not split
	MaxPrefillTokens   int     // sglang: the same, without a cut
	SchedulePolicy     string  // sglang: fcfs or lpm
	Conservativeness   float64 // sglang: factor on what is reserved
	EnableMixedChunk   bool    // sglang: decodes go along with prompts

	CapacityPolicy string // trtllm: guaranteed-no-evict or max-utilization

	Predictor           Predictor
	Quantum, Starvation time.Duration // mlfq; a zero quantum is that of the shortest step
	ChunkBySlack        bool          // slo: chunks are sized by the deadlines of decodes
}

// Predictor is what tells the order of the queue how long answers will be.
type Predictor struct {
	Name  string  // "": the truth, where an order wants to know
	Error float64 // noisy: the standard deviation of the logarithm
}

// Frontend is what stands between the client and the engine.
type Frontend struct {
	APIServers                              int
	PerRequest, Tokenize, Latency, PerChunk time.Duration // fromProfile: the engine profile's
}

// fromProfile stands for a time that is left to the engine profile.
const fromProfile time.Duration = -1

// Workload is the load, as a benchmark client makes it.
type Workload struct {
	Requests       int           // 0: 1000, the whole trace, or as many as Duration holds
	Duration       time.Duration // no arrivals after it; what has arrived is served
	Horizon        time.Duration // the simulation stops here, done or not; 0: never
	Rate           float64       // requests per second; 0: 10, or the trace's own times
	Arrivals       Arrivals
	MaxConcurrency int // the client keeps at most so many requests open; 0: no limit
	Prompt, Output Length
	MaxTokens      int // what the client asks for; 0: the output itself
	Prefix         Prefix
	Classes        []Class
	Clients        Clients
	Sessions       Sessions
	Timeout        time.Duration // the client gives up after it; 0: never
}

// Arrivals is the law of arrivals.
type Arrivals struct {
	Name         string
	Burstiness   float64 // gamma: shape; below 1 is burstier than Poisson
	Rescale      Switch  // stretch the drawn times so that the mean rate is exact, as vLLM's benchmark does
	Clients      int     // closed: how many
	Think        time.Duration
	File, Format string  // trace
	Speed        float64 // trace: time runs so many times faster
}

// Length is a law of prompt or output lengths, in tokens.
type Length struct {
	Dist                string
	Mean, Std, P50, P99 float64
	RangeRatio          float64 // uniform: the half-width as a share of the mean
	Min, Max            int
}

// Prefix is a beginning that prompts share: each request belongs to one of Groups, drawn evenly. With Distinct prompts
// these come round in one shuffled order; 0: no prompt comes twice.
type Prefix struct{ Groups, Tokens, Distinct int }

// Clients are those that requests come from, in an open load: Count of them, of which the k-th sends 1/k^Skew as much as
// the first, or one for each of Shares.
type Clients struct {
	Count  int
	Skew   float64
	Shares []int
}

// Sessions are conversations: the prompt of a turn is all that was said before, and a text of its own.
type Sessions struct {
	Turns Length        // no law: one, every request stands alone
	Think time.Duration // from an answer to the next turn
}

// SLO is what a good request keeps; a zero limit is not asked for.
type SLO struct{ TTFT, TPOT, ITL, E2EL time.Duration }

// Explicit reports whether the file or a flag gave the field of this path a value.
func (s *Scenario) Explicit(path string) bool {
	_, ok := s.set[path]
	return ok
}

// place returns where the value of a path came from, for messages: itself, or the nearest section that was given. What is
// wrong with the engine as a whole comes from the flags that changed it, if there are any.
func (s *Scenario) place(path string) place {
	at, given := s.set[path]
	if path == "engine" || !given && strings.HasPrefix(path, "engine.") {
		if origins := s.flags("model", "hardware", "engine"); origins != "" {
			return place{origin: origins, jointly: true}
		}
	}
	if given {
		return at
	}
	for p := path; p != ""; p, _ = parent(p) {
		if at, ok := s.set[p]; ok {
			return at
		}
	}
	return s.top
}

// flags names the flags that set a value in one of these sections, in the order of their values in the file.
func (s *Scenario) flags(sections ...string) string {
	var origins []string
	for i := range fields {
		path := fields[i].path
		at, given := s.set[path]
		within := func(section string) bool { return path == section || strings.HasPrefix(path, section+".") }
		if given && at.origin != "" && slices.ContainsFunc(sections, within) && !slices.Contains(origins, at.origin) {
			origins = append(origins, at.origin)
		}
	}
	return strings.Join(origins, ", ")
}
