package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// Cluster is several engines that share the load.
type Cluster struct {
	Replicas  int    // 0: one, or those of Groups
	Router    string // which engine a request goes to
	Hop       time.Duration
	Groups    []Group
	Autoscale Autoscale

	Prefill, Decode Pool // engines of their own for the two halves of the work
	Transfer        Transfer
	Remote          Remote
}

// A Group is replicas whose GPU or engine settings differ from the scenario's own.
type Group struct {
	Name     string // its replicas bear it with a number
	Replicas int

	given *node     // as it was written
	s     *Scenario // the scenario with the group's settings in place of its own
}

// replicaCount bounds how many engines one run holds: each takes memory of its own.
var replicaCount = limit{"be from 1 to 4096", func(v float64) bool { return v >= 1 && v <= mostReplicas }}

const mostReplicas = 4096

// grouped returns the number of replicas in groups.
func (s *Scenario) grouped() int {
	n := 0
	for i := range s.Cluster.Groups {
		n += s.Cluster.Groups[i].engines()
	}
	return n
}

// engines returns how many engines the group holds.
func (g *Group) engines() int {
	if g.s == nil {
		return g.Replicas
	}
	return g.Replicas * max(g.s.copies, 1)
}

// plain returns the number of engines that are as the scenario describes them.
func (s *Scenario) plain() int {
	if s.disaggregated() {
		return 0
	}
	n, copies := 0, max(s.copies, 1)
	for i := range s.Cluster.Groups {
		n += s.Cluster.Groups[i].Replicas
	}
	switch {
	case s.scales():
		return s.Cluster.Autoscale.Min * copies
	case s.Cluster.Replicas == 0 && n == 0:
		return copies
	}
	return max(s.Cluster.Replicas-n, 0) * copies
}

// several reports whether there is, or may be, more than one engine.
func (s *Scenario) several() bool {
	return s.scales() || s.plain()+s.grouped() > 1 || s.disaggregated()
}

// mixed reports whether there are engines of several profiles.
func (s *Scenario) mixed() bool {
	differs := func(other *Scenario) bool { return other != nil && other.Engine.Profile != s.Engine.Profile }
	for i := range s.Cluster.Groups {
		if differs(s.Cluster.Groups[i].s) {
			return true
		}
	}
	return differs(s.Cluster.Prefill.s) || differs(s.Cluster.Decode.s)
}

// groupKeys are the keys of one item of cluster.groups.
var groupKeys = []string{"name", "replicas", "gpu", "engine"}

// groupFields are those of them that hold a single value.
func groupFields(g *Group) []field {
	return []field{
		{path: "name", into: func(*Scenario) any { return &g.Name }, doc: "Its replicas bear it with a number."},
		{path: "replicas", into: func(*Scenario) any { return &g.Replicas }, def: "1", limit: replicaCount, doc: "How many."},
	}
}

// readGroups keeps what was written: it is read once the scenario that it changes is complete.
func readGroups(into *[]Group, n *node) error {
	if n.kind != list {
		return fmt.Errorf("must be a list of mappings {%s}, got %s", strings.Join(groupKeys, ", "), n.kind)
	}
	*into = make([]Group, len(n.items))
	for i, item := range n.items {
		(*into)[i] = Group{Replicas: 1, given: item}
	}
	return nil
}

// groups reads the groups on top of the scenario.
func (r *reader) groups() {
	c := &r.s.Cluster
	names := map[string]bool{"replica": true}
	for i := range c.Groups {
		g, path := &c.Groups[i], groupPath(i)
		r.group(g, path)
		if g.Name == "" {
			g.Name = fmt.Sprintf("group%d", i)
		}
		if names[g.Name] {
			r.mistakes.add(g.given.at, join(path, "name"), "%q is taken: give every group a name of its own", g.Name)
		}
		names[g.Name] = true
	}
	if n := r.s.grouped(); c.Replicas > 0 && c.Replicas < n {
		r.wrong("cluster.replicas", "must be at least %d, the replicas of the groups together, got %d", n, c.Replicas)
	} else if n > mostReplicas {
		r.wrong("cluster.groups", "must hold at most %d replicas together, got %d", mostReplicas, n)
	}
}

func groupPath(i int) string { return fmt.Sprintf("cluster.groups[%d]", i) }

// group reads one group: its engine settings over the scenario's, and its GPU in place of the scenario's.
func (r *reader) group(g *Group, path string) {
	own := r.s.oneEngine()
	g.s = own
	n := g.given
	if n.kind != mapping {
		r.fault(n, path, "must be a mapping {%s}, got %s", strings.Join(groupKeys, ", "), n.kind)
		return
	}
	table := groupFields(g)
	below := &reader{s: g.s}
	for _, e := range n.keys {
		switch e.key {
		case "gpu":
			if e.value.kind == scalar || e.value.find("name") != nil {
				own.Hardware.GPU = GPU{}
				own.forget("hardware.gpu")
			}
			below.section(e.value, "hardware.gpu")
		case "engine":
			below.section(e.value, "engine")
			own.serves(r.s)
		default:
			r.itemKey(table, e, path, groupKeys)
		}
	}
	r.mistakes = append(r.mistakes, below.mistakes.within(path)...)
}

// serves lets api_server_count take the place of the base scenario's frontend.api_servers where it is the engines' own.
func (s *Scenario) serves(base *Scenario) {
	if path := "engine.api_server_count"; s.set[path] != base.set[path] {
		delete(s.set, "frontend.api_servers")
	}
}

// shownGroups returns the groups as the configuration gives them: what differs from the scenario's own engine.
func (s *Scenario) shownGroups(groups []Group) []Map {
	list := make([]Map, len(groups))
	for i := range groups {
		g := &groups[i]
		m := Map{{"name", g.Name}, {"replicas", g.Replicas}}
		list[i] = g.s.differences(s, m)
	}
	return list
}

// differences adds to m the GPU and the engine settings in which s differs from base.
func (s *Scenario) differences(base *Scenario, m Map) Map {
	if s.Hardware.GPU != base.Hardware.GPU {
		m = append(m, Item{"gpu", s.section("hardware.gpu", func(*field) bool { return true })})
	}
	differs := func(f *field) bool {
		own, shown := s.shown(f)
		theirs, too := base.shown(f)
		return s.set[f.path] != base.set[f.path] || shown != too || fmt.Sprint(own) != fmt.Sprint(theirs)
	}
	if e, _ := s.section("engine", differs).(Map); len(e) > 0 {
		m = append(m, Item{"engine", e})
	}
	return m
}

// section returns those fields of a section that the configuration gives and that are wanted.
func (s *Scenario) section(path string, wanted func(*field) bool) any {
	var m Map
	for i := range fields {
		f := &fields[i]
		if f.into == nil || !strings.HasPrefix(f.path, path+".") || !wanted(f) {
			continue
		}
		if v, ok := s.shown(f); ok {
			m = m.put(f.path, v)
		}
	}
	return m.shorten("").Get(path)
}

// groupSchema describes one item of cluster.groups.
func groupSchema() Map {
	var keys Map
	table := groupFields(&Group{})
	for i := range table {
		keys = append(keys, Item{table[i].path, table[i].schema()})
	}
	keys = append(keys, Item{"gpu", sectionSchema(sectionAt("hardware.gpu"))}, Item{"engine", sectionSchema(sectionAt("engine"))})
	return Map{{"type", "object"}, {"properties", keys}, {"additionalProperties", false}}
}
