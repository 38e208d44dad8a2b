package hardware

import (
	"sync"
	"sync/atomic"
	"time"
)

// A decoding is the part of a step of n decodes that depends on n alone: linear layers, LM head, the start of attention,
// the host. Most steps of a run are decodes and nothing else, of a number that has been seen before; what remains is to
// price what they read of the cache. It is added up in the order in which Fill adds, so that both agree to the last bit.
type decoding struct {
	price              price // up to the start of attention
	hop, exposed, host time.Duration

	// What the causes take that attention adds nothing to as long as it waits for memory, the network with the hop; and the
	// first two in seconds.
	compute, weights, network time.Duration
	before                    float64

	state atomic.Uint32
}

// The states of a decoding.
const (
	unknown = iota
	known
	streams // known, and stream prices its steps
)

// decodings remembers decodings by their number, from 1. Several simulations may share them, as they do a table.
type decodings struct {
	list []decoding
	lock sync.Mutex
}

// remembered returns the decoding for s, or nil if s is anything else.
func (r *Roofline) remembered(s *Step) *decoding {
	n := s.Decodes
	if n != s.Tokens || n != s.Sampled || n != s.Seqs || n < s.Rows || uint(n-1) >= uint(len(r.decodings.list)) {
		return nil
	}
	return &r.decodings.list[n-1]
}

// reads are what decodes read of the cache: how many decodes, and the tokens.
type reads struct{ decodes, kv, shared float64 }

func (s *Step) reads() reads {
	return reads{float64(s.Decodes), float64(s.KVRead), float64(s.KVShared)}
}

// stream prices a step of d that reads so much. As long as attention waits for memory, the time that the cache takes is all
// that is left to find out. Most steps of most runs are priced here.
func (r *Roofline) stream(c *Cost, d *decoding, x reads) {
	one := r.plain.decode(x.decodes, x.kv, x.shared)
	k := one.times(r.layers)
	ns := float64((d.before+k.kv+d.price.network+d.price.overhead)*1e9) + 0.5
	if one.compute > 0 || ns < 1 || ns >= float64(longestSpan) {
		p := d.price
		r.addAttention(&p, r.layers, one)
		d.settle(c, &p)
		return
	}
	device, hop := time.Duration(ns), d.hop
	compute, weights, read, network := d.compute, d.weights, time.Duration(k.kv*1e9), d.network
	c.Device, c.Exposed, c.Host, c.Hop = device, d.exposed, d.host, hop
	c.By.Compute, c.By.Weights, c.By.KVRead, c.By.Network = compute, weights, read, network
	c.By.Overhead = device + hop - compute - weights - read - network
	c.FLOPs, c.Bytes = d.price.flops+k.flops, d.price.bytes+k.bytes
	c.Joules = d.price.joules + float64(r.layers*r.power.joules(one.kv, one.flops, one.bytes))
}

// fillDecodes is Fill for all steps of d.
func (r *Roofline) fillDecodes(c *Cost, s *Step, d *decoding) {
	if d.state.Load() == unknown {
		r.learn(d, s)
	}
	p := d.price
	r.attend(&p, s)
	r.launch(&p, s.Tokens, 0)
	d.settle(c, &p)
}

// settle writes the price of a step of d into c.
func (d *decoding) settle(c *Cost, p *price) {
	p.settle(c, d.hop)
	c.Exposed, c.Host = d.exposed, d.host
}

// learn works out what depends on the number of the decodes in s.
func (r *Roofline) learn(d *decoding, s *Step) {
	r.decodings.lock.Lock()
	defer r.decodings.lock.Unlock()
	if d.state.Load() != unknown {
		return // somebody has been quicker
	}
	p := &d.price
	*p = *r.linear.at(s.Tokens)
	p.plus(r.head.at(s.Sampled))
	r.startAttention(p, s)
	d.hop = r.network.hop(s.Tokens)
	d.exposed, d.host = r.hostTimes(s)
	d.compute, d.weights, d.network = time.Duration(p.compute*1e9), time.Duration(p.weights*1e9), time.Duration(p.network*1e9)+d.hop
	d.before = p.compute + p.weights
	if r.plain != nil && r.launches.captured(s.Tokens) {
		d.state.Store(streams)
	} else {
		d.state.Store(known)
	}
}
