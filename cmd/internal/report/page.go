package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// stutter is the time per token, in milliseconds, above which a reader notices that the text comes in jerks.
const stutter = 100

// A section is a part of the page: a table under a title, facts, remarks.
type section struct {
	title   string
	table   *Table
	facts   []fact
	remarks []string
}

// empty reports whether there is nothing to show.
func (s section) empty() bool {
	return len(s.facts)+len(s.remarks) == 0 && (s.table == nil || len(s.table.Rows) == 0)
}

// A fact is a line with its subject in front.
type fact struct{ subject, text string }

func factf(subject, format string, args ...any) fact {
	return fact{subject, fmt.Sprintf(format, args...)}
}

// Page writes the result as a page for people: whether it worked, how long users waited, what the engine delivered, and
// where the time went.
func Page(w io.Writer, r *scenarios.Result) error {
	var page strings.Builder
	fmt.Fprintln(&page, heading(r))
	for _, s := range sections(r) {
		if s.empty() {
			continue
		}
		fmt.Fprintln(&page)
		if s.title != "" {
			fmt.Fprintln(&page, s.title)
		}
		if s.table != nil {
			if err := s.table.Text(&page); err != nil {
				return err
			}
		}
		for _, f := range s.facts {
			fmt.Fprintf(&page, "%-12s%s\n", f.subject, f.text)
		}
		for _, r := range s.remarks {
			fmt.Fprintln(&page, r)
		}
	}
	_, err := io.WriteString(w, trimLines(page.String()))
	return err
}

// Markdown writes the same page for a document or a pull request.
func Markdown(w io.Writer, r *scenarios.Result) error {
	var page strings.Builder
	fmt.Fprintf(&page, "### %s\n", heading(r))
	for _, s := range sections(r) {
		if s.empty() {
			continue
		}
		fmt.Fprintln(&page)
		if s.title != "" {
			fmt.Fprintf(&page, "**%s**\n\n", s.title)
		}
		if s.table != nil {
			if err := s.table.Markdown(&page); err != nil {
				return err
			}
			if len(s.remarks) > 0 {
				fmt.Fprintln(&page)
			}
		}
		for _, f := range s.facts {
			fmt.Fprintf(&page, "* **%s** %s\n", f.subject, f.text)
		}
		for _, r := range s.remarks {
			fmt.Fprintln(&page, "*", strings.TrimLeft(r, "* "))
		}
	}
	_, err := io.WriteString(w, trimLines(page.String()))
	return err
}

func sections(r *scenarios.Result) []section {
	m := &r.Report
	page := []section{
		outcome(r), latencyTable(m), classes(m), clients(m), throughput(m), whereTimeWent(m), disaggregation(m), engine(m), replicas(m), gpu(r),
	}
	if len(m.Rejections) > 0 {
		page = append(page, rejections(m))
	}
	if len(m.Warnings) > 0 {
		page = append(page, section{title: "warnings", remarks: indent(m.Warnings)})
	}
	return page
}

// heading says what was run on what.
func heading(r *scenarios.Result) string {
	p := r.Provenance
	return fmt.Sprintf("%s: %s (%s) on %s, %s, seed %d", r.Name, p.Model, p.WeightDtype, cards(r), p.EngineProfile, r.Seed)
}

// outcome tells what became of the requests, and the verdict.
func outcome(r *scenarios.Result) section {
	m := &r.Report
	parts := []string{count(m.Requests.Completed) + " completed"}
	for _, p := range []struct {
		n    int
		name string
	}{{m.Requests.Rejected, "rejected"}, {m.Requests.Aborted, "aborted"}, {m.Requests.Unfinished, "unfinished"}} {
		if p.n > 0 {
			parts = append(parts, count(p.n)+" "+p.name)
		}
	}
	what := strings.Join(parts, ", ")
	facts := []fact{factf("requests", "%s in %s: %s", count(m.Requests.Submitted), Span(m.DurationS*1e3), what)}
	if w := m.Warmup; w != nil {
		facts = []fact{
			factf("requests", "%s: %s", count(m.Requests.Submitted), what),
			factf("warm-up", "%s requests before %s are left out of the numbers; those of the %s after it cover %s",
				count(w.Submitted), Span(w.UntilS*1e3), count(w.Measured.Submitted), Span(w.DurationS*1e3)),
		}
	}
	facts = append(facts, fact{"verdict", m.Verdict.State + sentence(m.Verdict.Why)})
	if a := m.Goodput.Attainment; a != nil {
		facts = append(facts, factf("goodput", "%s good requests/s: %s kept %s", rate(value(m.Goodput.RequestsPerS)), percent(*a), targets(r)))
	}
	return section{facts: facts}
}

