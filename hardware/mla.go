package hardware

// latent is multi-head latent attention (DeepSeek-V2): the cache holds one latent of r values and u rotary ones per
// token, the same on every GPU of a tensor-parallel group.
type latent struct {
	heads      float64 // on this GPU
	busyHeads  float64 // … that the decode kernel works on
	r, u, n, v float64 // latent, rotary, nope and value widths
	kvBytes    float64

	peak, bandwidth          float64 // that decodes reach
	starts                   starts
	prefillPeak, prefillRate float64 // FLOP/s, bytes/s
	expandPeak               float64 // FLOP/s at which cached latents are expanded again
}

// Kernels of MLA, fitted on TensorRT-LLM's and SGLang's on H100; taken over for every other device.
const (
	mlaDecodeCompute, mlaDecodeMemory = 0.66, 0.92
	mlaDecodeT0, mlaDecodeTau         = 13e-6, 2.7e-6
	mlaDecodeP                        = 5
	mlaDecodeHeads                    = 64 // the kernel's tile: fewer heads per GPU cost as much
	mlaPrefillCompute, mlaPrefillT0   = 0.63, 19e-6
	mlaPrefillL0                      = 1000
)

func newLatent(d Deployment, s shard) latent {
	m, dev := d.Model.MLA, d.Device
	return latent{
		heads: float64(s.heads), busyHeads: max(float64(s.heads), mlaDecodeHeads),
		r: float64(m.KVRank), u: float64(m.RopeDim), n: float64(m.NopeDim), v: float64(m.VDim),
		kvBytes: d.KV.Bytes(), peak: dev.BF16 * mlaDecodeCompute, bandwidth: dev.Bandwidth * mlaDecodeMemory,
		starts:      newStarts(mlaDecodeT0, mlaPrefillT0, mlaDecodeTau/float64(dev.SMs)),
		prefillPeak: dev.BF16 * mlaPrefillCompute, prefillRate: dev.Bandwidth * attentionMemory,
		expandPeak: dev.BF16 * dev.Kernels.GEMM.Compute,
	}
}

func (a *latent) start(n float64, chunks bool) float64 { return a.starts.of(n, chunks) }

// decode works on the latents themselves (absorbed): FLOPs = 2 h (2r+u) Σc, bytes = (r+u) k Σc. With 128 heads that
// is about 240 FLOPs a byte, so both terms count.
func (a *latent) decode(n, kv, _ float64) kernel {
	flops := 2 * a.busyHeads * (2*a.r + a.u) * kv
	bytes := (a.r + a.u) * a.kvBytes * kv
	whole, computing := smooth(flops/a.peak, bytes/a.bandwidth, mlaDecodeP)
	return kernel{compute: whole * computing, kv: whole * (1 - computing), flops: flops, bytes: bytes}
}

// prefill expands the latents to full heads: FLOPs = 2 h (n+u+v) Σpairs. New tokens are expanded by the layer's kv_b
// projection; those cached by earlier chunks have to be expanded again, 2 r h (n+v) FLOPs each.
func (a *latent) prefill(rows, pairs, kv float64) kernel {
	width := a.n + a.u + a.v
	attend, expand := 2*a.heads*width*pairs, 2*a.r*a.heads*(a.n+a.v)*max(kv-rows, 0)
	bytes := 2*a.heads*width*kv + 2*a.heads*width*rows
	busy := 2 * a.heads * width * (pairs + mlaPrefillL0/2*rows)
	k := bound(busy/a.prefillPeak+expand/a.expandPeak, bytes/a.prefillRate)
	k.flops, k.bytes = attend+expand, bytes
	return k
}
