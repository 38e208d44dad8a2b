package hardware

import (
	"cmp"
	"time"
)

// Roofline prices a step operator by operator. Each operator is bound by arithmetic or by memory, with a smooth
// passage between the two, and starts after a time of its own:
//
//	t = t0 + (Tc^p + Tm^p)^(1/p)     (Ramp)
//
// Linear layers, element-wise kernels, experts and collectives depend on the number of tokens alone, the LM head on the
// number of sampled rows alone: they are tables. Attention is linear in the sums of a Step. So a price costs the same
// whatever the batch, and allocates nothing.
//
// A Roofline may be used by several simulations at once.
type Roofline struct {
	decodings decodings // for steps of nothing but decodes
	linear    *table    // by tokens
	head      *table    // by sampled rows
	routed    *table    // experts, by the tokens of all data-parallel ranks; nil without such ranks: they are in linear then
	ranks     int

	layers    float64
	attention attention
	plain     *grouped // the same, in a plain deployment; else nil
	power     power
	launches  launches
	host      Host
	network   network
	exchange  network // between data-parallel ranks
	elements  elementwise

	model  Model
	shard  shard
	window Window
	blocks []block
	last   matmul // LM head

	drafts *speculator // nil: nothing is drafted
}

// A block is one kind of transformer layer: what it computes besides attention.
type block struct {
	layers   float64
	matmuls  []matmul
	experts  *experts
	elements float64 // element-wise kernels
	perToken float64 // bytes that they move per token
}

// kernelTile is how many keys beyond a sliding window decode attention reads, because it works in whole tiles.
const kernelTile = 128

// The tables reach to the limits of the engine, to the usual ones where it names none; larger steps are worked out each
// time, in about a microsecond.
const (
	largestTable = 1 << 16
	usualTokens  = 8192
	usualSeqs    = 1024
)

// NewRoofline returns the cost model of d, or every reason why d cannot be priced.
func NewRoofline(d Deployment) (*Roofline, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if err := d.checkKernels(); err != nil {
		return nil, err
	}
	s := newShard(d)
	r := &Roofline{
		model: d.Model, shard: s, layers: float64(s.layers),
		elements: newElementwise(d.Device), network: newNetwork(d), exchange: newExchange(d), ranks: d.ranks(), launches: newLaunches(d, s),
		host: d.Host, power: newPower(d.Device),
		blocks: newBlocks(d, s),
		last:   matmul{n: float64(ceilDiv(d.Model.Vocab, d.TP)), k: float64(d.Model.Hidden), by: d.Device.arithmetic(BF16)},
	}
	if d.Model.slidingLayers() > 0 {
		r.window = Window{Keys: d.Model.Window, Tile: kernelTile}
	}
	if d.Model.MLA.KVRank > 0 {
		a := newLatent(d, s)
		r.attention = &a
	} else {
		a := newGrouped(d, s)
		r.attention = &a
		if s.sliding == 0 && r.ranks == 1 && d.Drafter.Drafts == 0 {
			r.plain = &a
		}
	}
	r.linear = newTable(min(cmp.Or(d.MaxNumBatchedTokens, usualTokens), largestTable), r.tokens)
	if r.ranks > 1 {
		r.routed = newTable(min(cmp.Or(d.MaxNumBatchedTokens, usualTokens)*r.ranks, largestTable), r.route)
	}
	seqs := min(cmp.Or(d.MaxNumSeqs, usualSeqs), largestTable)
	r.head = newTable(min(seqs*(1+d.Drafter.Drafts), largestTable), r.sample)
	drafts, err := newSpeculator(d, s)
	if err != nil {
		return nil, err
	}
	if r.drafts = drafts; drafts == nil && r.ranks == 1 {
		r.decodings.list = make([]decoding, seqs)
	}
	return r, nil
}

// Window returns how far back the model's sliding-window layers see, as Step's sums need it.
func (r *Roofline) Window() Window { return r.window }

// Cost prices a step on one GPU of the most loaded pipeline stage. A step without tokens costs nothing; any other takes
// time on the device.
func (r *Roofline) Cost(s Step) (c Cost) {
	r.Fill(&c, &s)
	return c
}

// Fill is Cost in place. It implements [Filler].
func (r *Roofline) Fill(c *Cost, s *Step) {
	if s.Decodes == s.Tokens { // one test tells most steps of nothing but decodes from all others
		if d := r.remembered(s); d != nil {
			if d.state.Load() == streams {
				r.stream(c, d, s.reads())
			} else {
				r.fillDecodes(c, s, d)
			}
			return
		}
	}
	if r.plain != nil && s.Draft.Rows == 0 {
		r.fillPlain(c, s)
		return
	}
	r.fillAny(c, s)
}