func sentence(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func value(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// targets lists each target with the share of requests that met it.
func targets(r *scenarios.Result) string {
	if ownTargets(r) {
		return "the targets of their class"
	}
	by := r.Report.Goodput.ByMetric
	var parts []string
	for _, t := range []struct {
		name string
		met  *float64
	}{{"ttft", by.TTFT}, {"tpot", by.TPOT}, {"itl", by.ITL}, {"e2el", by.E2EL}} {
		if t.met == nil {
			continue
		}
		target := strings.ToUpper(t.name)
		if limit, ok := r.Config.Get("slo." + t.name).(string); ok {
			target += " ≤ " + limit
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", target, percent(*t.met)))
	}
	return strings.Join(parts, ", ")
}

// latencyTable shows how long users waited.
func latencyTable(m *metrics.Report) section {
	overloaded := m.Verdict.State == metrics.Overloaded
	star := ""
	if overloaded {
		star = "*"
	}
	header := []string{"latency", "", "mean", "p50" + star, "p90" + star, "p95" + star, "p99" + star, "max" + star}
	extra := moreKeys(m)
	for _, key := range extra {
		header = append(header, key+star)
	}
	t := &Table{Header: header, Left: []int{0, 1}}
	for _, l := range []struct{ name, what string }{
		{"ttft", "first token"}, {"tpot", "each further token"}, {"itl", "between two tokens"}, {"e2el", "whole answer"}, {"queue", "waiting to be scheduled"},
	} {
		s := latencyOf(m, l.name)
		row := []string{label(l.name), l.what}
		for _, x := range []float64{s.Mean, s.P50, s.P90, s.P95, s.P99, s.Max} {
			row = append(row, spanOf(s, x))
		}
		for _, key := range extra {
			row = append(row, spanOf(s, s.More[key]))
		}
		t.Rows = append(t.Rows, row)
	}
	var remarks []string
	if overloaded {
		remarks = append(remarks, "* overloaded: the queue grows for as long as requests come, and these numbers with the length of the run")
	}
	if tpot := m.Latency.TPOT; tpot.Count > 0 && tpot.P50 > stutter {
		remarks = append(remarks, fmt.Sprintf("reading stutters: half of the answers take more than %d ms a token", stutter))
	} else if tpot.Count > 0 && tpot.P99 > stutter {
		remarks = append(remarks, fmt.Sprintf("reading stutters for some: the slowest answers take more than %d ms a token", stutter))
	}
	return section{table: t, remarks: remarks}
}

func label(metric string) string {
	if metric == "queue" {
		return metric
	}
	return strings.ToUpper(metric)
}

func spanOf(s *metrics.Stats, ms float64) string {
	if s.Count == 0 {
		return "-"
	}
	return Span(ms)
}

// moreKeys lists the further percentiles that were asked for, in the order of their size.
func moreKeys(m *metrics.Report) []string {
	return percentileKeys(m.Latency.TTFT.More, m.Latency.TPOT.More, m.Latency.ITL.More, m.Latency.E2EL.More)
}

func throughput(m *metrics.Report) section {
	t := m.Throughput
	facts := []fact{
		factf("throughput", "%s requests/s, %s input tokens/s, %s output tokens/s", rate(t.RequestsPerS), rate(t.InputTokensPerS), rate(t.OutputTokensPerS)),
	}
	if m.GPU.Count > 1 {
		facts = append(facts, factf("per GPU", "%s output tokens/s", rate(t.OutputTokensPerSPerGPU)))
	}
	if m.Latency.TPOT.Count > 0 {
		facts = append(facts, factf("one reader", "%s tokens/s: a token every %s", rate(t.OutputTokensPerSPerUser), Span(m.Latency.TPOT.Mean)))
	}
	return section{facts: facts}
}

func engine(m *metrics.Report) section {
	e := m.Engine
	facts := []fact{
		factf("batch", "%s sequences%s on average, %s at most; %s steps of %s tokens on average", rate(e.Batch.MeanRunning), several(m), count(e.Batch.PeakRunning), count(e.Steps), rate(e.Batch.MeanStepTokens)),
		factf("KV cache", "%s of %s blocks%s in use on average, %s at most (blocks of %d tokens, %s a token)",
			percent(e.KV.MeanUsage), blocks(m), several(m), percent(e.KV.PeakUsage), e.KV.BlockSize, size(e.KV.BytesPerToken)),
	}
	if m.Speculation != nil {
		facts = append(facts, speculationFact(m.Speculation))
	}
	if p := e.PrefixCache; p.HitTokens > 0 {
		facts = append(facts, factf("prefixes", "%s of %s prompt tokens found in the cache", percent(float64(p.HitTokens)/float64(p.QueriedTokens)), count(p.QueriedTokens)))
	}
	facts = append(facts, tiers(e.KVOffload)...)
	if s := e.Swap; s != nil {
		facts = append(facts, factf("swapped", "%s out, %s in", size(float64(s.OutBytes)), size(float64(s.InBytes))))
	}
	if e.Preemptions > 0 {
		facts = append(facts, factf("preemption", "%s times, %s tokens computed again", count(e.Preemptions), count(e.RecomputedTokens)))
	} else {
		facts = append(facts, fact{"preemption", "none"})
	}
	return section{facts: facts}
}

func gpu(r *scenarios.Result) section {
	m, p := &r.Report, r.Provenance
	g := m.GPU
	facts := []fact{
		factf("GPU", "busy %s, DRAM active %s (MBU), arithmetic %s (MFU), memory %s", percent(g.Busy), percent(g.MBU), percent(g.MFU), size(float64(g.MemoryPeakBytes))),
		factf("power", "%s W, %s output tokens/s/W", rate(g.MeanPowerW), rate(g.OutputTokensPerSPerWatt)),
	}
	if p.ErrorBandPct > 0 {
		facts = append(facts, fact{"accuracy", p.Accuracy()})
	}
	return section{facts: facts}
}

func rejections(m *metrics.Report) section {
	var remarks []string
	for _, r := range m.Rejections {
		remark := fmt.Sprintf("  %s × %s", count(r.Count), r.Reason)
		if r.Example != "" {
			remark += ", e.g. " + r.Example
		}
		remarks = append(remarks, remark)
	}
	return section{title: "rejected", remarks: remarks}
}

func indent(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "  " + l
	}
	return out
}
