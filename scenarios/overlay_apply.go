package scenarios

import (
	"fmt"
	"math"

	"github.com/servesim/servesim/sim/metrics"
)

// WithConstants returns the same scenario on a machine with these constants; nothing is asked about where they come
// from. It is for fitting them.
func (s *Scenario) WithConstants(c Constants) *Scenario {
	other := *s
	other.Overlay, other.overlay = "", &Overlay{Constants: c}
	if c.has(FrontendLatency) {
		other.Frontend.Latency = fromProfile // a given one would win
	}
	return &other
}

// Constants returns the values that are in force. The fractions are factors on what the device's kernels reach.
func (x *Experiment) Constants() Constants {
	c := Constants{
		ExposedBase: x.Deployment.Host.ExposedBase, ExposedPerSeq: x.Deployment.Host.ExposedPerSeq,
		FrontendLatency: x.Scenario.Frontend.Latency.Seconds(), BandwidthFraction: 1, FLOPFraction: 1,
		KVBlocks: float64(x.Memory.Blocks),
	}
	if o := x.Scenario.overlay; o != nil {
		for _, i := range []Constant{BandwidthFraction, FLOPFraction} {
			if o.Constants.has(i) {
				c[i] = o.Constants[i]
			}
		}
	}
	return c
}

// Overlaid returns the overlay that the scenario asks for, nil if there is none.
func (x *Experiment) Overlaid() *Overlay { return x.Scenario.overlay }

// readOverlay opens the overlay that the scenario names and lets it choose the engine profile. Its path in the resolved
// configuration is absolute, so that the configuration runs from anywhere.
func (x *deployment) readOverlay(m *Mistakes) {
	s := x.s
	if s.Overlay != "" {
		s.Overlay = s.resolvePath("overlay", s.Overlay)
		o, err := OpenOverlay(s.Overlay)
		if err != nil {
			*m = append(*m, overlayMistakes(s, err)...)
			return
		}
		s.overlay = o
		if p, ok := FindProfile(o.EngineProfile); ok && s.overlayDecides() {
			x.profile = p
		}
	}
	if s.overlay != nil {
		s.overlay.Constants.onProfile(&x.profile)
	}
}

// overlayDecides reports whether the engine profile is the overlay's to choose: an explicit one wins, but a flag wins over
// the scenario file.
func (s *Scenario) overlayDecides() bool {
	return !s.Explicit("engine.profile") || s.place("overlay").origin != "" && s.place("engine.profile").origin == ""
}

// overlayMistakes keeps the places within the overlay's own file.
func overlayMistakes(s *Scenario, err error) Mistakes {
	if inFile, ok := err.(Mistakes); ok {
		return inFile
	}
	var m Mistakes
	m.at(s, "overlay", "%v", err)
	return m
}

// overlayDevice applies the overlay to the device, and notes in what the engine differs from the one that it was fitted to.
func (x *deployment) overlayDevice() {
	o := x.s.overlay
	if o == nil {
		return
	}
	o.Constants.onDevice(&x.Device)
	if p, ok := FindProfile(o.EngineProfile); ok && p.Name != x.profile.Name {
		x.note(fmt.Sprintf("the profile %s was fitted to %s, this is %s: host and front-end times may differ", o.label(), p.Name, x.profile.Name))
	}
	if o.GPU != "" && o.GPU != x.Device.Name {
		x.note(fmt.Sprintf("the profile %s was fitted to a %s, this is a %s: the fractions are applied to the kernels of this card", o.label(), o.GPU, x.Device.Name))
	}
}

func (o *Overlay) label() string {
	if o.Name != "" {
		return o.Name
	}
	return o.file
}

// overlayBlocks returns the KV blocks of the overlay; 0 leaves them to the plan, because there is no overlay, because
// the pool's size was asked for, or because blocks counted on another engine mean nothing here.
func (x *deployment) overlayBlocks() int {
	o, s := x.s.overlay, x.s
	if o == nil || !o.Constants.has(KVBlocks) || s.Engine.KVCacheMemoryBytes > 0 {
		return 0
	}
	if differs := o.differs(x); differs != "" {
		x.note(fmt.Sprintf("the profile %s was fitted to %s: its kv_blocks are not used, the memory plan is", o.label(), differs))
		return 0
	}
	return int(math.Round(o.Constants[KVBlocks]))
}

// differs says in what the engine differs from the one that the overlay was fitted to, as far as memory is concerned.
func (o *Overlay) differs(x *deployment) string {
	switch {
	case o.GPU != "" && o.GPU != x.Device.Name:
		return "a " + o.GPU
	case o.Model != "" && o.Model != x.Model.Name:
		return o.Model
	case o.Weights != "" && o.Weights != string(x.Weights):
		return o.Weights + " weights"
	case o.TensorParallel > 0 && o.TensorParallel != x.TP:
		return fmt.Sprintf("tensor_parallel_size %d", o.TensorParallel)
	case o.PipelinePar > 0 && o.PipelinePar != x.PP:
		return fmt.Sprintf("pipeline_parallel_size %d", o.PipelinePar)
	}
	return ""
}

// slack is how far beyond the fitted range a load may lie before anybody is warned: a tenth says nothing new of a
// machine.
const slack = 0.1

// outside warns of a load that lies beyond those that the constants were fitted to.
func (x *Experiment) outside(r *metrics.Report) []string {
	o := x.Scenario.overlay
	if o == nil || r.Requests.Completed == 0 {
		return nil
	}
	n := float64(r.Requests.Completed)
	if w := r.Warmup; w != nil {
		n -= float64(w.Completed)
	}
	if n <= 0 {
		return nil
	}
	var warnings []string
	check := func(s Span, v float64, what string) {
		if s != (Span{}) && (v < s[0]*(1-slack) || v > s[1]*(1+slack)) {
			warnings = append(warnings, fmt.Sprintf("the profile %s was fitted to %s between %.4g and %.4g, this run has %.4g: its constants are a guess here",
				o.label(), what, s[0], s[1], v))
		}
	}
	check(o.Fitted.Requests, r.Concurrency.L, "mean requests in the system")
	check(o.Fitted.PromptTokens, float64(r.Tokens.Input)/n, "mean prompts")
	check(o.Fitted.OutputTokens, float64(r.Tokens.Output)/n, "mean answers")
	return warnings
}
