package measured

import (
	"math"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// A Report sets predictions beside measurements. Its JSON keys are stable.
type Report struct {
	Rows    []Comparison       `json:"rows"`
	Skipped []Skip             `json:"skipped"`
	Summary map[string]Summary `json:"summary"` // of what is judged, by metric
	// By holds the same for parts of the table: by gpu, model_class, engine_version and arrival, by cpu_offload_gib where KV was
	// offloaded, and of the built-in runs by whether constants of their version were fitted to the row, then by the value of
	// that, then by metric.
	By       map[string]map[string]map[string]Summary `json:"by"`
	Capacity []Comparison                             `json:"capacity"` // of the KV pool, where the engine reported it
	Ratios   []Ratio                                  `json:"ratios"`
	Notes    []string                                 `json:"notes"`
}

// A Comparison is one number of one row. Times are milliseconds, errors percent of the measured value: negative where
// the simulator is too fast, or the number too small.
type Comparison struct {
	ID        string  `json:"id"`
	Metric    string  `json:"metric"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	ErrorPct  float64 `json:"error_pct"`
	Judged    bool    `json:"judged"`
	Why       string  `json:"why,omitempty"` // not judged
	// Amplification is by what factor an error of the step time grows into one of the latency under this load; absent
	// where the load does not depend on the server.
	Amplification float64 `json:"error_amplification,omitempty"`
}

// A Skip is a row that was not run, or whose run cannot be compared.
type Skip struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func compare(id, metric string, measured, predicted float64) Comparison {
	return Comparison{
		ID: id, Metric: metric, Measured: measured, Predicted: predicted,
		ErrorPct: 100 * (predicted/measured - 1), Judged: true,
	}
}

// A builder collects a report row by row.
type builder struct {
	r        Report
	errors   map[string]*errorsBy // of the whole and of its parts
	ran      []ran
	embedded bool // the table is the built-in one
}

// A ran is a row that was run, for ratios.
type ran struct {
	row    *Row
	result *scenarios.Result
	device string
}

func newBuilder(embedded bool) *builder {
	return &builder{
		embedded: embedded,
		r:        Report{Rows: []Comparison{}, Skipped: []Skip{}, Capacity: []Comparison{}, Ratios: []Ratio{}, Notes: []string{}},
		errors:   make(map[string]*errorsBy),
	}
}

// add takes in one row.
func (b *builder) add(r *Row, o *outcome) {
	if o.skipped != "" {
		b.r.Skipped = append(b.r.Skipped, Skip{r.ID, o.skipped})
		return
	}
	published := false
	for _, m := range Metrics() {
		if r.Measured[m] == 0 {
			continue
		}
		published = true
		c := compare(r.ID, m.String(), r.Measured[m], predicted(&o.result.Report, m))
		c.Judged, c.Why = r.judged(m)
		if c.Judged {
			c.Why = ""
		}
		if m != OutputTokensPerS && m != RequestsPerS {
			c.Amplification = o.amplification
		}
		b.compared(c, r, o.device)
	}
	if !published {
		b.r.Skipped = append(b.r.Skipped, Skip{r.ID, "nothing was measured: the columns " + TTFTMean.column() + " to " + RequestsPerS.column() + " are blank"})
		return
	}
	if r.KVCacheTokens > 0 {
		b.r.Capacity = append(b.r.Capacity, compare(r.ID, "kv_cache_tokens", float64(r.KVCacheTokens), float64(o.planned)))
	}
	b.ran = append(b.ran, ran{r, o.result, o.device})
}

// compared takes in one number.
func (b *builder) compared(c Comparison, r *Row, device string) {
	b.r.Rows = append(b.r.Rows, c)
	if !c.Judged {
		return
	}
	b.count("", "", c)
	b.count("gpu", device, c)
	b.count(classColumn, r.Class(), c)
	b.count("engine_version", r.EngineVersion, c)
	b.count("arrival", r.Arrival, c)
	if r.CPUOffloadGiB > 0 {
		b.count("cpu_offload_gib", decimal(r.CPUOffloadGiB), c)
	}
	b.countFit(r, c)
}

// predicted returns the simulated value of a metric. The mean time per token is over requests; where all answers have the same
// length it is (mean E2E − mean TTFT)/(output − 1), as tables that give only the means have it.
func predicted(r *metrics.Report, m Metric) float64 {
	ttft, e2el := &r.Latency.TTFT, &r.Latency.E2EL
	return [numMetrics]float64{
		ttft.Mean, ttft.P50, ttft.P90, ttft.P99, r.Latency.TPOT.Mean, e2el.Mean, e2el.P50, e2el.P90, e2el.P99,
		r.Throughput.OutputTokensPerS, r.Throughput.RequestsPerS,
	}[m]
}

// report closes the books.
func (b *builder) report() *Report {
	b.r.Summary = map[string]Summary{}
	b.r.By = map[string]map[string]map[string]Summary{}
	for _, e := range b.errors { // order does not matter: each fills its own keys
		if e.part == "" {
			b.r.Summary = e.summaries()
			continue
		}
		if b.r.By[e.part] == nil {
			b.r.By[e.part] = map[string]map[string]Summary{}
		}
		b.r.By[e.part][e.value] = e.summaries()
	}
	b.r.Ratios = append(b.r.Ratios, ratios(b.ran)...)
	return &b.r
}

// finite keeps infinities and NaN out of JSON.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
