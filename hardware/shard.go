package hardware

// A shard is the part of a model that one GPU holds: its share of every layer of the most loaded pipeline stage.
// Sizes are per GPU; layer counts are of the stage.
type shard struct {
	tp, ep int // how many GPUs share a layer, and its experts (1: the experts are cut like any other weight)

	layers          int // all of the stage
	full, sliding   int // … by attention
	dense, experted int // … by what follows attention

	heads, kvHeads int // kvHeads: at least one, since a head that does not suffice for all GPUs is replicated
	mlp            int // width of the dense MLP
	expertWidth    int
	shared         int // width of the always-active expert
}

// newShard cuts d's model. It expects a valid deployment.
func newShard(d Deployment) shard {
	m := d.Model
	s := shard{tp: d.TP, ep: 1, layers: ceilDiv(m.Layers, d.PP)}
	// Layers of one kind may crowd into one stage; spread evenly, the stage has at least this many full ones.
	s.full = ceilDiv((m.Layers-m.slidingLayers())*s.layers, m.Layers)
	s.sliding = s.layers - s.full
	if m.MoE.Experts > 0 {
		s.experted = ceilDiv(m.ExpertLayers()*s.layers, m.Layers)
		if d.ExpertParallel {
			s.ep = d.expertGroup()
		}
	}
	s.dense = s.layers - s.experted

	s.heads, s.kvHeads = m.Heads/d.TP, m.KVHeadsPer(d.TP)
	s.mlp = ceilDiv(m.DenseWidth(), d.TP)
	s.expertWidth = ceilDiv(m.MoE.Width, d.expertGroup()/s.ep)
	s.shared = ceilDiv(m.MoE.SharedWidth, d.TP)
	return s
}

// ranks returns how many data-parallel ranks there are.
func (d Deployment) ranks() int { return max(d.DP, 1) }

// expertGroup returns how many GPUs share the experts of a layer: those of all data-parallel ranks (vLLM's EP size).
func (d Deployment) expertGroup() int { return d.TP * d.ranks() }

// slidingLayers returns how many layers see only a window.
func (m Model) slidingLayers() int {
	if m.Window <= 0 {
		return 0
	}
	return m.WindowLayers
}

// mlpMatrices returns how many matrices an MLP has: gate, up and down, or the last two.
func (m Model) mlpMatrices() int {
	if m.Gated {
		return 3
	}
	return 2
}

// kvValues returns the values that one token leaves in the cache of one layer: K and V of every head on this GPU,
// or the latent and its rotary part, which every GPU keeps whole.
func (s shard) kvValues(m Model) int {
	if m.MLA.KVRank > 0 {
		return m.MLA.KVRank + m.MLA.RopeDim
	}
	return 2 * s.kvHeads * m.HeadDim
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
