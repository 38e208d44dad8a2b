package scenarios

import (
	"reflect"
	"sync"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim/workload"
)

// Shared holds what experiments may use together because it never changes: one cost model per distinct engine, and
// every trace read once. Its zero value is empty; several goroutines may build with it at once. What is shared does not
// show in the results.
type Shared struct {
	mu     sync.Mutex
	costs  []priced
	traces map[traceKey]*workload.Trace
}

// A priced engine.
type priced struct {
	deployment hardware.Deployment
	cost       *hardware.Roofline
}

// A traceKey is all that the reading of a trace depends on; the name as it was typed stands in its messages.
type traceKey struct{ name, path, format string }

// Build resolves the scenario like [Scenario.Build], with the parts that experiments built before have in common.
func (p *Shared) Build(s *Scenario) (*Experiment, error) { return s.build(p) }

// cost returns the cost model of d.
func (p *Shared) cost(d hardware.Deployment) (*hardware.Roofline, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.costs {
		if reflect.DeepEqual(p.costs[i].deployment, d) {
			return p.costs[i].cost, nil
		}
	}
	cost, err := hardware.NewRoofline(d)
	if err == nil {
		p.costs = append(p.costs, priced{d, cost})
	}
	return cost, err
}

// trace returns the trace that the scenario names.
func (p *Shared) trace(s *Scenario) (*workload.Trace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &s.Workload.Arrivals
	name := a.File
	if name != azureConversationName {
		a.File = s.resolvePath("workload.arrivals.file", name)
	}
	key := traceKey{name, a.File, a.Format}
	if t := p.traces[key]; t != nil {
		return t, nil
	}
	t, err := s.trace(name)
	if err == nil {
		if p.traces == nil {
			p.traces = make(map[traceKey]*workload.Trace)
		}
		p.traces[key] = t
	}
	return t, err
}

// WithSeed returns the same experiment with other draws.
func (x *Experiment) WithSeed(seed uint64) *Experiment {
	other, s := *x, *x.Scenario
	s.Seed = seed
	other.Scenario = &s
	return &other
}
