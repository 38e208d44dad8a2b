package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/servesim/servesim/sim/metrics"
)

// A Condition is a demand on a result: METRIC[.STAT] OP VALUE, as in "ttft.p99 < 500ms", "goodput >= 95%" or
// "output_tokens_per_s > 1000".
type Condition struct {
	Metric Metric
	Op     string // one of < <= > >= == !=
	Limit  Value
}

// ParseCondition reads a condition. Times need a unit (us, ms, s, min); shares are percentages or fractions of 1; all
// else is a bare number. Goodput against a percentage means the attainment: the share of requests that kept every
// target.
func ParseCondition(text string) (Condition, error) {
	parts := regexp.MustCompile(`^\s*([^\s<>=!]+)\s*(<=|>=|==|!=|<|>)\s*([^\s<>=!]+(?: ?[a-zµ%]+)?)\s*$`).FindStringSubmatch(text)
	if parts == nil {
		return Condition{}, fmt.Errorf("%q: want METRIC[.STAT] OP VALUE with OP one of < <= > >= == !=, e.g. ttft.p99 < 500ms", text)
	}
	m, err := ParseMetric(parts[1])
	if err != nil {
		return Condition{}, fmt.Errorf("%q: %w", text, err)
	}
	if m.Name == "goodput" && strings.HasSuffix(parts[3], "%") {
		m.Name = "attainment"
	}
	limit, err := parseLimit(m, strings.ReplaceAll(parts[3], " ", ""))
	if err != nil {
		return Condition{}, fmt.Errorf("%q: %w", text, err)
	}
	return Condition{m, parts[2], limit}, nil
}

// String returns the condition as it is written.
func (c Condition) String() string {
	return fmt.Sprintf("%s %s %s", c.Metric, c.Op, c.Limit)
}

// Check returns nil if the report meets the condition, and an error with the measured value if not. What was not
// measured meets nothing.
func (c Condition) Check(r *metrics.Report) error {
	got := c.Metric.Of(r)
	if got.Absent {
		return fmt.Errorf("%s: %s %s", c, c.Metric, why(c.Metric))
	}
	if compare(got.Amount, c.Op, c.Limit.Amount) {
		return nil
	}
	return fmt.Errorf("%s: measured %s", c, got)
}

// why says what a metric lacks to have a value.
func why(m Metric) string {
	switch {
	case m.Name == "goodput" || m.Name == "attainment":
		return "was not measured: set targets with --goodput, or slo in the scenario"
	case latency(m.Name):
		return "was not measured: no completed request has it"
	}
	return "was not measured"
}

func compare(got float64, op string, limit float64) bool {
	switch op {
	case "<":
		return got < limit
	case "<=":
		return got <= limit
	case ">":
		return got > limit
	case ">=":
		return got >= limit
	case "==":
		return got == limit
	}
	return got != limit
}

// parseLimit reads a value in the unit that the metric needs.
func parseLimit(m Metric, text string) (Value, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzµ%")
	unit := text[len(number):]
	amount, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(amount) || math.IsInf(amount, 0) {
		return Value{}, fmt.Errorf("%q is not a number with a unit", text)
	}
	want := m.unit()
	factors := map[Unit]map[string]float64{
		Milliseconds: {"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3, "min": 60e3},
		Fraction:     {"%": 1e-2, "": 1},
		Count:        {"": 1},
	}
	factor, ok := factors[want][unit]
	if !ok {
		return Value{}, fmt.Errorf("%s %s, got %q", m, want.needs(), text)
	}
	return Value{Amount: amount * factor, Unit: want}, nil
}

func (m Metric) unit() Unit {
	switch {
	case latency(m.Name):
		return Milliseconds
	case m.Name == "attainment":
		return Fraction
	}
	return m.Of(&metrics.Report{}).Unit
}

func (u Unit) needs() string {
	switch u {
	case Milliseconds:
		return "is a time: give it in us, ms, s or min"
	case Fraction:
		return "is a share: give it in % or as a fraction of 1"
	}
	return "is a plain number: give it without a unit"
}
