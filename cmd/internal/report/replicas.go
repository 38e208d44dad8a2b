package report

import (
	"fmt"
	"strings"

	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/sim/metrics"
)

// mostReplicas bounds how many replicas the page lists one by one; JSON has them all.
const mostReplicas = 16

// replicas shows the engines side by side, where there are several.
func replicas(m *metrics.Report) section {
	if len(m.Replicas) == 0 {
		return section{}
	}
	t := &Table{Header: []string{"replica", "GPU", "requests", "busy", "running", "peak", "KV blocks", "in use", "peak", "prefix hits"}, Left: []int{0, 1}}
	shown := m.Replicas[:min(len(m.Replicas), mostReplicas)]
	for i := range shown {
		r := &shown[i]
		t.Rows = append(t.Rows, []string{
			r.Name, times(r.GPUs, r.GPU), count(r.Requests), percent(r.Busy), rate(r.Batch.MeanRunning), count(r.Batch.PeakRunning),
			count(r.KV.Blocks), percent(r.KV.MeanUsage), percent(r.KV.PeakUsage), hits(r.PrefixCache),
		})
	}
	s := section{title: "replicas", table: t}
	if f := m.Fleet; f != nil && f.Started+f.Stopped > 0 {
		s.facts = append(s.facts, factf("autoscaling", " %s replicas on average, %s at most; %s started, %s stopped; %s GPU-hours",
			rate(f.MeanReplicas), count(f.PeakReplicas), count(f.Started), count(f.Stopped), rate(f.GPUHours)))
	}
	if more := len(m.Replicas) - len(shown); more > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("  and %d more, which --format json lists", more))
	}
	return s
}

func times(n int, what string) string {
	if n == 1 {
		return what
	}
	return fmt.Sprintf("%d × %s", n, what)
}

func hits(p metrics.PrefixCache) string {
	if p.QueriedTokens == 0 {
		return "-"
	}
	return percent(float64(p.HitTokens) / float64(p.QueriedTokens))
}

// cards names the GPUs of all engines, each kind with its number.
func cards(r *scenarios.Result) string {
	m := &r.Report
	var kinds []string
	n := make([]int, 0, 2)
	for i := range m.Replicas {
		one := &m.Replicas[i]
		at := 0
		for at < len(kinds) && kinds[at] != one.GPU {
			at++
		}
		if at == len(kinds) {
			kinds, n = append(kinds, one.GPU), append(n, 0)
		}
		n[at] += one.GPUs
	}
	if len(kinds) < 2 {
		return times(max(m.GPU.Count, 1), r.Provenance.GPU)
	}
	for i := range kinds {
		kinds[i] = fmt.Sprintf("%d × %s", n[i], kinds[i])
	}
	return strings.Join(kinds, " + ")
}

// several returns ` of each engine` where there is more than one.
func several(m *metrics.Report) string {
	if len(m.Replicas) > 1 {
		return " of each engine"
	}
	return ""
}

// blocks is the size of an engine's KV pool, or "the" where sizes differ.
func blocks(m *metrics.Report) string {
	for i := range m.Replicas {
		if m.Replicas[i].KV.Blocks != m.Engine.KV.Blocks {
			return "the"
		}
	}
	return count(m.Engine.KV.Blocks)
}
