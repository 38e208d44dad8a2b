package cluster

import "fmt"

// Error is a violated invariant of one replica.
type Error struct {
	Replica string
	Err     error
}

// Error names the replica.
func (e *Error) Error() string { return e.Replica + ": " + e.Err.Error() }

// Unwrap returns the engine's own error.
func (e *Error) Unwrap() error { return e.Err }

// failed returns why an engine stopped, or nil.
func failed(replicas []*Replica) error {
	for _, r := range replicas {
		if err := r.Engine.Err(); err != nil {
			return &Error{r.Name, err}
		}
	}
	return nil
}

// check verifies the invariants of the cluster itself.
//
//   - conservation of requests: what was sent is what the engines have taken
//   - conservation of charges: a replica without requests is charged with nothing
func (c *Cluster) check() error {
	var taken int64
	for _, r := range c.replicas {
		taken += r.Engine.Counts().Submitted + int64(r.coming)
		if r.Tokens < 0 || r.Tokens != 0 && r.Open() == 0 {
			return violated("conservation of charges", "%s has %d requests under way and is charged with %d tokens", r.Name, r.Open(), r.Tokens)
		}
	}
	if taken != c.sent {
		return violated("conservation of requests", "%d requests were sent, the engines have taken %d", c.sent, taken)
	}
	return nil
}

// check verifies the invariants of the cluster itself.
//
//   - conservation of charges: no engine is given back more than it was charged with
func (d *Disaggregated) check() error {
	for _, r := range d.Replicas() {
		if r.Tokens < 0 {
			return violated("conservation of charges", "%s is charged with %d tokens", r.Name, r.Tokens)
		}
	}
	for i, tokens := range d.roles.pending {
		if tokens < 0 {
			return violated("conservation of charges", "%d prompt tokens are under way at %s", tokens, d.prefill.replicas[i].Name)
		}
	}
	return nil
}

func violated(invariant, format string, args ...any) error {
	return fmt.Errorf("cluster: invariant %q is violated: %s", invariant, fmt.Sprintf(format, args...))
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
