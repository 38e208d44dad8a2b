package hardware

import "time"

// network prices the traffic between the GPUs that share a layer, and from one pipeline stage to the next.
type network struct {
	gpus, nodes float64 // of a tensor-parallel group: GPUs on one node, nodes
	link        float64 // bytes/s per direction, within a node
	kernels     Kernels
	ring        *RingPoint // set: the only algorithm
	between     Link       // nodes; bandwidth as reached

	hopAlpha, hopPerToken float64 // a send of 2·M·d bytes to the next stage, seconds
	idle                  float64 // W
}

// Fractions of a link that a plain send reaches, and its latency where none is given (NCCL send and receive on H100:
// 362 of 450 GB/s and 7.6 µs within a node, 36.5 of 50 GB/s across).
const (
	sendFraction, internodeFraction = 0.8, 0.73
	sendLatency                     = 7.6e-6
)

func newNetwork(d Deployment) network {
	n := network{gpus: float64(d.TP), nodes: 1, kernels: d.Device.Kernels, idle: d.Device.Kernels.IdleWatts}
	if d.GPUsPerNode > 0 && d.TP > d.GPUsPerNode {
		n.gpus, n.nodes = float64(d.GPUsPerNode), float64(ceilDiv(d.TP, d.GPUsPerNode))
	}
	n.link = d.Device.linkFor(int(n.gpus))
	n.ring = d.Device.ringFor(int(n.gpus))
	n.between = Link{Bandwidth: d.Internode.Bandwidth * internodeFraction, Latency: d.Internode.Latency}
	if d.PP > 1 {
		latency, bandwidth := d.Device.Link.Latency, d.Device.linkFor(d.TP*d.PP)*sendFraction
		if d.spansNodes() {
			latency, bandwidth = n.between.Latency, n.between.Bandwidth
		}
		if latency == 0 {
			latency = sendLatency
		}
		n.hopAlpha, n.hopPerToken = latency, 2*float64(d.Model.Hidden)/bandwidth
	}
	return n
}

// linkFor returns the bandwidth between the GPUs of a group on one node: the link's if it joins them all, else PCIe's.
func (d Device) linkFor(gpus int) float64 {
	if d.Link.Bandwidth > 0 && (d.Link.GPUs == 0 || gpus <= d.Link.GPUs) {
		return d.Link.Bandwidth
	}
	return d.PCIe
}

// ringFor returns the measured ring of the smallest group that holds gpus, or of the largest there is; nil where the
// device has none.
func (d Device) ringFor(gpus int) *RingPoint {
	ring := d.Kernels.Ring
	for i := range ring {
		if ring[i].GPUs >= gpus || i == len(ring)-1 {
			return &ring[i]
		}
	}
	return nil
}

// spansNodes reports whether d needs more GPUs than a node has.
func (d Deployment) spansNodes() bool {
	return d.GPUsPerNode > 0 && d.TP*d.PP*d.ranks() > d.GPUsPerNode
}

// newExchange returns the network over which data-parallel ranks exchange the tokens that the experts of all of them
// compute.
func newExchange(d Deployment) network {
	d.TP, d.PP = d.expertGroup(), 1
	return newNetwork(d)
}

// allReduce prices the sum of a tensor of so many bytes over the group. Across nodes it is hierarchical: each GPU sums
// its share of the node's result with its peers on the other nodes.
func (n network) allReduce(bytes float64) price {
	t := n.within(bytes)
	if n.nodes > 1 {
		t += 2*(n.nodes-1)*n.between.Latency + 2*(n.nodes-1)/n.nodes*bytes/n.gpus/n.between.Bandwidth
	}
	return price{network: t, joules: n.idle * t}
}

// within returns the time on one node, the better of reading every peer's tensor at once and of reducing shares
// first (in two shots, a ring or in the switch), with n GPUs and S bytes over a link of W bytes/s:
//
//	min( a1 + (n−1) S/(W e1),  a2 + 2(n−1)/n S/(W e2) )
func (n network) within(bytes float64) float64 {
	g, k := n.gpus, n.kernels
	if g <= 1 {
		return 0
	}
	if n.ring != nil {
		return n.ring.Alpha + 2*(g-1)/g*bytes/n.ring.Bandwidth
	}
	oneShot := k.OneShotAlpha + (g-1)*bytes/(n.link*k.OneShotFraction)
	twoShot := k.TwoShotAlpha + k.TwoShotPerGPU*max(g-2, 0) + 2*(g-1)/g*bytes/(n.link*k.TwoShotFraction)
	return min(oneShot, twoShot)
}

// hop returns what the activations of a step take to the next stage; nothing without stages.
func (n *network) hop(tokens int) time.Duration {
	if n.hopAlpha == 0 {
		return 0
	}
	return nanoseconds(n.hopAlpha + n.hopPerToken*float64(tokens))
}
