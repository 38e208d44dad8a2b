package hardware

// An attention prices the attention of a step from its sums. The times of decodes and of prefill chunks add; the start is
// charged once per layer.
type attention interface {
	// start returns the seconds that a layer spends on neither arithmetic nor memory, with n decodes, with chunks or
	// with both.
	start(n float64, chunks bool) float64
	// decode works out n decodes that read kv cached tokens in all, of which shared ones have just been read by another.
	decode(n, kv, shared float64) kernel
	// verify works out decodes with drafts behind them: so many rows in all, which hold pairs query–key pairs.
	verify(rows, kv, shared, pairs float64) kernel
	// prefill works out chunks of rows new tokens in all that hold pairs query–key pairs and read kv cached tokens,
	// their own included.
	prefill(rows, pairs, kv float64) kernel
}

// A kernel is the attention of one layer: seconds by cause, and what it does. (A fifth field would keep it out of
// registers.)
type kernel struct{ compute, kv, flops, bytes float64 }

// times returns n times k. Products that will be added to something are rounded first, as the conversions demand: a machine
// that multiplies and adds at once would else let a price depend on the way in which it is worked out.
func (k kernel) times(n float64) kernel {
	return kernel{float64(n * k.compute), float64(n * k.kv), float64(n * k.flops), float64(n * k.bytes)}
}

// plus returns k and l together.
func (k kernel) plus(l kernel) kernel {
	return kernel{k.compute + l.compute, k.kv + l.kv, k.flops + l.flops, k.bytes + l.bytes}
}

// bound returns a kernel that is bound by the longer of its times for arithmetic and for the cache.
func bound(tc, tm float64) kernel {
	if tc > tm {
		return kernel{compute: tc}
	}
	return kernel{kv: tm}
}

// What attention kernels reach of the peak that they are not bound by.
const (
	attentionCompute = 0.7 // of FLOP/s, decoding
	attentionMemory  = 0.7 // of bandwidth, prefilling
	// What a cached token costs that another sequence of the step has just read: it comes from L2, which delivers about
	// twice what memory does (5.5 to 6 TB/s against 3 on H100).
	fromL2 = 0.5
)

// grouped is attention with h query heads of e values over g key-value heads: MHA, GQA and MQA.
type grouped struct {
	flops float64 // of a query–key pair: 4 h e
	query float64 // bytes of a new token's Q and O: 4 h e
	cache float64 // bytes of a cached token's K and V: 2 g e k

	starts                        starts
	extraKeys                     float64 // per query when prefilling: softmax tail and diagonal tiles, L0/2
	decodeCompute, prefillCompute float64 // seconds per FLOP
	decodeMemory, prefillMemory   float64 // seconds per byte
}

func newGrouped(d Deployment, s shard) grouped {
	k, m, dev := d.Device.Kernels, d.Model, d.Device
	heads := 4 * float64(s.heads*m.HeadDim)
	a := grouped{
		flops: heads, query: heads, cache: float64(s.kvValues(m)) * d.KV.Bytes(),
		extraKeys:     k.PrefillL0 / 2,
		decodeCompute: 1 / (dev.BF16 * attentionCompute), prefillCompute: 1 / (dev.BF16 * k.PrefillCompute),
		decodeMemory: 1 / (dev.Bandwidth * k.DecodeMemory), prefillMemory: 1 / (dev.Bandwidth * attentionMemory),
	}
	if d.KV == FP8 {
		a.decodeMemory = 1 / (dev.Bandwidth * k.DecodeMemoryFP8)
	}
	if m.HeadDim == 64 && k.PrefillHead64 > 0 {
		a.prefillCompute /= k.PrefillHead64
	}
	// A decode takes a thread block for each of its KV heads. Only grouped heads pay for it: with h = g there is no
	// grouped work to hide behind streaming.
	perSeq := 0.0
	if m.Heads > m.KVHeads {
		perSeq = k.DecodeTau * float64(s.kvHeads) / float64(dev.SMs)
	}
	a.starts = newStarts(k.DecodeT0, k.PrefillT0, perSeq)
	return a
}

func (a *grouped) start(n float64, chunks bool) float64 { return a.starts.of(n, chunks) }

// starts are what attention takes besides arithmetic and memory: decodes and chunks each have a t0, of which a step pays
// the larger, and each decode adds to it.
type starts struct{ decode, prefill, both, perSeq float64 }

func newStarts(decode, prefill, perSeq float64) starts {
	return starts{decode, prefill, max(decode, prefill), perSeq}
}

func (s *starts) of(n float64, chunks bool) float64 {
	switch {
	case n > 0 && chunks:
		return s.both + s.perSeq*n
	case n > 0:
		return s.decode + s.perSeq*n
	case chunks:
		return s.prefill
	}
	return 0
}

// decode: FLOPs = 4 h e Σc, bytes = 2 g e k (Σc − ½ Σshared) + 4 h e n, t = t0 + tau·n·g/SM + max(bytes/(B ed), FLOPs/(0.7 F)).
func (a *grouped) decode(n, kv, shared float64) kernel {
	flops, bytes := a.flops*kv, float64(a.cache*(kv-float64((1-fromL2)*shared)))+float64(a.query*n)
	k := bound(flops*a.decodeCompute, bytes*a.decodeMemory)
	k.flops, k.bytes = flops, bytes
	return k
}

// prefill: FLOPs = 4 h e Σpairs, bytes = 2 g e k Σ(c+q) + 4 h e Σq,
// t = t0 + max(4 h e (Σpairs + L0/2·Σq)/(F ea), bytes/(0.7 B)).
func (a *grouped) prefill(rows, pairs, kv float64) kernel {
	flops, bytes := a.flops*pairs, float64(a.cache*kv)+float64(a.query*rows)
	k := bound((flops+float64(a.flops*a.extraKeys*rows))*a.prefillCompute, bytes*a.prefillMemory)
	k.flops, k.bytes = flops, bytes
	return k
}
