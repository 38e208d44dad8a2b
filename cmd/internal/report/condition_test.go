package report

import (
	"strings"
	"testing"

	"github.com/servesim/servesim/sim/metrics"
)

func sample() *metrics.Report {
	attained, perSecond := 0.9, 9.0
	r := &metrics.Report{DurationS: 100}
	r.Latency.TTFT = metrics.Stats{Count: 10, Mean: 40, P50: 35, P99: 500, Max: 600, More: map[string]float64{"p99.9": 590}}
	r.Goodput = metrics.Goodput{RequestsPerS: &perSecond, Attainment: &attained, ByMetric: metrics.ByMetric{TTFT: &attained}}
	r.Throughput.OutputTokensPerS = 1234.5
	r.Engine.KV.PeakUsage = 0.5
	r.Requests = metrics.Requests{Submitted: 12, Completed: 10, Rejected: 2}
	return r
}

func TestConditionsCompareWithUnits(t *testing.T) {
	for _, c := range []struct {
		text string
		met  bool
	}{
		{"ttft.p99 < 500ms", false},
		{"ttft.p99 <= 500ms", true},
		{"ttft.p99<=0.5s", true},
		{"ttft.p99 <= 500 ms", true},
		{"ttft.p99 <= 500000us", true},
		{"ttft < 41ms", true}, // the mean
		{"TTFT.median == 35ms", true},
		{"ttft.p99.9 < 600ms", true},
		{"ttft.p99.90 < 600ms", true},
		{"ttft.p100 == 600ms", true}, // the largest
		{"goodput >= 90%", true},
		{"goodput >= 95%", false},
		{"goodput >= 9", true}, // requests per second
		{"attainment >= 0.9", true},
		{"attainment.ttft > 95%", false},
		{"output_tokens_per_s > 1000", true},
		{"peak_kv_usage < 50%", false},
		{"rejected == 0", false},
		{"preemptions != 0", false},
		{"duration <= 1.7min", true},
		{"tpot.p99 < 1s", false}, // not measured
	} {
		condition, err := ParseCondition(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if err := condition.Check(sample()); (err == nil) != c.met {
			t.Errorf("%s: met is %t, want %t (%v)", c.text, err == nil, c.met, err)
		}
	}
}

func TestMissedConditionsShowWhatWasMeasured(t *testing.T) {
	for text, want := range map[string]string{
		"ttft.p99 < 400ms":  "ttft.p99 < 400 ms: measured 500 ms",
		"goodput >= 95%":    "attainment >= 95%: measured 90%",
		"completed >= 12":   "completed >= 12: measured 10",
		"tpot.p99 < 1s":     "tpot.p99 < 1.00 s: tpot.p99 was not measured: no completed request has it",
		"ttft.p99.99 < 1s":  "ttft.p99.99 < 1.00 s: ttft.p99.99 was not measured: no completed request has it",
		"prefix_hit_rate>1": "prefix_hit_rate > 100%: prefix_hit_rate was not measured",
	} {
		condition, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := condition.Check(sample()); got == nil || got.Error() != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
}

func TestMistakesInConditionsAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "want METRIC[.STAT] OP VALUE",
		"ttft.p99":                  "want METRIC[.STAT] OP VALUE",
		"ttft.p99 < ":               "want METRIC[.STAT] OP VALUE",
		"ttft.p99 =< 5ms":           "want METRIC[.STAT] OP VALUE",
		"ttft.p99 < 5":              "is a time: give it in us, ms, s or min",
		"ttft.p101 < 5ms":           "unknown statistic",
		"ttft.average < 5ms":        "allowed: mean, std, min",
		"latency < 5ms":             "unknown metric",
		"goodput >= 5ms":            "is a plain number",
		"attainment >= 9ms":         "give it in %",
		"attainment.queue >= 9%":    "unknown target",
		"preemptions.p99 < 3":       "is one number and has no statistic",
		"preemptions < many":        "is not a number",
		"output_tokens_per_s > NaN": "is not a number",
	} {
		_, err := ParseCondition(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want something with %q", text, err, want)
		}
	}
}

func TestEveryMetricHasAValue(t *testing.T) {
	for _, name := range MetricNames() {
		m, err := ParseMetric(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := m.Of(sample()).String(); got == "" {
			t.Errorf("%s prints as nothing", name)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{"ttft.p99 < 500ms", "goodput >= 95%", "a==b", "ttft.p99.9!=1us"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			return
		}
		if met := c.Check(sample()); met != nil && met.Error() == "" {
			t.Errorf("%q: a missed condition must say why", text)
		}
	})
}
