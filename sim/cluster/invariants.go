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

// check verifies the invariants of the cluster itself.
//
//   - conservation of requests: what was sent is what the engines have taken
//   - conservation of charges: a replica without requests is charged with nothing
func (c *Cluster) check() error {
	var taken int64
	for _, r := range c.replicas {
		taken += r.Engine.Counts().Submitted + int64(r.coming)
		if r.Tokens < 0 || r.Tokens != 0 && r.Open() == 0 {
			return fmt.Errorf("cluster: invariant %q is violated: %s has %d requests under way and is charged with %d tokens", "conservation of charges", r.Name, r.Open(), r.Tokens)
		}
	}
	if taken != c.sent {
		return fmt.Errorf("cluster: invariant %q is violated: %d requests were sent, the engines have taken %d", "conservation of requests", c.sent, taken)
	}
	return nil
}
