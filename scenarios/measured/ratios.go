package measured

import (
	"math"

	"github.com/servesim/servesim/hardware"
)

// A Ratio compares two rows that differ in one setting only: what the setting did to the throughput, measured and
// predicted. It says more than either row where the settings that both share were not published.
type Ratio struct {
	A         string  `json:"a"` // the row with the setting changed …
	B         string  `json:"b"` // … relative to this one
	Changed   string  `json:"changed"`
	Metric    string  `json:"metric"`
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	Direction bool    `json:"direction_right"` // both faster, both slower, or both within 1 % of no change
}

// ratios pairs the rows whose numbers are reported only.
func ratios(all []ran) []Ratio {
	var found []Ratio
	for i := range all {
		for j := range all {
			changed := change(&all[i], &all[j])
			if changed == "" {
				continue
			}
			a, b := &all[i], &all[j]
			m := a.row.Measured[OutputTokensPerS] / b.row.Measured[OutputTokensPerS]
			p := a.result.Report.Throughput.OutputTokensPerS / b.result.Report.Throughput.OutputTokensPerS
			found = append(found, Ratio{
				A: a.row.ID, B: b.row.ID, Changed: changed, Metric: OutputTokensPerS.String(),
				Measured: m, Predicted: finite(p), Direction: direction(m) == direction(p),
			})
		}
	}
	return found
}

// direction tells faster, slower and much the same apart.
func direction(ratio float64) int {
	switch {
	case ratio > 1.01:
		return 1
	case ratio < 0.99:
		return -1
	}
	return 0
}

// change says in which one setting a differs from b, or "": asynchronous scheduling switched on, another token budget in
// place of the default, weights narrower than 16 bits.
func change(a, b *ran) string {
	x, y := a.row, b.row
	if x == y || x.Compare != "report" || y.Compare != "report" || a.device != b.device || !sameLoad(x, y) || x.TP != y.TP ||
		y.Measured[OutputTokensPerS] == 0 || x.Measured[OutputTokensPerS] == 0 {
		return ""
	}
	async, budget, format := "", "", ""
	if on, off := onOff(x.AsyncScheduling), onOff(y.AsyncScheduling); on != off {
		if on != "true" {
			return ""
		}
		async = "async_scheduling on"
	}
	if x.MaxNumBatchedTokens != y.MaxNumBatchedTokens {
		if x.MaxNumBatchedTokens == 0 || y.MaxNumBatchedTokens != 0 {
			return ""
		}
		budget = "max_num_batched_tokens " + whole(x.MaxNumBatchedTokens)
	}
	if x.WeightDtype != y.WeightDtype {
		if y.WeightDtype != "bfloat16" {
			return ""
		}
		format = "weights " + x.WeightDtype
	}
	switch {
	case budget == "" && format == "":
		return async
	case async == "" && format == "":
		return budget
	case async == "" && budget == "":
		return format
	}
	return ""
}

// sameLoad reports whether two rows put the same load on the same model. Answers that were not cut to a length differ a
// little from run to run.
func sameLoad(x, y *Row) bool {
	a, _, _, errA := hardware.FindModel(x.Model)
	b, _, _, errB := hardware.FindModel(y.Model)
	near := func(u, v float64) bool { return math.Abs(u-v) <= 0.03*v }
	return errA == nil && errB == nil && a.Name == b.Name && x.Arrival == y.Arrival && x.Requests == y.Requests &&
		x.Concurrency == y.Concurrency && x.RatePerS == y.RatePerS &&
		near(x.PromptTokens, y.PromptTokens) && near(x.OutputTokens, y.OutputTokens)
}
