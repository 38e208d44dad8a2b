package hardware

// A deployment is plain when all its layers have grouped attention over everything, nothing is drafted, and no experts are
// shared with other ranks. Most are, and a step of theirs holds decodes and chunks only: fillPlain does for it what fillAny
// does, in the same order, and does not ask about the rest.

// fillPlain is fillAny in a plain deployment.
func (r *Roofline) fillPlain(c *Cost, s *Step) {
	rows := max(s.Tokens, s.Rows)
	if rows <= 0 {
		*c = Cost{}
		return
	}
	linear, head := r.linear.at(rows), r.head.at(s.Sampled)
	decodes, chunks := float64(s.Decodes), float64(s.ChunkRows)
	start := float64(r.layers * r.plain.starts.of(decodes, chunks > 0))
	sum := kernel{compute: linear.compute + head.compute, flops: linear.flops + head.flops, bytes: linear.bytes + head.bytes}
	joules := linear.joules + head.joules + float64(r.power.idle*start)
	if s.Decodes > 0 {
		k := r.plain.decode(decodes, float64(s.KVRead), float64(s.KVShared))
		sum = sum.plus(k.times(r.layers))
		joules += float64(r.layers * r.power.joules(k.compute+k.kv, k.flops, k.bytes))
	}
	if s.ChunkRows > 0 {
		k := r.plain.prefill(chunks, float64(s.AttnPairs), float64(s.PrefillKV))
		sum = sum.plus(k.times(r.layers))
		joules += float64(r.layers * r.power.joules(k.compute+k.kv, k.flops, k.bytes))
	}
	t := spans{sum.compute, linear.weights + head.weights, sum.kv, linear.network}
	overhead := linear.overhead + head.overhead + start
	seconds := t.and(overhead)
	if gaps := r.launches.gaps(rows, seconds); gaps > 0 {
		joules += float64(r.power.idle * gaps)
		seconds = t.and(overhead + gaps)
	}
	c.FLOPs, c.Bytes, c.Joules = sum.flops, sum.bytes, joules
	c.Exposed, c.Host = r.hostTimes(s)
	c.settle(t, seconds, r.network.hop(rows))
}
