package hardware

import (
	"fmt"
	"time"
)

// Placement is where a model's steps lie on the roofline of its device, per GPU.
type Placement struct {
	Peak      float64 // FLOP/s for the weights' format
	Bandwidth float64 // bytes/s
	Ridge     float64 // FLOP/B from which on arithmetic is the limit: Peak/Bandwidth
	Points    []Point // decodes in the order of their batch sizes, then the prefill
}

// Point is one step on the roofline.
type Point struct {
	Phase   string // "decode" or "prefill"
	Batch   int    // sequences
	Tokens  int    // rows through the linear layers
	Context int    // cached tokens that each sequence attends to at the end of the step

	Linear     float64       // FLOP/B of the linear layers alone: about the number of tokens
	Intensity  float64       // FLOP/B of the whole step, cache included
	Attainable float64       // FLOP/s that the roofline allows: min(Peak, Intensity × Bandwidth)
	Achieved   float64       // FLOP/s predicted
	Time       time.Duration // predicted, on the device
	Bound      string        // "memory" or "compute"
}

// Place puts on d's roofline a decode step of each batch size, every sequence with context cached tokens, and the
// prefill of one prompt of context tokens.
func Place(d Deployment, batches []int, context int) (Placement, error) {
	if context < 1 {
		return Placement{}, fmt.Errorf("the context must be at least 1 token, got %d", context)
	}
	r, err := NewRoofline(d)
	if err != nil {
		return Placement{}, err
	}
	peak := d.Device.arithmetic(d.Weights).peak
	p := Placement{Peak: peak, Bandwidth: d.Device.Bandwidth, Ridge: peak / d.Device.Bandwidth}
	for _, n := range batches {
		if n < 1 {
			return Placement{}, fmt.Errorf("a batch must have at least 1 sequence, got %d", n)
		}
		var s Step
		for range n {
			s.AddDecode(context-1, r.Window())
		}
		p.add(r, s, Point{Phase: "decode", Batch: n, Tokens: n, Context: context})
	}
	var s Step
	s.AddChunk(context, 0, true, r.Window())
	p.add(r, s, Point{Phase: "prefill", Batch: 1, Tokens: context, Context: context})
	return p, nil
}

// add prices s and fills in the rest of its point.
func (p *Placement) add(r *Roofline, s Step, at Point) {
	c, linear := r.Cost(s), r.linear.at(s.Tokens)
	at.Linear = linear.flops / linear.bytes
	at.Intensity = c.FLOPs / c.Bytes
	at.Attainable = min(p.Peak, at.Intensity*p.Bandwidth)
	at.Time = c.Device
	at.Achieved = c.FLOPs / c.Device.Seconds()
	at.Bound = "memory"
	if at.Intensity >= p.Ridge {
		at.Bound = "compute"
	}
	p.Points = append(p.Points, at)
}
