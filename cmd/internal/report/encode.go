package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/servesim/servesim/scenarios"
)

// JSON writes the whole result, indented. Its keys are stable.
func JSON(w io.Writer, r *scenarios.Result) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// CSV writes a header and one row, so that the rows of many runs can be put under one header. Times are milliseconds;
// what was not measured is an empty cell.
func CSV(w io.Writer, r *scenarios.Result) error {
	header := []string{"scenario", "seed", "version", "model", "weight_dtype", "gpu", "gpus", "engine_profile", "verdict"}
	row := []string{
		r.Name, strconv.FormatUint(r.Seed, 10), r.Version, r.Provenance.Model, r.Provenance.WeightDtype, r.Provenance.GPU,
		strconv.Itoa(r.Report.GPU.Count), r.Provenance.EngineProfile, r.Report.Verdict.State,
	}
	for _, name := range latencies() {
		for _, stat := range stats() {
			header = append(header, name+"_"+stat+"_ms")
			row = append(row, cell(statOf(latencyOf(&r.Report, name), stat)))
		}
	}
	columns := scalars()
	if r.Report.Speculation == nil {
		columns = columns[:len(columns)-len(draftScalars())] // as if there were no such thing
	}
	for _, s := range columns {
		v := s.of(&r.Report)
		name := s.name
		if v.Unit == Milliseconds {
			name += "_ms"
		}
		header = append(header, name)
		row = append(row, cell(v))
	}
	out := csv.NewWriter(w)
	if err := out.WriteAll([][]string{header, row}); err != nil {
		return err
	}
	return out.Error()
}

func cell(v Value) string {
	if v.Absent {
		return ""
	}
	return strconv.FormatFloat(v.Amount, 'g', -1, 64)
}

// percentileKeys collects the names of percentiles ("p99.9") in the order of their size.
func percentileKeys(all ...map[string]float64) []string {
	var keys []string
	for _, m := range all {
		for key := range m { // order does not matter: sorted below
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, _ := percentile(a)
		y, _ := percentile(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(keys)
}
