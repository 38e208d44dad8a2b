package metrics

// Report is what a run amounted to. Its JSON keys are stable: scripts depend on them, new ones may be added. Times
// carry their unit in the key. No field is ever NaN or infinite.
type Report struct {
	Requests   Requests    `json:"requests"`
	Rejections []Rejection `json:"rejections"`
	// DurationS runs from the start (after the warm-up, if there is one) to the last answer, in seconds; to the end of
	// the run if requests were left unfinished.
	DurationS   float64      `json:"duration_s"`
	Warmup      *Warmup      `json:"warmup,omitempty"`
	Tokens      Tokens       `json:"tokens"`
	Throughput  Throughput   `json:"throughput"`
	Goodput     Goodput      `json:"goodput"`
	Latency     Latency      `json:"latency_ms"`
	Concurrency Little       `json:"concurrency"`
	Engine      EngineUse    `json:"engine"`
	Speculation *Speculation `json:"speculation,omitempty"`
	GPU         GPU          `json:"gpu"`
	Attribution Attribution  `json:"attribution"`
	// Disaggregation is there where prefill and decode have engines of their own.
	Disaggregation *Disaggregation `json:"disaggregation,omitempty"`
	// Replicas are the engines one by one, where there are several.
	Replicas []ReplicaUse `json:"replicas,omitempty"`
	Fleet    *Fleet       `json:"fleet,omitempty"`
	Verdict  Verdict      `json:"verdict"`
	// Classes and Clients split the measured requests, where there are at least two of them.
	Classes  []ClassReport  `json:"classes,omitempty"`
	Clients  *ClientsReport `json:"clients,omitempty"`
	Warnings []string       `json:"warnings"`
}

// Requests counts every request of the run, warm-up included: Submitted = Completed + Rejected + Aborted + Unfinished.
type Requests struct {
	Submitted  int `json:"submitted"`
	Completed  int `json:"completed"`
	Rejected   int `json:"rejected"`
	Aborted    int `json:"aborted"`
	Unfinished int `json:"unfinished"`
}

// Warmup counts the requests that arrived before UntilS, and the others, which are measured. Throughput.RequestsPerS is
// Measured.Completed / DurationS.
type Warmup struct {
	UntilS float64 `json:"until_s"`
	Requests
	Measured  Requests `json:"measured"`
	DurationS float64  `json:"duration_s"` // Report.DurationS: what rates, averages, power and shares of time refer to
	Note      string   `json:"note"`       // what begins when
}

// warmupNote is what a reader of the numbers must know of a warm-up.
const warmupNote = "tokens, throughput, goodput, latencies and the attribution of ttft and tpot are of the measured requests, " +
	"those that arrived from until_s on; engine, gpu and wall_time count from until_s on, whosever the work; " +
	"requests, rejections, concurrency and the verdict are of the whole run"

// Rejection is one kind of reason for which requests were turned away, with the numbers of the first of them.
type Rejection struct {
	Reason  string `json:"reason"`
	Count   int    `json:"count"`
	Example string `json:"example,omitempty"`
}

// Tokens are those of completed requests: prompts (cached tokens included) and answers.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// Throughput divides what completed requests amount to by Report.DurationS.
type Throughput struct {
	RequestsPerS           float64 `json:"requests_per_s"`
	InputTokensPerS        float64 `json:"input_tokens_per_s"`
	OutputTokensPerS       float64 `json:"output_tokens_per_s"`
	TotalTokensPerS        float64 `json:"total_tokens_per_s"`
	OutputTokensPerSPerGPU float64 `json:"output_tokens_per_s_per_gpu"`
	// OutputTokensPerSPerUser is how fast one answer is written: 1 / mean TPOT.
	OutputTokensPerSPerUser float64 `json:"output_tokens_per_s_per_user"`
	// PeakOutputTokensPerS is the largest number of tokens that reached clients within one second (of chunks, where a
	// chunk holds several tokens: the benchmark counts no better), and
	// PeakConcurrentRequests the largest number of completed requests that touched one; the seconds are counted from the
	// first request, as `vllm bench serve` does, or from the end of the warm-up if that is later.
	PeakOutputTokensPerS   int `json:"peak_output_tokens_per_s"`
	PeakConcurrentRequests int `json:"peak_concurrent_requests"`
}

