package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servesim/servesim/sim/metrics"
)

// A Unit is the kind of number that a metric is.
type Unit uint8

const (
	Count        Unit = iota // a bare number: requests, tokens, steps, rates per second, watts
	Milliseconds             // a time
	Fraction                 // a share of 1, written as a percentage
)

// A Value is what a metric came to in a run.
type Value struct {
	Amount float64
	Unit   Unit
	Absent bool // nothing was measured: no request completed, or no target was set
}

// String prints the value in its unit.
func (v Value) String() string {
	switch {
	case v.Absent:
		return "not measured"
	case v.Unit == Milliseconds:
		return Span(v.Amount)
	case v.Unit == Fraction:
		return strconv.FormatFloat(v.Amount*100, 'g', 4, 64) + "%"
	}
	return strconv.FormatFloat(v.Amount, 'f', -1, 64)
}

// A Metric names one number of a report: METRIC or METRIC.STAT, as in "ttft.p99" or "output_tokens_per_s".
type Metric struct{ Name, Stat string }

// ParseMetric reads METRIC[.STAT]. A latency without a statistic means its mean.
func ParseMetric(text string) (Metric, error) {
	name, stat, dotted := strings.Cut(strings.ToLower(text), ".")
	m := Metric{name, stat}
	if latency(name) {
		if !dotted {
			m.Stat = "mean"
		}
		if p, ok := percentile(m.Stat); ok {
			m.Stat = "p" + Percentile(p) // p99.90 is p99.9
		}
		if !isStat(m.Stat) {
			return Metric{}, fmt.Errorf("unknown statistic %q of %s; allowed: %s, or any percentile such as p99.9", stat, name, strings.Join(stats(), ", "))
		}
		return m, nil
	}
	if name == "attainment" && dotted {
		if !slices.Contains([]string{"ttft", "tpot", "itl", "e2el"}, stat) {
			return Metric{}, fmt.Errorf("unknown target %q of attainment; allowed: ttft, tpot, itl, e2el", stat)
		}
		return m, nil
	}
	if !slices.ContainsFunc(scalars(), func(s scalar) bool { return s.name == name }) {
		return Metric{}, fmt.Errorf("unknown metric %q; allowed: %s", name, strings.Join(MetricNames(), ", "))
	}
	if dotted {
		return Metric{}, fmt.Errorf("%s is one number and has no statistic %q: write %s alone", name, stat, name)
	}
	return m, nil
}

// String returns the metric as it is written.
func (m Metric) String() string {
	if m.Stat == "" {
		return m.Name
	}
	return m.Name + "." + m.Stat
}

// Percentile returns the percentile that the metric asks for beyond those that every report holds, or false.
func (m Metric) Percentile() (float64, bool) {
	p, ok := percentile(m.Stat)
	return p, ok && p > 0 && p < 100 && !slices.Contains(stats(), m.Stat)
}

// Of returns the metric's value in a report.
func (m Metric) Of(r *metrics.Report) Value {
	if latency(m.Name) {
		return statOf(latencyOf(r, m.Name), m.Stat)
	}
	if m.Name == "attainment" && m.Stat != "" {
		return optional(targetOf(r, m.Stat), Fraction)
	}
	for _, s := range scalars() {
		if s.name == m.Name {
			return s.of(r)
		}
	}
	return Value{Absent: true}
}

// MetricNames lists the metrics that conditions may name.
func MetricNames() []string {
	names := latencies()
	for _, s := range scalars() {
		names = append(names, s.name)
	}
	return names
}

func latencies() []string { return []string{"ttft", "tpot", "itl", "e2el", "queue"} }

func latency(name string) bool { return slices.Contains(latencies(), name) }

func latencyOf(r *metrics.Report, name string) *metrics.Stats {
	switch name {
	case "ttft":
		return &r.Latency.TTFT
	case "tpot":
		return &r.Latency.TPOT
	case "itl":
		return &r.Latency.ITL
	case "e2el":
		return &r.Latency.E2EL
	}
	return &r.Latency.Queue
}

func targetOf(r *metrics.Report, name string) *float64 {
	switch name {
	case "ttft":
		return r.Goodput.ByMetric.TTFT
	case "tpot":
		return r.Goodput.ByMetric.TPOT
	case "itl":
		return r.Goodput.ByMetric.ITL
	}
	return r.Goodput.ByMetric.E2EL
}

func stats() []string {
	return []string{"mean", "std", "min", "p50", "p90", "p95", "p99", "max"}
}

func isStat(stat string) bool {
	_, ok := percentile(stat)
	return ok || slices.Contains(stats(), stat) || stat == "median"
}

