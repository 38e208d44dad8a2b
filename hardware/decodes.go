package hardware

import "time"

// A decoding is the part of a step of n decodes that depends on n alone: linear layers, LM head, the start of attention,
// the host. Most steps of a run are decodes and nothing else, of a number that has been seen before; what remains is to
// price what they read of the cache. It is added up in the order in which Fill adds, so that both agree to the last bit.
type decoding struct {
	price              price // up to the start of attention
	hop, exposed, host time.Duration
}

// fillDecodes is Fill for a step of nothing but decodes, of a number that is remembered.
func (r *Roofline) fillDecodes(c *Cost, s *Step) {
	d := r.decodings[s.Decodes].Load()
	if d == nil {
		d = r.decoding(s)
		r.decodings[s.Decodes].Store(d)
	}
	p := d.price
	r.attend(&p, s)
	r.launch(&p, s.Tokens, 0)
	p.settle(c, d.hop)
	c.Exposed, c.Host = d.exposed, d.host
}

// decoding works out what depends on the number of the decodes in s.
func (r *Roofline) decoding(s *Step) *decoding {
	d := new(decoding)
	r.linear.addTo(&d.price, s.Tokens)
	r.head.addTo(&d.price, s.Sampled)
	r.startAttention(&d.price, s)
	d.hop = nanoseconds(r.network.hop(s.Tokens))
	d.exposed, d.host = r.hostTimes(s)
	return d
}
