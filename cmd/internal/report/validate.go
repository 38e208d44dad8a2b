package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servesim/servesim/scenarios/measured"
)

// ValidationJSON writes a comparison with measured runs, indented. Its keys are stable.
func ValidationJSON(w io.Writer, r *measured.Report) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// Validation writes a comparison with measured runs as plain text: all of it, or only the summary.
func Validation(w io.Writer, r *measured.Report, summary bool) error {
	return inStyle{func(title string) string { return title + "\n" }, Table.Text}.validation(w, r, summary)
}

// ValidationMarkdown writes it as Markdown.
func ValidationMarkdown(w io.Writer, r *measured.Report, summary bool) error {
	return inStyle{func(title string) string { return "### " + title + "\n\n" }, Table.Markdown}.validation(w, r, summary)
}

// A titled table is one part of a report.
type titled struct {
	title string
	table Table
}

// shownParts lists the parts of a comparison. Its summary leaves out single rows, but for those that were not run.
func shownParts(r *measured.Report, summary bool) []titled {
	short := []titled{
		{"error of the predictions that are judged, percent of the measured value", summaryTable(r)},
		{"the same by part of the table: median / mean / p90 (signed median), percent", partsTable(r)},
	}
	skipped := titled{"not run", skipTable(r)}
	if summary {
		return append(short, skipped)
	}
	return append(short, []titled{
		{"row by row: measured → predicted, error in percent; in brackets: printed, not judged", rowsTable(r)},
		{"KV capacity as the engine reported it, tokens", capacityTable(r)},
		{"ratios of output tokens/s between rows that differ in one setting", ratioTable(r)},
		skipped,
	}...)
}

// inStyle is how headings and tables are written.
type inStyle struct {
	heading func(string) string
	render  func(Table, io.Writer) error
}

func (s inStyle) validation(w io.Writer, r *measured.Report, summary bool) error {
	for i, part := range shownParts(r, summary) {
		if len(part.table.Rows) == 0 {
			continue
		}
		gap := ""
		if i > 0 {
			gap = "\n"
		}
		if _, err := io.WriteString(w, gap+s.heading(part.title)); err != nil {
			return err
		}
		if err := s.render(part.table, w); err != nil {
			return err
		}
	}
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(w, "\nnote: %s\n", note); err != nil {
			return err
		}
	}
	return nil
}

// summaryTable has one row per metric.
func summaryTable(r *measured.Report) Table {
	t := Table{Header: []string{"metric", "n", "median", "mean", "p90", "signed median"}, Left: []int{0}}
	for _, metric := range metricsOf(r) {
		if s, ok := r.Summary[metric]; ok {
			t.Rows = append(t.Rows, []string{
				metric, strconv.Itoa(s.N), decimal1(s.MedianAbsPct), decimal1(s.MeanAbsPct), decimal1(s.P90AbsPct), signed1(s.MedianSignedPct),
			})
		}
	}
	return t
}

// metricsOf lists the metrics of a report in the order in which they first stand in it.
func metricsOf(r *measured.Report) []string {
	var names []string
	for _, m := range measured.Metrics() {
		if _, ok := r.Summary[m.String()]; ok {
			names = append(names, m.String())
		}
	}
	for _, c := range r.Rows {
		if !slices.Contains(names, c.Metric) {
			names = append(names, c.Metric)
		}
	}
	return names
}

// partsTable has one row per part, with the metrics that matter most.
func partsTable(r *measured.Report) Table {
	shown := []string{"e2el_mean", "e2el_p99", "ttft_mean", "ttft_p90", "ttft_p99", "tpot_mean"}
	t := Table{Header: append([]string{"part", "n"}, shown...), Left: []int{0}}
	for _, part := range slices.Sorted(maps.Keys(r.By)) {
		for _, value := range slices.Sorted(maps.Keys(r.By[part])) {
			of := r.By[part][value]
			most := 0
			for _, s := range of { // order does not matter: a maximum
				most = max(most, s.N)
			}
			row := []string{part + " " + value, strconv.Itoa(most)}
			for _, metric := range shown {
				cell := ""
				if s, ok := of[metric]; ok {
					cell = fmt.Sprintf("%s/%s/%s (%s)", decimal1(s.MedianAbsPct), decimal1(s.MeanAbsPct), decimal1(s.P90AbsPct), signed1(s.MedianSignedPct))
				}
				row = append(row, cell)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// rowsTable has one line per row of the measured table.
func rowsTable(r *measured.Report) Table {
	shown := metricsOf(r)
	if len(shown) > int(measured.RequestsPerS) {
		shown = slices.DeleteFunc(shown, func(m string) bool {
			return m == "ttft_p50" || m == "e2el_p50" || m == "e2el_p90" || m == "requests_per_s"
		})
	}
	t := Table{Header: append(append([]string{"row"}, shown...), "amplified by"), Left: []int{0}}
	at, last := map[string]int{}, len(shown)+1
	for _, c := range r.Rows {
		i, ok := at[c.ID]
		if !ok {
			i = len(t.Rows)
			at[c.ID] = i
			t.Rows = append(t.Rows, append([]string{c.ID}, make([]string, last)...))
		}
		if j := slices.Index(shown, c.Metric); j >= 0 {
			t.Rows[i][j+1] = comparisonCell(c)
		}
		if c.Amplification > 0 {
			t.Rows[i][last] = amplified(c.Amplification)
		}
	}
	return t
}

func amplified(x float64) string {
	if x >= 100 {
		return "past saturation"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func comparisonCell(c measured.Comparison) string {
	cell := fmt.Sprintf("%s → %s %s", figure(c.Metric, c.Measured), figure(c.Metric, c.Predicted), signed1(c.ErrorPct))
	if !c.Judged {
		return "(" + cell + ")"
	}
	return cell
}

// figure prints a value of a metric: a time, unless it is a rate.
func figure(metric string, v float64) string {
	if strings.HasSuffix(metric, "_per_s") {
		return rate(v)
	}
	return Span(v)
}

func capacityTable(r *measured.Report) Table {
	t := Table{Header: []string{"row", "measured", "planned", "error"}, Left: []int{0}}
	for _, c := range r.Capacity {
		t.Rows = append(t.Rows, []string{
			c.ID, count(int64(c.Measured)), count(int64(c.Predicted)), strconv.FormatFloat(c.ErrorPct, 'f', 2, 64) + "%",
		})
	}
	return t
}

func ratioTable(r *measured.Report) Table {
	t := Table{Header: []string{"row", "against", "changed", "measured", "predicted", "direction"}, Left: []int{0, 1, 2, 5}}
	for _, x := range r.Ratios {
		verdict := "right"
		if !x.Direction {
			verdict = "wrong"
		}
		t.Rows = append(t.Rows, []string{
			x.A, x.B, x.Changed, "×" + strconv.FormatFloat(x.Measured, 'f', 3, 64), "×" + strconv.FormatFloat(x.Predicted, 'f', 3, 64), verdict,
		})
	}
	return t
}

func skipTable(r *measured.Report) Table {
	t := Table{Header: []string{"row", "reason"}, Left: []int{0, 1}}
	for _, s := range r.Skipped {
		t.Rows = append(t.Rows, []string{s.ID, s.Reason})
	}
	return t
}

func decimal1(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func signed1(x float64) string { return fmt.Sprintf("%+.1f", x) }