// percentile reads "p99.9" as 99.9.
func percentile(stat string) (float64, bool) {
	digits, ok := strings.CutPrefix(stat, "p")
	p, err := strconv.ParseFloat(digits, 64)
	return p, ok && err == nil && p >= 0 && p <= 100
}

// statOf returns a statistic of a latency; percentiles beyond the usual ones are there if they were asked for.
func statOf(s *metrics.Stats, stat string) Value {
	switch stat {
	case "p0":
		stat = "min"
	case "p100":
		stat = "max"
	}
	amount, ok := s.Value(stat)
	return Value{Amount: amount, Unit: Milliseconds, Absent: s.Count == 0 || !ok}
}

func optional(x *float64, u Unit) Value {
	if x == nil {
		return Value{Unit: u, Absent: true}
	}
	return Value{Amount: *x, Unit: u}
}

// A scalar is a metric of one number.
type scalar struct {
	name string
	of   func(r *metrics.Report) Value
}

func scalars() []scalar {
	count := func(x float64) Value { return Value{Amount: x} }
	share := func(x float64) Value { return Value{Amount: x, Unit: Fraction} }
	return append([]scalar{
		{"goodput", func(r *metrics.Report) Value { return optional(r.Goodput.RequestsPerS, Count) }},
		{"attainment", func(r *metrics.Report) Value { return optional(r.Goodput.Attainment, Fraction) }},
		{"requests_per_s", func(r *metrics.Report) Value { return count(r.Throughput.RequestsPerS) }},
		{"input_tokens_per_s", func(r *metrics.Report) Value { return count(r.Throughput.InputTokensPerS) }},
		{"output_tokens_per_s", func(r *metrics.Report) Value { return count(r.Throughput.OutputTokensPerS) }},
		{"total_tokens_per_s", func(r *metrics.Report) Value { return count(r.Throughput.TotalTokensPerS) }},
		{"output_tokens_per_s_per_gpu", func(r *metrics.Report) Value { return count(r.Throughput.OutputTokensPerSPerGPU) }},
		{"output_tokens_per_s_per_user", func(r *metrics.Report) Value { return count(r.Throughput.OutputTokensPerSPerUser) }},
		{"output_tokens_per_s_per_watt", func(r *metrics.Report) Value { return count(r.GPU.OutputTokensPerSPerWatt) }},
		{"output_tokens_per_joule", func(r *metrics.Report) Value { return count(r.GPU.OutputTokensPerJoule) }},
		{"submitted", func(r *metrics.Report) Value { return count(float64(r.Requests.Submitted)) }},
		{"completed", func(r *metrics.Report) Value { return count(float64(r.Requests.Completed)) }},
		{"rejected", func(r *metrics.Report) Value { return count(float64(r.Requests.Rejected)) }},
		{"aborted", func(r *metrics.Report) Value { return count(float64(r.Requests.Aborted)) }},
		{"unfinished", func(r *metrics.Report) Value { return count(float64(r.Requests.Unfinished)) }},
		{"duration", func(r *metrics.Report) Value { return Value{Amount: r.DurationS * 1e3, Unit: Milliseconds} }},
		{"steps", func(r *metrics.Report) Value { return count(float64(r.Engine.Steps)) }},
		{"preemptions", func(r *metrics.Report) Value { return count(float64(r.Engine.Preemptions)) }},
		{"recomputed_tokens", func(r *metrics.Report) Value { return count(float64(r.Engine.RecomputedTokens)) }},
		{"mean_running", func(r *metrics.Report) Value { return count(r.Engine.Batch.MeanRunning) }},
		{"peak_running", func(r *metrics.Report) Value { return count(float64(r.Engine.Batch.PeakRunning)) }},
		{"mean_kv_usage", func(r *metrics.Report) Value { return share(r.Engine.KV.MeanUsage) }},
		{"peak_kv_usage", func(r *metrics.Report) Value { return share(r.Engine.KV.PeakUsage) }},
		{"prefix_hit_rate", hitRate},
		{"busy", func(r *metrics.Report) Value { return share(r.GPU.Busy) }},
		{"mfu", func(r *metrics.Report) Value { return share(r.GPU.MFU) }},
		{"mbu", func(r *metrics.Report) Value { return share(r.GPU.MBU) }},
		{"energy_j", func(r *metrics.Report) Value { return count(r.GPU.EnergyJ) }},
		{"mean_power_w", func(r *metrics.Report) Value { return count(r.GPU.MeanPowerW) }},
	}, draftScalars()...)
}

func hitRate(r *metrics.Report) Value {
	asked, hit := r.Engine.PrefixCache.QueriedTokens, r.Engine.PrefixCache.HitTokens
	if asked == 0 {
		return Value{Unit: Fraction, Absent: true}
	}
	return Value{Amount: float64(hit) / float64(asked), Unit: Fraction}
}