// Goodput counts the requests that met every target. Without targets its numbers are null, not 1: what nobody asked
// for was not met.
type Goodput struct {
	RequestsPerS *float64 `json:"requests_per_s"` // good requests per second
	Attainment   *float64 `json:"attainment"`     // good requests / submitted ones
	ByMetric     ByMetric `json:"by_metric"`
}

// ByMetric is the share of submitted requests that met each target; null or absent where there is no target.
type ByMetric struct {
	TTFT *float64 `json:"ttft,omitempty"`
	TPOT *float64 `json:"tpot,omitempty"`
	E2EL *float64 `json:"e2el,omitempty"`
	ITL  *float64 `json:"itl,omitempty"`
}

// Latency holds the distributions over completed requests, in milliseconds; ITL is over their gaps.
type Latency struct {
	TTFT  Stats `json:"ttft"`  // from the client's send to its first token
	TPOT  Stats `json:"tpot"`  // (E2EL − TTFT)/(output − 1), for answers of two tokens and more
	ITL   Stats `json:"itl"`   // between two consecutive tokens of an answer, all answers pooled; between chunks, where one holds several tokens
	E2EL  Stats `json:"e2el"`  // from the client's send to its last token
	Queue Stats `json:"queue"` // in the scheduler's waiting queue before the first admission
	// ITLQuantileErrorPct bounds the error of ITL's quantiles, which come from a histogram.
	ITLQuantileErrorPct float64 `json:"itl_quantile_error_pct"`
}

// Stats describes a distribution of times in milliseconds. An empty one is all zeros.
type Stats struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	Std   float64 `json:"std"` // of the population
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	// More holds further percentiles that were asked for, by name, e.g. "p99.9".
	More map[string]float64 `json:"more,omitempty"`
}

// Little is of the whole run, from its start to where DurationS ends, warm-up included. It holds the two sides of Little's law, L = λW, measured apart from each other: L by integrating the number of
// requests in the system over time, λ and W by counting requests and adding up their stays, from the client's send to the
// step that ends the answer. They agree when no request is left unfinished. Refused requests stay for no time.
type Little struct {
	L      float64 `json:"mean_requests"`      // time average of the requests in the system
	Lambda float64 `json:"departures_per_s"`   // λ
	W      float64 `json:"mean_time_in_sys_s"` // W, in seconds
}

// EngineUse is what the engines did in the steps that ended after the warm-up, the one that may outlast the last answer
// included, and in the plans made after it. Averages over time are over Report.DurationS.
type EngineUse struct {
	Steps            int64       `json:"steps"`
	Preemptions      int64       `json:"preemptions"`
	RecomputedTokens int64       `json:"recomputed_tokens"`
	Batch            BatchUse    `json:"batch"`
	KV               KVUse       `json:"kv"`
	PrefixCache      PrefixCache `json:"prefix_cache"`
	KVOffload        *KVOffload  `json:"kv_offload,omitempty"`
	Swap             *Swap       `json:"swap,omitempty"`
}

// BatchUse describes the steps: sequences in them, averaged over time (an idle engine runs none), and tokens.
type BatchUse struct {
	MeanRunning    float64 `json:"mean_running"`
	PeakRunning    int     `json:"peak_running"`
	MeanStepTokens float64 `json:"mean_step_tokens"`
}

// KVUse describes the KV pool of one engine; usage is the share of its blocks that sequences hold.
type KVUse struct {
	Blocks        int     `json:"blocks"`
	BlockSize     int     `json:"block_size"`
	BytesPerToken float64 `json:"bytes_per_token"`
	MeanUsage     float64 `json:"mean_usage"` // averaged over time
	PeakUsage     float64 `json:"peak_usage"`
}

// PrefixCache counts prompt tokens looked up in the prefix cache at first admissions, and those found.
type PrefixCache struct {
	QueriedTokens int64 `json:"queried_tokens"`
	HitTokens     int64 `json:"hit_tokens"`
}

