package report

import (
	"fmt"
	"strings"

	"github.com/servesim/servesim/sim/metrics"
)

// disaggregation tells what the engines that prefill and those that decode did for each other; nothing where there are none.
func disaggregation(m *metrics.Report) section {
	d := m.Disaggregation
	if d == nil {
		return section{}
	}
	facts := []fact{poolFact(m, "prefill"), poolFact(m, "decode")}
	shared := []string{count(d.Remote) + " requests by two engines"}
	for _, p := range []struct {
		n    int64
		what string
	}{{d.Local, "by a decoding engine alone"}, {d.Whole, "by a prefilling engine alone"}} {
		if p.n > 0 {
			shared = append(shared, count(p.n)+" "+p.what)
		}
	}
	if d.Borrowed > 0 {
		shared = append(shared, fmt.Sprintf("engines were borrowed %s times", count(d.Borrowed)))
	}
	facts = append(facts, fact{"shared", strings.Join(shared, ", ")}, fact{"KV sent", sent(d)})
	if d.Transfer.Expired+d.Transfer.Fallbacks > 0 {
		facts = append(facts, factf("lost", "%s leases expired, %s prompts computed again where they were decoded", count(d.Transfer.Expired), count(d.Transfer.Fallbacks)))
	}
	if d.TTFT.Total > 0 {
		facts = append(facts, fact{"TTFT", ttftParts(&d.TTFT)})
	}
	return section{title: "prefill and decode apart", facts: append(facts, fact{"", d.TTFTDefinition})}
}

// poolFact describes the engines of one kind, with the memory that each has.
func poolFact(m *metrics.Report, name string) fact {
	n, busy := 0, 0.0
	var one metrics.ReplicaUse
	for _, r := range m.Replicas {
		if strings.HasPrefix(r.Name, name+"-") {
			one = r
			busy += r.Busy
			n++
		}
	}
	gpu := one.GPU
	if one.GPUs > 1 {
		gpu = fmt.Sprintf("%d × %s", one.GPUs, gpu)
	}
	return factf(name, "%s on %s, %s KV blocks each, busy %s", engines(n), gpu, count(one.KV.Blocks), percent(busy/float64(max(n, 1))))
}

func sent(d *metrics.Disaggregation) string {
	t := &d.Transfer
	text := fmt.Sprintf("%s (%s): %s prompts, %s", d.Mode, d.Link, count(t.Count), size(float64(t.Bytes)))
	if t.Count > 0 {
		text += fmt.Sprintf("; from first byte to last %s on average, %s at p99", Span(t.Time.Mean), Span(t.Time.P99))
	}
	if t.SavedBytes > 0 {
		text += fmt.Sprintf("; %s were there already", size(float64(t.SavedBytes)))
	}
	return text
}

// ttftParts writes the parts of the mean time to first token as a sum.
func ttftParts(p *metrics.TTFTParts) string {
	var parts []string
	for _, x := range []struct {
		name string
		ms   float64
	}{
		{"frontend", p.Frontend},
		{"prefill queue", p.PrefillQueue},
		{"prefill", p.Prefill},
		{"hand-over", p.Handover},
		{"decode memory", p.DecodeMemory},
		{"transfer", p.Transfer},
		{"decode", p.Decode},
	} {
		if x.ms > 0 {
			parts = append(parts, x.name+" "+Span(x.ms))
		}
	}
	return Span(p.Total) + " = " + strings.Join(parts, " + ")
}

func engines(n int) string {
	if n == 1 {
		return "1 engine"
	}
	return count(n) + " engines"
}
