package hardware

import (
	"math"
	"time"
)

// A price is what a piece of work costs: seconds by cause, and what it does in them. It fills a cache line.
type price struct {
	compute, weights, kv, network, overhead float64 // seconds
	flops, bytes, joules                    float64
}

// seconds returns the whole time.
func (p *price) seconds() float64 {
	return spans{p.compute, p.weights, p.kv, p.network}.and(p.overhead)
}

// add adds n times q.
func (p *price) add(n float64, q price) {
	p.compute += n * q.compute
	p.weights += n * q.weights
	p.kv += n * q.kv
	p.network += n * q.network
	p.overhead += n * q.overhead
	p.flops += n * q.flops
	p.bytes += n * q.bytes
	p.joules += n * q.joules
}

// plus adds q.
func (p *price) plus(q *price) {
	p.compute += q.compute
	p.weights += q.weights
	p.kv += q.kv
	p.network += q.network
	p.overhead += q.overhead
	p.flops += q.flops
	p.bytes += q.bytes
	p.joules += q.joules
}

// smooth joins two times that overlap imperfectly, (a^p + b^p)^(1/p), and returns what part of the whole belongs
// to a: a^p : b^p. With a large p it is the maximum, with p = 1 the sum.
func smooth(a, b, p float64) (whole, partOfA float64) {
	hi, lo := max(a, b), min(a, b)
	if hi <= 0 {
		return 0, 0
	}
	r := math.Pow(lo/hi, p)
	whole, partOfA = hi*math.Pow(1+r, 1/p), 1/(1+r)
	if a < b {
		partOfA = 1 - partOfA
	}
	return whole, partOfA
}

// longestSpan is as long as anything takes: 36 years, so that a step's two spans and a clock that they are added to stay far from the end
// of a Duration.
const longestSpan time.Duration = 1 << 60

// nanoseconds rounds a span of at least zero seconds to the nearest nanosecond; what is longer than longestSpan becomes it. It is
// the one place where prices become time.
func nanoseconds(s float64) time.Duration {
	if ns := float64(s*1e9) + 0.5; ns < float64(longestSpan) { // min() spends more on NaN than all of this
		return time.Duration(ns)
	}
	return longestSpan
}

// spans are the seconds of a price's causes but overhead. (A fifth field would keep them out of registers.)
type spans struct{ compute, weights, kv, network float64 }

// and returns the whole time with so much overhead.
func (t spans) and(overhead float64) float64 {
	return t.compute + t.weights + t.kv + t.network + overhead
}

// settle writes a price as integer time into c.
func (p *price) settle(c *Cost, hop time.Duration) {
	c.settle(spans{p.compute, p.weights, p.kv, p.network}, p.seconds(), hop)
	c.FLOPs, c.Bytes, c.Joules = p.flops, p.bytes, p.joules
}

// settle writes so many seconds, by their causes, as integer time into c. The causes are cut to whole nanoseconds and
// overhead takes the rest, so that they always add up to Device + Hop; a step of any work takes at least a nanosecond.
func (c *Cost) settle(t spans, seconds float64, hop time.Duration) {
	scale := 1e9
	device := max(nanoseconds(seconds), 1)
	if device == longestSpan { // the causes share what there is
		scale = float64(longestSpan) / seconds
	}
	compute, weights := time.Duration(t.compute*scale), time.Duration(t.weights*scale)
	kv, network := time.Duration(t.kv*scale), time.Duration(t.network*scale)
	c.Device, c.Hop = device, hop
	c.By.Compute, c.By.Weights, c.By.KVRead, c.By.Network = compute, weights, kv, network+hop
	c.By.Overhead = device - compute - weights - kv - network
}