// KVOffload is what a tier of host memory below the KV pool did: tokens at first admissions, bytes on all GPUs.
type KVOffload struct {
	QueriedTokens int64 `json:"queried_tokens"` // that the prefix cache lacked
	HitTokens     int64 `json:"hit_tokens"`     // of which the host had, or what lies below it
	LoadedBytes   int64 `json:"loaded_bytes"`   // to the GPUs, for preempted sequences, too
	StoredBytes   int64 `json:"stored_bytes"`   // to the host
	// Of a tier below the host's memory.
	FarHitTokens   int64 `json:"far_hit_tokens,omitempty"`   // of HitTokens: only the farther tier had them
	FarLoadedBytes int64 `json:"far_loaded_bytes,omitempty"` // from there
	FarStoredBytes int64 `json:"far_stored_bytes,omitempty"` // to there, because the host had no room for them any more
}

// Swap is what preemption by swapping moved, in bytes on all GPUs.
type Swap struct {
	OutBytes int64 `json:"out_bytes"`
	InBytes  int64 `json:"in_bytes"`
	Refused  int64 `json:"refused"` // preemptions that found the swap space full, and were recomputed
}

// GPU is what the accelerators did within Report.DurationS. Busy, MFU and MBU are shares of wall time, of peak arithmetic
// and of peak memory bandwidth; energy and power are of all GPUs together: MeanPowerW = EnergyJ / Report.DurationS.
type GPU struct {
	Count                   int     `json:"count"`
	Busy                    float64 `json:"busy"`
	MFU                     float64 `json:"mfu"`
	MBU                     float64 `json:"mbu"`
	MemoryPeakBytes         int64   `json:"memory_peak_bytes"` // of one GPU: weights, buffers and the KV blocks in use
	EnergyJ                 float64 `json:"energy_j"`
	MeanPowerW              float64 `json:"mean_power_w"`
	OutputTokensPerJoule    float64 `json:"output_tokens_per_joule"`
	OutputTokensPerSPerWatt float64 `json:"output_tokens_per_s_per_watt"`
}

// Attribution says where time went. Each part is a list of shares that sum to 1, or all zero when there is no time to
// split: TTFT when no measured request completed, TPOT when none of their answers has a second token, however many of one
// token there are. WallTime always sums to 1; a run of no duration was idle.
type Attribution struct {
	WallTime WallShares `json:"wall_time"`
	TTFT     TTFTShares `json:"ttft"`
	TPOT     TPOTShares `json:"tpot"`
}

// WallShares split a GPU's time over Report.DurationS.
type WallShares struct {
	Compute  float64 `json:"compute"`
	Weights  float64 `json:"weights"`
	KVRead   float64 `json:"kv_read"`
	Network  float64 `json:"network"`
	Overhead float64 `json:"overhead"`
	Idle     float64 `json:"idle"`
}

// TTFTShares split the mean time to first token of completed requests.
type TTFTShares struct {
	Frontend     float64 `json:"frontend"`     // on the way in, and the first token's way out
	Queue        float64 `json:"queue"`        // in the scheduler's queue, behind the steps in flight, and while steps left the request out
	Prefill      float64 `json:"prefill"`      // in its steps, had they held no other request's prefill tokens
	Interference float64 `json:"interference"` // what its steps took beyond that
	Transfer     float64 `json:"transfer"`     // of KV between engines, as far as it was waited for, and the hand-over
	Overhead     float64 `json:"overhead"`     // launches, ramps and the host in its steps
}

// TPOTShares split the mean time from first to last token of completed requests.
type TPOTShares struct {
	Compute      float64 `json:"compute"`
	Weights      float64 `json:"weights"`
	KVRead       float64 `json:"kv_read"`
	Network      float64 `json:"network"`
	Overhead     float64 `json:"overhead"`
	Interference float64 `json:"interference"` // what prefill tokens of others added to the steps
	Preemption   float64 `json:"preemption"`   // from the last token before losing the memory to the first one after
	Frontend     float64 `json:"frontend"`
}

// Verdict judges whether the load of the whole run could be sustained, by its waiting queue. Why names the requests that
// their clients aborted, and says so where none was accepted: a queue tells nothing then, and counts as stable.
type Verdict struct {
	State string `json:"state"` // Stable, Backlogged or Overloaded
	Why   string `json:"why"`
}

// States of a verdict.
const (
	Stable     = "stable"
	Backlogged = "backlogged" // a queue grew and drained
	Overloaded = "overloaded" // a queue was still growing when arrivals ended
)
