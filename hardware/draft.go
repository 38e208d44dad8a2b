package hardware

import (
	"errors"
	"fmt"
)

// A Drafter guesses, at the end of every step, the next tokens of each sequence that has just got one; the next step
// verifies them. The zero Drafter is none.
type Drafter struct {
	Drafts int  // guesses per sequence, K; 0: none
	Varies bool // K depends on the size of the batch, so that no full CUDA graph suits every step

	// Model is the network that guesses; one without layers takes no time on the device (n-grams).
	Model   Model
	Weights Dtype
	TP      int  // GPUs that share it: 1, or as many as share a layer of the target; 0: the latter
	Tables  bool // it has an embedding and an LM head of its own, rather than the target's
	Fused   int  // vectors of hidden size that it joins into one: the target's states and the token's embedding; 0: none

	PerStep, PerPass  float64 // seconds of the host that nothing hides: around the drafts of a step, and for each pass
	PerSeq, PerCached float64 // seconds of the host for each sequence, and for each of its tokens (searching n-grams)
}

// Drafting is what speculation adds to the sums of a [Step]: drafts that it verifies, and new ones made at its end.
type Drafting struct {
	Rows  int   // drafts among the step's tokens
	Pairs int64 // query–key pairs of the decodes beyond KVRead: one for each cached token of each draft

	Proposals int   // sequences that get new drafts
	Cached    int64 // Σ over them of the tokens in the cache
	Depth     int   // drafts that each of them gets
}

// AddVerification adds a sequence that computes its newest token and so many drafts behind it, on top of past cached
// tokens. All 1+drafts rows read the cache once, and all of them are sampled: a row tells whether the draft after it was
// right, or else what comes in its place.
func (s *Step) AddVerification(drafts, past int, w Window) {
	s.AddDecode(past, w)
	if drafts == 0 {
		return
	}
	s.Tokens += drafts
	s.Sampled += drafts
	s.KVRead += int64(drafts)
	if w.Keys > 0 {
		s.WindowKVRead += int64(drafts)
	}
	d, c := int64(drafts), int64(past)
	s.Draft.Rows += drafts
	s.Draft.Pairs += d*c + d*(d+1)/2 // (1+d)(c+1) + d(d+1)/2 − (c+1+d)
}

// AddProposal adds a sequence that gets drafts at the end of the step, when it has so many tokens in the cache.
func (s *Step) AddProposal(cached int) {
	s.Draft.Proposals++
	s.Draft.Cached += int64(cached)
}

// Eagle returns the shape of an EAGLE head for m: one dense layer of the target's dimensions. With vocab below the
// target's, as in EAGLE-3, its LM head is its own and as large as that.
func (m Model) Eagle(vocab int) Model {
	head := m.Layer()
	head.Intermediate = head.DenseWidth()
	if head.Intermediate == 0 {
		head.Intermediate = 4 * m.Hidden
	}
	head.MoE, head.Gated = MoE{}, true
	head.Vocab = min(head.Vocab, vocab)
	return head
}

// Layer returns the shape of one layer of m, of the kind with experts where it has any: a module for the prediction
// of several tokens (MTP).
func (m Model) Layer() Model {
	one := m
	one.Layers, one.Window, one.WindowLayers = 1, 0, 0
	one.MoE.Layers = min(one.MoE.Layers, 1)
	return one
}

// drafter returns the deployment of d's drafter alone.
func (d Deployment) drafter() Deployment {
	own := d
	own.Model, own.Weights = d.Drafter.Model, d.Drafter.Weights
	if d.Drafter.TP > 0 {
		own.TP = d.Drafter.TP
	}
	own.PP, own.ExpertParallel = 1, d.ExpertParallel && own.Model.MoE.Experts > 0
	own.Host, own.Drafter = Host{}, Drafter{}
	return own
}

