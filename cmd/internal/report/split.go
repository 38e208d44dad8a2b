package report

import (
	"slices"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// classes shows how each class of requests fared.
func classes(m *metrics.Report) section {
	t := &Table{Header: []string{"class", "requests", "good", "TTFT p50", "p99", "TPOT p50", "p99", "E2EL p50", "p99"}, Left: []int{0}}
	for i := range m.Classes {
		c := &m.Classes[i]
		good := "-"
		if a := c.Goodput.Attainment; a != nil {
			good = percent(*a)
		}
		row := []string{c.Name, count(c.Requests.Submitted), good}
		for _, s := range []*metrics.Stats{&c.Latency.TTFT, &c.Latency.TPOT, &c.Latency.E2EL} {
			row = append(row, spanOf(s, s.P50), spanOf(s, s.P99))
		}
		t.Rows = append(t.Rows, row)
	}
	return section{table: t}
}

// shownClients is how many clients a page lists; all of the report's are in its JSON.
const shownClients = 8

// clients shows how evenly clients were served.
func clients(m *metrics.Report) section {
	c := m.Clients
	if c == nil {
		return section{}
	}
	t := &Table{Header: []string{"client", "requests", "completed", "input", "output", "TTFT mean", "E2EL mean"}}
	for _, one := range c.Served[:min(len(c.Served), shownClients)] {
		t.Rows = append(t.Rows, []string{
			count(int(one.Client)), count(one.Requests.Submitted), count(one.Requests.Completed),
			count(int(one.Tokens.Input)), count(int(one.Tokens.Output)), Span(one.MeanTTFT), Span(one.MeanE2EL),
		})
	}
	return section{table: t, facts: []fact{
		factf("fairness", "Jain's index over %s clients is %.3f of their speed, %.3f of the tokens that they received", count(c.Count), c.JainSpeed, c.JainService),
	}}
}

// ownTargets reports whether some class has targets of its own, so that none holds for all.
func ownTargets(r *scenarios.Result) bool {
	list, _ := r.Config.Get("workload.classes").([]scenarios.Map)
	return slices.ContainsFunc(list, func(m scenarios.Map) bool { return m.Get("slo") != nil })
}
