package scenarios

import (
	"fmt"
	"time"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
)

// Autoscale is a number of replicas that follows the load. Without a Max it is fixed.
type Autoscale struct {
	Min, Max                    int
	Metric                      string // queue, kv or ttft
	Target                      string // in the metric's own unit; "auto": as autoscaleMetrics has it
	Startup, Cooldown, Interval time.Duration
}

// autoscaleMetrics are what an autoscaler may look at.
var autoscaleMetrics = []struct {
	name    string
	measure cluster.Measure
	target  string // the default
	must    string // what a target is
	most    float64
}{
	{"queue", cluster.Queue, "5", "number of requests waiting per replica, such as 5", 1e6},
	{"kv", cluster.KV, "0.7", "share of the KV cache in use, such as 0.7", 1},
	{"ttft", cluster.TTFT, "500ms", "mean time to first token, such as 500ms", 1e6},
}

var autoscaleFields = []field{
	{path: "cluster.autoscale.min", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Min }, def: "1", limit: replicaCount, doc: "Fewest replicas; as many are there at the start."},
	{path: "cluster.autoscale.max", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Max }, limit: replicaCount, doc: "Most replicas; must be given."},
	{path: "cluster.autoscale.metric", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Metric }, def: "queue", choices: []string{"queue", "kv", "ttft"}, doc: "What is compared with the target, per replica: requests waiting, share of the KV cache in use, mean time to first token since the last look."},
	{path: "cluster.autoscale.target", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Target }, def: "auto", doc: "Above it replicas are started, in proportion; below half of it, for a cooldown, one is stopped. auto = 5 waiting, 0.7 of the cache, half of slo.ttft (500ms without one)."},
	{path: "cluster.autoscale.startup", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Startup }, def: "60s", limit: notNegative, doc: "From the decision to start a replica until it takes requests. Its GPUs are paid for meanwhile."},
	{path: "cluster.autoscale.cooldown", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Cooldown }, def: "60s", limit: notNegative, doc: "How long there must have been too little to do before a replica is stopped."},
	{path: "cluster.autoscale.interval", into: func(s *Scenario) any { return &s.Cluster.Autoscale.Interval }, def: "10s", limit: positive, doc: "Between two looks at the metric."},
}

// scales reports whether the number of replicas follows the load.
func (s *Scenario) scales() bool { return s.Cluster.Autoscale.Max > 0 }

// autoscale checks the section.
func (r *reader) autoscale() {
	a, c := &r.s.Cluster.Autoscale, &r.s.Cluster
	const section = "cluster.autoscale"
	switch {
	case a.Max == 0:
		for i := range autoscaleFields {
			if path := autoscaleFields[i].path; r.s.Explicit(path) {
				r.wrong(path, "needs %s.max, the most replicas", section)
				return
			}
		}
	case a.Max < a.Min:
		r.wrong(section+".max", "must be at least %s.min, %d, got %d", section, a.Min, a.Max)
	case len(c.Groups) > 0:
		r.wrong(section, "starts and stops equal replicas: leave out cluster.groups")
	case c.Replicas > 0:
		r.wrong("cluster.replicas", "has no meaning beside %s, which begins with its min", section)
	default:
		if _, err := a.scale(r.s.SLO.TTFT); err != nil {
			r.wrong(section+".target", "%v", err)
		}
	}
}

// scale returns the autoscaler as the cluster takes it. A mean time to first token of half the target of a good request, slo,
// leaves room for the slower ones; 0: there is no such target.
func (a *Autoscale) scale(slo time.Duration) (cluster.Autoscale, error) {
	out := cluster.Autoscale{Min: a.Min, Max: a.Max, Startup: a.Startup, Cooldown: a.Cooldown, Interval: a.Interval}
	for _, m := range autoscaleMetrics {
		if m.name != a.Metric {
			continue
		}
		text := a.Target
		if text == "auto" {
			text = m.target
		}
		v, err := parseNumber(text)
		if m.measure == cluster.TTFT {
			var d time.Duration
			d, err = ParseDuration(text)
			if slo > 0 && a.Target == "auto" {
				d = slo / 2
			}
			v = d.Seconds()
		}
		if err != nil || v <= 0 || v > m.most {
			return out, fmt.Errorf("must be a %s, got %s", m.must, a.Target)
		}
		out.Measure, out.Target = m.measure, v
	}
	return out, nil
}

// scale has the cluster start replicas like the experiment's own as the load asks for them.
func (f *fleet) scale(x *Experiment) {
	a, _ := x.Scenario.Cluster.Autoscale.scale(x.Scenario.SLO.TTFT)
	f.cluster.Scale(f.kernel, a, func() *cluster.Replica {
		r, err := f.replica(&group{name: "replica", engine: x}, len(f.replicas))
		if err != nil {
			panic("scenarios: a replica could be built, and another like it could not: " + err.Error())
		}
		f.replicas = append(f.replicas, r)
		return r
	})
}

// there tells the recorder since when and until when a replica was there.
func there(r *cluster.Replica) func() (from, to sim.Time) {
	return func() (sim.Time, sim.Time) { return r.From, r.To }
}