// checkDrafter reports drafters that cannot be.
func (d Deployment) checkDrafter() error {
	k := d.Drafter
	if k.Drafts == 0 {
		return nil
	}
	if k.Drafts < 0 || k.TP < 0 {
		return fmt.Errorf("a drafter cannot make %d drafts on %d GPUs", k.Drafts, k.TP)
	}
	var faults []error
	if d.PP > 1 {
		faults = append(faults, fmt.Errorf("pipeline_parallel_size must be 1 with speculative decoding, got %d", d.PP))
	}
	if k.Model.Layers > 0 {
		if k.TP > 1 && k.TP != d.TP {
			faults = append(faults, fmt.Errorf("the drafter runs on 1 GPU or on all %d that share the target's layers, got %d", d.TP, k.TP))
		}
		if err := d.drafter().Validate(); err != nil {
			faults = append(faults, fmt.Errorf("drafter: %w", err))
		}
	}
	return errors.Join(faults...)
}

// drafterBytes returns what the drafter takes on a GPU: its weights, and its part of the cache for so many tokens.
func (d Deployment) drafterBytes(tokens int) (weights, kv int64) {
	if d.Drafter.Drafts == 0 || d.Drafter.Model.Layers == 0 {
		return 0, 0
	}
	own := d.drafter()
	s := newShard(own)
	weights = s.weightBytes(own)
	if !d.Drafter.Tables {
		p := own.Model.Parts()
		weights -= int64(float64(p.Embedding+p.Head) / float64(own.TP) * BF16.Bytes())
		if own.Model.Vocab < d.Model.Vocab { // an LM head of its own, for a part of the vocabulary
			weights += int64(float64(own.Model.Vocab*own.Model.Hidden) / float64(own.TP) * BF16.Bytes())
		}
	}
	weights += int64(float64(d.Drafter.Fused*own.Model.Hidden*own.Model.Hidden) / float64(own.TP) * BF16.Bytes())
	return weights, s.kvBytes(own, tokens, s.layers)
}

// addDrafter makes room for the drafter: its weights, and its layers in the blocks. Where several groups share the pool,
// each carries its part of them.
func (m *Memory) addDrafter(d Deployment) {
	weights, kv := d.drafterBytes(d.BlockSize)
	m.Drafter = weights
	m.BlockBytes += kv / int64(max(len(m.Groups), 1))
	m.BytesPerToken += kv / int64(max(d.BlockSize, 1))
}

// What a decode step loses in each layer where CUDA graphs cover all but the attention, in between whose kernels the GPU
// waits for the host. Assumed: half of what a layer loses where no graph covers anything. A server that gave up full
// graphs, as drafts by batch size make it, fell from 59.6 to 50.0 tokens/s on one stream
// (vLLM #49548); the half was chosen with that in view.
const piecewisePerLayer = 25e-6

// verify: a decode with d drafts reads its c+1+d cached tokens once, and holds (1+d)(c+1) + d(d+1)/2 query–key pairs.
func (a *grouped) verify(rows, kv, shared, pairs float64) kernel {
	flops, bytes := a.flops*pairs, a.cache*(kv-(1-fromL2)*shared)+a.query*rows
	k := bound(flops*a.decodeCompute, bytes*a.decodeMemory)
	k.flops, k.bytes = flops, bytes
	return k
}

// verify works on the latents, as decode does.
func (a *latent) verify(_, kv, _, pairs float64) kernel {
	flops := 2 * a.busyHeads * (2*a.r + a.u) * pairs
	bytes := (a.r + a.u) * a.kvBytes * kv
	whole, computing := smooth(flops/a.peak, bytes/a.bandwidth, mlaDecodeP)
	return kernel{compute: whole * computing, kv: whole * (1 - computing), flops: flops, bytes: bytes}
}

// verify adds the attention of decodes with drafts, in every layer. The windows of sliding layers are counted as if each
// decode had as many drafts.
func (r *Roofline) verify(p *price, s *Step) {
	rows := float64(s.Decodes + s.Draft.Rows)
	kv, window := float64(s.KVRead), float64(s.WindowKVRead)
	r.addAttention(p, float64(r.shard.full), r.attention.verify(rows, kv, float64(s.KVShared), kv+float64(s.Draft.Pairs)))
	if r.shard.sliding > 0 {
		r.addAttention(p, float64(r.shard.sliding), r.attention.verify(rows, window, 0, window*rows/float64(s.Decodes)))
	}
}

