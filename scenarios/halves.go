package scenarios

import (
	"errors"

	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/cluster"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/metrics"
)

// halves is the cluster of a run whose prefill and decode have engines of their own.
type halves struct {
	*cluster.Disaggregated
	split *split
}

// disaggregate prepares for the engines of two pools.
func (f *fleet) disaggregate(x *Experiment) error {
	if x.split == nil {
		return nil
	}
	if f.options.Naive {
		return errors.New("the reference engine keeps no KV for others: it cannot play engines that only prefill or decode")
	}
	rule := x.split.rule
	if own := f.options.Remote; own != nil {
		rule = own
	}
	f.halves = &halves{cluster.Disaggregate(f.kernel, x.split.transfer, rule), x.split}
	return nil
}

// connect gives the i-th engine of a pool its part in the other's work.
func (h *halves) connect(c *engine.Config, g *group, i int, r *metrics.Recorder) {
	if g.name == "decode" {
		c.Fetch = h.Fetch(i)
		return
	}
	c.Began, c.Legs = h.Began(i), r.Legs()
}

// attach gives the cluster its engines.
func (h *halves) attach(x *Experiment, replicas []*cluster.Replica, route func(pool *Pool) func(*sim.Kernel) cluster.Router, k *sim.Kernel) {
	c := &x.Scenario.Cluster
	n := c.Prefill.Replicas
	h.Attach(
		cluster.Pool{Replicas: replicas[:n], Bandwidth: h.split.bandwidth[0], Router: route(&c.Prefill)(k)},
		cluster.Pool{Replicas: replicas[n:], Bandwidth: h.split.bandwidth[1], Router: route(&c.Decode)(k)},
	)
	h.Lend(h.split.borrow)
	h.Delay(c.Hop)
}

// tell completes the report with what only the cluster knows.
func (h *halves) tell(d *metrics.Disaggregation) {
	n := h.Counts()
	d.Remote, d.Local, d.Whole = n.Remote, n.Local, n.Whole
	d.Transfer.Expired, d.Transfer.Fallbacks = n.Expired, n.Fallbacks
	decode, prefill := h.Borrowed()
	d.Borrowed = decode + prefill
}

// told is what the report says of the split; nil: there is none.
func (s *split) told() *metrics.Disaggregation {
	if s == nil {
		return nil
	}
	about := s.about
	return &about
}
