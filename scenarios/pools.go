package scenarios

import (
	"reflect"
	"slices"
	"strings"
)

// A Pool is engines that do one half of the work: they compute prompts, or they decode.
type Pool struct {
	Replicas int    // 0: there is no such pool
	Router   string // which of them a request goes to; "": as Cluster.Router says

	given *Scenario // what was written of gpu and engine, in the places that a scenario has for them
	s     *Scenario // the scenario with that in place of its own
}

// pools are the two pools under the names that their replicas bear.
func (c *Cluster) pools() []struct {
	name string
	*Pool
} {
	return []struct {
		name string
		*Pool
	}{{"prefill", &c.Prefill}, {"decode", &c.Decode}}
}

// disaggregated reports whether prefill and decode have engines of their own.
func (s *Scenario) disaggregated() bool {
	return s.Cluster.Prefill.Replicas > 0 && s.Cluster.Decode.Replicas > 0
}

// own returns where the settings of a pool are written.
func (p *Pool) own() *Scenario {
	if p.given == nil {
		p.given = new(Scenario)
	}
	return p.given
}

// poolFields are the keys of a pool: its size, and every key of hardware.gpu and engine, which take the place of the
// scenario's own.
func poolFields(path string, pool func(*Scenario) *Pool) []field {
	list := []field{
		{path: join(path, "replicas"), into: func(s *Scenario) any { return &pool(s).Replicas }, limit: limit{"be from 0 to 4096", func(v float64) bool { return v >= 0 && v <= mostReplicas }}, doc: "How many; 1 if the pool is mentioned, and where the other pool is."},
		{path: join(path, "router"), into: func(s *Scenario) any { return &pool(s).Router }, choices: routerNames(), doc: "Which of them a request goes to; left out: as cluster.router says."},
	}
	for _, base := range slices.Concat(hardwareFields, engineFields()) {
		key := strings.TrimPrefix(base.path, "hardware.")
		if base.into == nil || !strings.HasPrefix(key, "gpu.") && !strings.HasPrefix(key, "engine.") {
			continue
		}
		f := base
		f.path, f.def, f.base, f.pool = join(path, key), "", base.path, pool
		f.into = func(s *Scenario) any { return base.into(pool(s).own()) }
		list = append(list, f)
	}
	return list
}

// poolSections are the sections in which they stand.
func poolSections(path, what string) []section {
	list := []section{{path: path, none: true, doc: "Engines that only " + what + "; what is left out is as in hardware.gpu and engine."}}
	for _, sec := range oneEngine {
		switch {
		case sec.path == "hardware.gpu":
			sec.doc = "Their GPU, in place of hardware.gpu."
		case sec.path == "engine":
			sec.doc = "Their settings, in place of those in engine."
		case !strings.HasPrefix(sec.path, "engine."):
			continue
		}
		sec.path = join(path, strings.TrimPrefix(sec.path, "hardware."))
		list = append(list, sec)
	}
	return list
}

// pools reads the pools on top of the scenario.
func (r *reader) pools() {
	s, c := r.s, &r.s.Cluster
	if s.Scheduler.Name == "disaggregated" {
		r.halve()
	}
	mentioned := false
	for _, p := range c.pools() {
		path := "cluster." + p.name
		says := slices.ContainsFunc(fields, func(f field) bool { return strings.HasPrefix(f.path, path+".") && s.Explicit(f.path) })
		if says && !s.Explicit(join(path, "replicas")) {
			p.Replicas = max(p.Replicas, 1)
		}
		mentioned = mentioned || p.Replicas > 0
	}
	if !mentioned {
		return
	}
	for _, p := range c.pools() {
		path := join("cluster."+p.name, "replicas")
		if p.Replicas == 0 && s.Explicit(path) {
			r.wrong(path, "must be at least 1 where there are engines of the other kind, got 0")
		}
		p.Replicas = max(p.Replicas, 1)
		p.s = s.with(p.Pool)
		if p.s.speculates() {
			r.wrong("engine.speculative_config", "is not supported where prefill and decode have engines of their own")
		}
		if p.s.Engine.DataParallelSize > 1 {
			r.wrong("engine.data_parallel_size", "is not supported where prefill and decode have engines of their own: give cluster.prefill or cluster.decode more replicas")
		}
		if own, _ := FindProfile(p.s.Engine.Profile); s.Scheduler.Name == "" && own.Scheduler != "chunked" {
			r.wrong("scheduler", "must be chunked where prefill and decode have engines of their own, got %s, which is that of %s: name it, or choose another profile for cluster.%s", own.Scheduler, own.Name, p.name)
		}
	}
	if name := s.Scheduler.Name; name != "" && name != "chunked" {
		r.wrong("scheduler", "must be chunked where prefill and decode have engines of their own, got %s", name)
	}
	if s.scales() {
		r.wrong("cluster.autoscale", "does not go together with engines that only prefill or decode: their numbers are fixed")
	}
	if len(c.Groups) > 0 {
		r.wrong("cluster.groups", "does not go together with engines that only prefill or decode: give those settings of their own")
	}
}

// halve makes two pools of the replicas, as near half and half as they allow, the larger one for decoding.
func (r *reader) halve() {
	s, c := r.s, &r.s.Cluster
	s.Scheduler.Name = "chunked"
	n := max(c.Replicas, 2)
	c.Replicas = 0
	delete(s.set, "cluster.replicas")
	for i, p := range c.pools() {
		if p.Replicas == 0 {
			p.Replicas = (n + i) / 2
		}
	}
}

// with returns the scenario with a pool's settings in place of its own.
func (s *Scenario) with(p *Pool) *Scenario {
	own := s.oneEngine()
	for i := range fields {
		f := &fields[i]
		if f.pool == nil || f.pool(s) != p || !s.Explicit(f.path) {
			continue
		}
		if f.base == "hardware.gpu.name" { // another card: nothing of the scenario's own is left
			own.Hardware.GPU = GPU{}
			own.forget("hardware.gpu")
		}
		base := fieldAt(f.base)
		reflect.ValueOf(base.into(own)).Elem().Set(reflect.ValueOf(f.into(s)).Elem())
		own.set[f.base] = s.set[f.path]
	}
	own.serves(s)
	return own
}

// shownBy returns a pool's value of a field where it differs from the scenario's own.
func (p *Pool) shownBy(base *field, s *Scenario) (any, bool) {
	if p.s == nil {
		return nil, false
	}
	v, ok := p.s.shown(base)
	if !ok {
		return nil, false
	}
	if strings.HasPrefix(base.path, "hardware.gpu.") {
		return v, p.s.Hardware.GPU != s.Hardware.GPU
	}
	same := p.s.set[base.path] == s.set[base.path]
	return v, !same || base.differ(p.s, s)
}

// differ reports whether two scenarios have different values of a field.
func (f *field) differ(a, b *Scenario) bool { return !reflect.DeepEqual(f.into(a), f.into(b)) }
