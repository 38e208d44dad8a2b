package measured

import (
	"strings"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scenarios"
)

// A Row is one measured run: everything needed to run it again, and what was measured. Zero numbers and empty texts are
// blank cells, which leave the setting to the engine's version; the switches are "" then.
type Row struct {
	ID, Group string // rows of one group ran on one server, in the order of Phase
	Phase     int
	Source    string
	Notes     string
	Compare   string // "all", "throughput" or "report": what of it is judged

	Engine, EngineVersion, Model, WeightDtype, KVCacheDtype, GPU string
	TP, PP, DP, EP                                               int

	MaxModelLen, MaxNumSeqs, MaxNumBatchedTokens, BlockSize int
	GPUMemoryUtilization                                    float64
	KVCacheTokens                                           int // as the engine reported it
	PrefixCaching, ChunkedPrefill, AsyncScheduling          string
	CPUOffloadGiB                                           float64 // KV offloaded to host memory

	Arrival               string // "poisson-n", "poisson", "constant", "burst" or "closed"
	RatePerS              float64
	Requests, Concurrency int

	PromptTokens, OutputTokens                  float64 // means
	PromptRange, OutputRange                    string  // of uniform lengths: a share of the stated one, or "0.8..1"
	Lengths                                     string  // "fixed", "uniform" or "sharegpt"
	PrefixGroups, PrefixTokens, DistinctPrompts int

	Measured [numMetrics]float64 // by Metric; 0: not published

	line  int
	cells map[string]string // as they stand in the table, by column
}

// A Metric is one of the numbers that are compared.
type Metric int

// The metrics, in the order in which they are reported; times are milliseconds.
const (
	TTFTMean Metric = iota
	TTFTP50
	TTFTP90
	TTFTP99
	TPOTMean
	E2ELMean
	E2ELP50
	E2ELP90
	E2ELP99
	OutputTokensPerS
	RequestsPerS
	numMetrics = iota
)

// metricNames are the names of the metrics, and of their columns where these have no unit behind them.
var metricNames = [numMetrics]string{
	"ttft_mean", "ttft_p50", "ttft_p90", "ttft_p99", "tpot_mean", "e2el_mean", "e2el_p50", "e2el_p90", "e2el_p99",
	"output_tokens_per_s", "requests_per_s",
}

// Metrics returns all metrics in order.
func Metrics() []Metric {
	all := make([]Metric, numMetrics)
	for i := range all {
		all[i] = Metric(i)
	}
	return all
}

// String returns the metric's name.
func (m Metric) String() string { return metricNames[m] }

// column returns the column of the table that holds the metric.
func (m Metric) column() string {
	if m == OutputTokensPerS || m == RequestsPerS {
		return metricNames[m]
	}
	return metricNames[m] + "_ms"
}

// Value returns the cell of a column as it stands in the table; of the column model_class, "dense" or "moe".
func (r *Row) Value(column string) string {
	if column == classColumn {
		return r.Class()
	}
	return r.cells[column]
}

const classColumn = "model_class"

// Class says whether the model has experts: "moe" or "dense"; "unknown" where the model is.
func (r *Row) Class() string {
	m, _, _, err := hardware.FindModel(r.Model)
	switch {
	case err != nil:
		return "unknown"
	case m.MoE.Experts > 0:
		return "moe"
	}
	return "dense"
}

// patience returns how long the client waited for an answer, which the notes tell of runs in which it gave up, as
// "client gave up after 300 s"; "" where they do not.
func (r *Row) patience() string {
	_, after, _ := strings.Cut(r.Notes, "gave up after ")
	words := strings.Fields(after)
	if len(words) < 2 {
		return ""
	}
	span := words[0] + strings.TrimRight(words[1], ".,;)")
	if d, err := scenarios.ParseDuration(span); err != nil || d <= 0 {
		return ""
	}
	return span
}

// open reports whether requests come whether or not the server keeps up.
func (r *Row) open() bool { return r.Arrival != "closed" && r.Arrival != "burst" }

// judged reports whether the row's value of a metric counts; if it does not, why.
//
// The first phase of a group in an open loop meets a server that has served nothing: its slowest first tokens measure the
// compilation of kernels and the first prefill of each prompt; with experts, whose kernels are compiled for each
// batch size, all of its first tokens and its slowest answers do. None of that is modelled.
func (r *Row) judged(m Metric) (bool, string) {
	cold := r.Phase == 0 && r.open()
	switch {
	case r.Compare == "report":
		return false, "published settings are incomplete"
	case r.Compare == "throughput":
		return m == TPOTMean || m == OutputTokensPerS, "latency is that of the client's queue"
	case cold && m == TTFTP99:
		return false, "first phase: the slowest first tokens are those of a cold server"
	case cold && r.Class() == "moe" && (m <= TTFTP99 || m == E2ELP99):
		return false, "first phase: the kernels of the experts are being compiled"
	}
	return true, ""
}
