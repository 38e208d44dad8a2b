package cluster

import "fmt"

// check verifies the invariants of the cluster itself.
//
//   - conservation of charges: no engine is given back more than it was charged with
func (d *Disaggregated) check() error {
	for _, in := range []*pool{&d.prefill, &d.decode} {
		for i, r := range in.replicas {
			if r.Tokens < 0 {
				return fmt.Errorf("cluster: invariant %q is violated: %s is charged with %d tokens", "conservation of charges", r.Name, r.Tokens)
			}
			if in == &d.prefill && d.roles.pending[i] < 0 {
				return fmt.Errorf("cluster: invariant %q is violated: %d prompt tokens are under way at %s", "conservation of charges", d.roles.pending[i], r.Name)
			}
		}
	}
	return nil
}

// AtRest reports whether nothing is under way: no request, no transfer, no KV kept for anybody. Otherwise it says what is.
func (d *Disaggregated) AtRest() error {
	for _, r := range d.Replicas() {
		if n, u := r.Engine.Holds(), r.Cache.Usage(); n > 0 || u.Held > 0 || r.Open() > 0 {
			return fmt.Errorf("cluster: %s still has %d requests, %d blocks in use and %d lives on hold", r.Name, r.Open(), u.Held, n)
		}
	}
	if n := len(d.fabric.active); n > 0 {
		return fmt.Errorf("cluster: %d transfers are still under way", n)
	}
	return nil
}