// A speculator prices what drafts cost besides the rows that verify them.
type speculator struct {
	Drafter
	pass   *Roofline // of the drafter's network; nil: it has none
	fusion matmul
	pieces float64 // seconds of a step that no full graph suits
	size   int     // of the largest graph
}

// newSpeculator returns the speculator of d, or nil when nothing is drafted.
func newSpeculator(d Deployment, s shard) (*speculator, error) {
	if d.Drafter.Drafts == 0 {
		return nil, nil
	}
	x := &speculator{Drafter: d.Drafter}
	if !d.eager() {
		x.size, x.pieces = d.Graphs[len(d.Graphs)-1], piecewisePerLayer*float64(s.layers)
	}
	if d.Drafter.Model.Layers == 0 {
		return x, nil
	}
	own := d.drafter()
	var err error
	if x.pass, err = NewRoofline(own); err != nil {
		return nil, err
	}
	hidden := float64(own.Model.Hidden)
	x.fusion = matmul{n: hidden / float64(own.TP), k: hidden * float64(x.Fused), by: d.Device.arithmetic(BF16)}
	return x, nil
}

// gaps returns how long the GPU waits between the pieces of a step's graph. A full graph holds decodes of 1+K rows each,
// and nothing else.
func (x *speculator) gaps(s *Step) float64 {
	if s.ChunkRows > 0 || s.Tokens > x.size || !x.Varies && s.Tokens == s.Decodes*(1+x.Drafts) {
		return 0
	}
	return x.pieces
}

// charge adds the making of drafts to the cost of a step. The drafter's first pass takes in all the tokens of the step, so
// that its own cache keeps up; Depth−1 more passes follow, of one row for each sequence:
//
//	t = step(T, N sampled) + Σ_{i=1}^{Depth−1} decode(N rows, Σc + iN)
func (x *speculator) charge(c *Cost, s *Step) {
	n, depth := s.Draft.Proposals, s.Draft.Depth
	if depth > 0 && n > 0 {
		c.Exposed += nanoseconds(x.PerStep + float64(depth)*x.PerPass + float64(n)*x.PerSeq + float64(s.Draft.Cached)*x.PerCached)
	}
	if x.pass == nil {
		return
	}
	first := *s
	first.Sampled, first.KVShared, first.Draft = n, 0, Drafting{Pairs: s.Draft.Pairs, Rows: s.Draft.Rows}
	first.WindowPairs, first.WindowKVRead, first.WindowPrefillKV = 0, 0, 0
	if depth == 0 {
		first.Sampled = 0 // it takes in the tokens, and guesses nothing
	}
	x.add(c, first)
	for i := 1; i < depth && n > 0; i++ {
		x.add(c, Step{Tokens: n, Seqs: n, Decodes: n, Sampled: n, KVRead: s.Draft.Cached + int64(i*n)})
	}
}

// add adds one pass of the drafter.
func (x *speculator) add(c *Cost, s Step) {
	pass := x.pass.Cost(s)
	var p price
	if x.Fused > 0 {
		p = x.fusion.price(float64(s.Tokens))
		var f Cost
		p.settle(&f, 0)
		pass.plus(&f)
	}
	c.plus(&pass)
}

// plus adds the work of another cost on the device.
func (c *Cost) plus(d *Cost) {
	c.Device += d.Device
	c.By.Compute += d.By.Compute
	c.By.Weights += d.By.Weights
	c.By.KVRead += d.By.KVRead
	c.By.Network += d.By.Network
	c.By.Overhead += d.By.Overhead
	c.FLOPs += d.FLOPs
	c.Bytes += d.Bytes
	c.Joules += d.Joules
}