// fillAny is Fill for any step of any deployment.
func (r *Roofline) fillAny(c *Cost, s *Step) {
	rows := max(s.Tokens, s.Rows)
	if rows <= 0 {
		*c = Cost{}
		return
	}
	p := *r.linear.at(rows)
	if r.ranks > 1 {
		p.plus(r.routed.at(max(s.Group, rows)))
	}
	p.plus(r.head.at(s.Sampled))
	r.startAttention(&p, s)
	r.attend(&p, s)
	waits := 0.0
	if r.drafts != nil {
		waits = r.drafts.gaps(s)
	}
	r.launch(&p, rows, waits)
	p.settle(c, r.network.hop(rows))
	c.Exposed, c.Host = r.hostTimes(s)
	if r.drafts != nil {
		r.drafts.charge(c, s)
	}
}

// hostTimes returns what a step takes of the host: what always adds, and what may hide.
func (r *Roofline) hostTimes(s *Step) (exposed, hidden time.Duration) {
	h, seqs := &r.host, float64(s.Seqs)
	return nanoseconds(h.ExposedBase + h.ExposedPerSeq*seqs + h.ExposedPerSampled*float64(s.Sampled)),
		nanoseconds(h.HiddenBase + h.HiddenPerSeq*seqs)
}

// launch adds the time that the GPU idles between the kernels of a step of n tokens, which waits for so many seconds anyway.
func (r *Roofline) launch(p *price, n int, waits float64) {
	gaps := waits + r.launches.gaps(n, p.seconds())
	p.overhead += gaps
	p.joules += float64(r.power.idle * gaps)
}

var (
	_ CostModel = (*Roofline)(nil)
	_ Filler    = (*Roofline)(nil)
)

// startAttention adds what the attention of every layer takes before it works.
func (r *Roofline) startAttention(p *price, s *Step) {
	start := float64(r.layers * r.attention.start(float64(s.Decodes), s.ChunkRows > 0))
	p.overhead += start
	p.joules += float64(r.power.idle * start)
}

// attend adds the attention of every layer, once started.
func (r *Roofline) attend(p *price, s *Step) {
	full, sliding := float64(r.shard.full), float64(r.shard.sliding)
	n := float64(s.Decodes)
	switch {
	case n > 0 && s.Draft.Rows > 0:
		r.verify(p, s)
	case n > 0:
		r.addAttention(p, full, r.attention.decode(n, float64(s.KVRead), float64(s.KVShared)))
		if sliding > 0 {
			r.addAttention(p, sliding, r.attention.decode(n, float64(s.WindowKVRead), 0))
		}
	}
	if s.ChunkRows > 0 {
		rows := float64(s.ChunkRows)
		r.addAttention(p, full, r.attention.prefill(rows, float64(s.AttnPairs), float64(s.PrefillKV)))
		if sliding > 0 {
			r.addAttention(p, sliding, r.attention.prefill(rows, float64(s.WindowPairs), float64(s.WindowPrefillKV)))
		}
	}
}

// addAttention adds so many layers of k.
func (r *Roofline) addAttention(p *price, layers float64, k kernel) {
	all := k.times(layers)
	p.compute += all.compute
	p.kv += all.kv
	p.flops += all.flops
	p.bytes += all.bytes
	p.joules += float64(layers * r.power.joules(k.compute+k.kv, k.flops, k.bytes))
}

// tokens prices what depends on the number of tokens alone. A CUDA graph runs them padded to a captured size.
func (r *Roofline) tokens(n int) price {
	m := float64(r.launches.pad(n))
	hidden := float64(r.model.Hidden)
	p := r.elements.price(1, embedBytes*m*hidden)
	reduce := r.network.allReduce(2 * m * hidden)
	for _, b := range r.blocks {
		for _, g := range b.matmuls {
			p.add(b.layers, g.price(m))
		}
		apart := b.experts != nil && r.ranks > 1
		if b.experts != nil && !apart {
			p.add(b.layers, b.experts.price(m))
		}
		p.add(b.layers, r.elements.price(b.elements, b.perToken*m))
		switch {
		case r.shard.tp > 1 && apart:
			p.add(b.layers, reduce) // after attention; for the experts see route
		case r.shard.tp > 1:
			p.add(2*b.layers, reduce) // after attention, and after the MLP or the experts
		}
	}
	return p
}

// route prices the experts of all data-parallel ranks for the n tokens of all of them, which run padded already. Every rank
// gathers the tokens of the others and takes back the sums for its own (vLLM's allgather_reducescatter): together the
// traffic of one all-reduce over the whole group.
func (r *Roofline) route(n int) price {
	m := float64(n)
	var p price
	for _, b := range r.blocks {
		if b.experts == nil {
			continue
		}
		p.add(b.layers, b.experts.price(m))
		p.add(b.layers, r.exchange.allReduce(2*m*float64(r.model.Hidden)))
	}
	return p
}

// sample prices the LM head and the sampler for n rows; they do not run for none.
func (r *Roofline) sample(n int) price {
	if n <= 0 {
		return price{}
	}
	m := float64(n)
	p := r.last.price(m)
	p.add(1, r.elements.price(logitPasses, logitPasses*logitBytes*m*float64(r.model.Vocab)))
	return p
}

// Price returns the time of a step on the GPU and to the next stage; the host is left out.
func (r *Roofline) Price(s Step) time.Duration {
	c := r.Cost(s)
	return c.Device + c.Hop
}
