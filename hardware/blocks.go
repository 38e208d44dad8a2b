package hardware

// newBlocks lists the kinds of layers of a stage: with a dense MLP, with experts, or both.
func newBlocks(d Deployment, s shard) []block {
	var blocks []block
	if s.dense > 0 {
		b := newBlock(d, s, float64(s.dense))
		b.addMLP(d, s.mlp)
		blocks = append(blocks, b)
	}
	if s.experted > 0 {
		b := newBlock(d, s, float64(s.experted))
		b.addExperts(d, s)
		blocks = append(blocks, b)
	}
	return blocks
}

// newBlock returns what every layer has: the projections around attention, norms, and RoPE with the write of K and V.
func newBlock(d Deployment, s shard, layers float64) block {
	m := d.Model
	hidden, heads := float64(m.Hidden), float64(s.heads)
	by := d.linear()
	b := block{layers: layers, elements: 1}
	b.add(float64(min(m.NormsPerLayer, 2)), addNormBytes*hidden)
	b.add(float64(max(m.NormsPerLayer-2, 0)), normBytes*hidden) // of Gemma, after attention and MLP
	if a := m.MLA; a.KVRank > 0 {
		b.matmuls = latentProjections(a, by, hidden, heads)
		b.perToken += ropeBytes * (heads*float64(a.RopeDim) + float64(a.KVRank+a.RopeDim))
		return b
	}
	e, g := float64(m.HeadDim), float64(s.kvHeads)
	b.matmuls = []matmul{
		{n: (heads + 2*g) * e, k: hidden, by: by}, // QKV
		{n: hidden, k: heads * e, by: by},         // O
	}
	b.perToken += ropeBytes * (heads + 2*g) * e
	return b
}

// latentProjections are those of MLA. The down-projections of queries and of the latent run as one and are replicated;
// kv_b expands latents to heads when prefilling and is absorbed into two batched products of the same size when
// decoding: 2 r h (n+v) FLOPs a token either way.
func latentProjections(a MLA, by arithmetic, hidden, heads float64) []matmul {
	query, latent := float64(a.NopeDim+a.RopeDim)*heads, float64(a.KVRank+a.RopeDim)
	rest := []matmul{
		{n: heads * float64(a.NopeDim+a.VDim), k: float64(a.KVRank), by: by}, // kv_b
		{n: hidden, k: heads * float64(a.VDim), by: by},                      // O
	}
	if a.QueryRank == 0 {
		return append(rest, matmul{n: query, k: hidden, by: by}, matmul{n: latent, k: hidden, by: by})
	}
	rank := float64(a.QueryRank)
	return append(rest, matmul{n: rank + latent, k: hidden, by: by}, matmul{n: query, k: rank, by: by})
}

// addMLP adds an MLP of the given width, per GPU: gate and up in one, activation, down.
func (b *block) addMLP(d Deployment, width int) {
	by, hidden, f := d.linear(), float64(d.Model.Hidden), float64(width)
	into := float64(d.Model.mlpMatrices() - 1)
	b.matmuls = append(b.matmuls, matmul{n: into * f, k: hidden, by: by}, matmul{n: hidden, k: f, by: by})
	b.add(1, gateBytes*f)
}

// addExperts adds the router, the routed experts and the shared one.
func (b *block) addExperts(d Deployment, s shard) {
	x := newExperts(d, s)
	b.experts = &x
	b.matmuls = append(b.matmuls, matmul{n: float64(x.count), k: x.hidden, by: d.Device.arithmetic(BF16)})
	if s.shared > 0 {
		b.addMLP(d, s.shared)
	}
}

// add adds element-wise kernels that each move bytes per token.
func (b *block) add(kernels, bytes float64) {
	b.elements += kernels
	b.perToken += kernels * bytes
}
