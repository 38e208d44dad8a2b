package hardware

import "slices"

// Models returns every known model, in the order of its table. Every row's total, computed from its dimensions
// (see Parts), agrees with the size of the published checkpoint within 0.01 %. The slice is the caller's.
func Models() []Model {
	return slices.Concat(llamaModels, qwenModels, mistralModels, deepseekModels, otherModels)
}

// Parts counts the parameters of a model by what they do, biases included. Attention, DenseMLP, Experts, Shared, Router
// and Norms are those of one layer that has them; Embedding, Head and FinalNorm are those of the model.
type Parts struct {
	Attention int64 // the projections (and attention sinks)
	DenseMLP  int64 // the MLP of a layer without experts
	Expert    int64 // one routed expert
	Experts   int64 // all routed experts of a layer
	Shared    int64 // the always-active shared expert(s) of a layer
	Router    int64 // of a layer with experts
	Norms     int64 // of the residual stream, of queries and keys, of MLA's latents

	Embedding int64
	Head      int64 // 0 when it is tied to the embedding
	FinalNorm int64
}

// Parts returns the parameter counts of m:
//
//	attention  d e (h + 2g) + h e d              MLA: d s + s h(n+u) + d(r+u) + r h(n+v) + h v d
//	dense MLP  3 d f (2 d f when not gated)      expert 3 d m, shared 3 d ms, router d E
//	norms      d each; 2e with QK norms          MLA: s + r
//	model      V d embedding, V d head unless tied, d final norm
//
// with d hidden, e head size, h heads, g KV heads, f and m MLP widths, V vocabulary.
func (m Model) Parts() Parts {
	d := int64(m.Hidden)
	p := Parts{
		Attention: m.attention(),
		DenseMLP:  m.mlp(m.DenseWidth(), m.MLPBias),
		Norms:     m.norm() * int64(m.NormsPerLayer),
		Embedding: int64(m.Vocab) * d,
		FinalNorm: m.norm(),
	}
	switch {
	case m.MLA.KVRank > 0:
		p.Norms += int64(m.MLA.QueryRank + m.MLA.KVRank)
	case m.QKNorm:
		p.Norms += 2 * int64(m.HeadDim)
	}
	if x := m.MoE; x.Experts > 0 {
		p.Expert = m.mlp(x.Width, x.Bias)
		p.Experts = int64(x.Experts) * p.Expert
		p.Shared = m.mlp(x.SharedWidth, false)
		p.Router = d * int64(x.Experts)
		if x.Bias {
			p.Router += int64(x.Experts)
		}
	}
	if !m.TiedEmbeddings {
		p.Head = p.Embedding
	}
	if m.HeadBias {
		p.Head += int64(m.Vocab)
	}
	return p
}

// attention counts the projections of one layer.
func (m Model) attention() int64 {
	d, h := int64(m.Hidden), int64(m.Heads)
	if a := m.MLA; a.KVRank > 0 {
		s, r, n, u, v := int64(a.QueryRank), int64(a.KVRank), int64(a.NopeDim), int64(a.RopeDim), int64(a.VDim)
		query := d * h * (n + u)
		if s > 0 {
			query = d*s + s*h*(n+u)
		}
		return query + d*(r+u) + r*h*(n+v) + h*v*d
	}
	e, g := int64(m.HeadDim), int64(m.KVHeads)
	count := d*e*(h+2*g) + h*e*d
	if m.QKVBias {
		count += e * (h + 2*g)
	}
	if m.OutBias {
		count += d
	}
	if m.Sinks {
		count += h
	}
	return count
}

// mlp counts an MLP of the given width.
func (m Model) mlp(width int, bias bool) int64 {
	if width == 0 {
		return 0
	}
	d, f, in := int64(m.Hidden), int64(width), int64(1)
	if m.Gated {
		in = 2
	}
	count := (in + 1) * d * f
	if bias {
		count += in*f + d
	}
	return count
}

func (m Model) norm() int64 {
	if m.NormBias {
		return 2 * int64(m.Hidden)
	}
	return int64(m.Hidden)
}

// DenseWidth returns the width of the MLP in layers without experts.
func (m Model) DenseWidth() int {
	if m.MoE.Experts > 0 && m.MoE.DenseWidth > 0 {
		return m.MoE.DenseWidth
	}
	return m.Intermediate
}

// ExpertLayers returns how many layers have experts; the remaining Layers have a dense MLP.
func (m Model) ExpertLayers() int {
	if m.MoE.Experts == 0 {
		return 0
	}
	return m.MoE.Layers
}

// Params returns how many parameters m has, and how many of them one token meets: all, but of the routed experts only
// TopK per layer. Both include the embedding table.
func (m Model) Params() (total, active int64) {
	p := m.Parts()
	all, sparse := int64(m.Layers), int64(m.ExpertLayers())
	rest := all*(p.Attention+p.Norms) + (all-sparse)*p.DenseMLP + sparse*(p.Router+p.Shared) +
		p.Embedding + p.Head + p.FinalNorm
	return rest + sparse*p.Experts, rest + sparse*p.Expert*int64(m.MoE.TopK)
}

// KVBytesPerToken returns how many bytes one token occupies in the KV cache of the whole model, on one GPU and with
// every layer kept: 2 g e k per layer, or (r + u) k with latent attention.
func (m Model) KVBytesPerToken(k Dtype) int64 {
	perLayer := 2 * int64(m.KVHeads) * int64(m.HeadDim)
	if m.MLA.KVRank > 0 {
		perLayer = int64(m.MLA.KVRank + m.MLA.RopeDim)
	}
	return int64(float64(int64(m.Layers)*perLayer) * k.Bytes())
}

// KVHeadsPer returns how many KV heads each of tp GPUs keeps: max(1, ⌈g/tp⌉). Beyond g GPUs heads are replicated, and
// the cache of a GPU shrinks no further.
func (m Model) KVHeadsPer(tp int) int {
	if tp <= 1 {
		return m.KVHeads
	}
	return max(1, (m.KVHeads+tp-1)/tp)
}
