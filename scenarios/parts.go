package scenarios

import (
	"maps"
	"slices"
	"strings"
)

// A part of a cluster is equal engines whose settings differ from the scenario's own: a group, or a pool that prefills or decodes.
type part struct {
	name     string
	path     string // under which its settings are written
	replicas int
	s        **Scenario // the scenario with the part's settings in place of its own
}

// parts are those of the cluster that differ.
func (s *Scenario) parts() (all []part) {
	for i := range s.Cluster.Groups {
		g := &s.Cluster.Groups[i]
		all = append(all, part{name: g.Name, path: groupPath(i), replicas: g.Replicas, s: &g.s})
	}
	for _, p := range s.Cluster.pools() {
		if p.s != nil {
			all = append(all, part{name: p.name, path: "cluster." + p.name, replicas: p.Replicas, s: &p.s})
		}
	}
	return all
}

// oneEngine returns a copy of the scenario without a cluster, for the settings of a part.
func (s *Scenario) oneEngine() *Scenario {
	one := *s
	one.set, one.Cluster = maps.Clone(s.set), Cluster{}
	one.forget("cluster")
	return &one
}

// forget makes nothing of a section explicit.
func (s *Scenario) forget(section string) {
	maps.DeleteFunc(s.set, func(path string, _ place) bool { return path == section || strings.HasPrefix(path, section+".") })
}

// within returns the mistakes of a part under the paths that its settings have there.
func (m Mistakes) within(path string) Mistakes {
	moved := slices.Clone(m)
	for i := range moved {
		moved[i].Path = join(path, strings.TrimPrefix(moved[i].Path, "hardware."))
	}
	return moved
}

// checkParts looks for what is wrong with the engines of the parts, once the scenario's own is known to be right.
func (s *Scenario) checkParts() Mistakes {
	var all Mistakes
	for _, p := range s.parts() {
		_, found := (*p.s).deploy(nil)
		all = append(all, found.within(p.path)...)
	}
	return all
}

// buildParts builds an engine of each part. The scenario keeps their resolved settings.
func (s *Scenario) buildParts(shared *Shared) ([]group, error) {
	var built []group
	var all Mistakes
	s.Cluster.Groups = slices.Clone(s.Cluster.Groups) // what was read stays as it is
	for _, p := range s.parts() {
		e, err := p.build(s, shared)
		found, ok := err.(Mistakes)
		switch {
		case ok:
			all = append(all, found...)
		case err != nil:
			return nil, err
		default:
			*p.s = e.Scenario
			built = append(built, group{name: p.name, replicas: p.replicas * e.Scenario.copies, engine: e})
		}
	}
	return built, all.err()
}

// build builds one of the engines of a part of base.
func (p *part) build(base *Scenario, shared *Shared) (*Experiment, error) {
	x, found := (*p.s).deploy(nil)
	if len(found) > 0 {
		return nil, found.within(p.path)
	}
	e, err := x.engine(shared)
	if found, ok := err.(Mistakes); ok {
		return nil, found.within(p.path)
	}
	if err != nil {
		return nil, err
	}
	e.Warnings = slices.Concat(x.notes, x.s.ownIdleWarnings(base))
	return e, nil
}

// join makes the engines of the parts part of the experiment, and tells what is remarkable about them alone. The report
// is no better known than the least known of its engines.
func (x *Experiment) join(groups []group) {
	x.groups = groups
	for i := range groups {
		if p := groups[i].engine.Provenance; p.ErrorBandPct > x.Provenance.ErrorBandPct {
			x.Provenance.ErrorBandPct, x.Provenance.basis, x.Provenance.unfitted = p.ErrorBandPct, p.basis, p.unfitted
			if x.Provenance.basis == "" {
				x.Provenance.basis = "those of the " + p.GPU + " are " + p.GPUStatus
			}
		}
		for _, w := range groups[i].engine.Warnings {
			if !slices.Contains(x.Warnings, w) {
				x.Warnings = append(x.Warnings, groups[i].name+": "+w)
			}
		}
	}
}
