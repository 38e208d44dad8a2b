package scenarios

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/servesim/servesim/hardware"
)

// A Constant is one of the physical numbers in which one machine differs from another that runs the same engine.
type Constant int

// The constants, in the order in which they are shown.
const (
	ExposedBase       Constant = iota // host time of a step that nothing hides, in seconds
	ExposedPerSeq                     // the same for each sequence in it
	FrontendLatency                   // from the client to the scheduler's queue and back, in seconds
	BandwidthFraction                 // factor on the fractions of memory bandwidth that the device's kernels reach
	FLOPFraction                      // factor on the fractions of peak arithmetic that they reach
	KVBlocks                          // blocks of the KV pool
	numConstants      = iota
)

// constantNames are their keys in a file.
var constantNames = [numConstants]string{
	"exposed_base", "exposed_per_seq", "frontend_latency", "bandwidth_fraction", "flop_fraction", "kv_blocks",
}

// String returns the constant's key.
func (c Constant) String() string { return constantNames[c] }

// Format writes a value of the constant as a file has it: a span of time, a factor, or a whole number.
func (c Constant) Format(v float64) string {
	switch c {
	case ExposedBase, ExposedPerSeq, FrontendLatency:
		return time.Duration(math.Round(v * 1e9)).String()
	case KVBlocks:
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Constants holds a value for each Constant; NaN leaves it to the engine profile, the device and the memory plan.
type Constants [numConstants]float64

// NoConstants returns constants that leave everything as it is.
func NoConstants() Constants {
	var c Constants
	for i := range c {
		c[i] = math.NaN()
	}
	return c
}

func (c *Constants) has(i Constant) bool { return !math.IsNaN(c[i]) }

// onProfile puts the host's constants in place of the profile's.
func (c *Constants) onProfile(p *Profile) {
	if c.has(ExposedBase) {
		p.Host.ExposedBase = c[ExposedBase]
	}
	if c.has(ExposedPerSeq) {
		p.Host.ExposedPerSeq = c[ExposedPerSeq]
	}
	if c.has(FrontendLatency) {
		p.Frontend.Ingress = time.Duration(math.Round(c[FrontendLatency] * 1e9))
	}
}

// onDevice scales what the device's kernels reach. What collectives reach of a link is not scaled.
func (c *Constants) onDevice(d *hardware.Device) {
	k := &d.Kernels
	scale := func(i Constant, fractions ...*float64) {
		for _, f := range fractions {
			if c.has(i) {
				*f *= c[i]
			}
		}
	}
	scale(BandwidthFraction, &k.GEMM.Memory, &k.GEMMFP8.Memory, &k.MoE.Memory, &k.DecodeMemory, &k.DecodeMemoryFP8, &k.ElementMemory)
	scale(FLOPFraction, &k.GEMM.Compute, &k.GEMMFP8.Compute, &k.MoE.Compute, &k.PrefillCompute)
}

// A Span is the range that a quantity covered: its least and greatest value. The zero Span was not recorded.
type Span [2]float64

// Add widens the span to hold v.
func (s *Span) Add(v float64) {
	if *s == (Span{}) {
		*s = Span{v, v}
		return
	}
	s[0], s[1] = min(s[0], v), max(s[1], v)
}

// Fitted is the range of loads that constants were fitted to; beyond it they are a guess.
type Fitted struct {
	Results      int  // how many
	Requests     Span // in the system, averaged over time (Little's law)
	PromptTokens Span // mean of a result
	OutputTokens Span
}

// An Overlay is what is known of one machine beyond its engine profile and its device: constants that were fitted to
// measurements of it, and where these come from. An empty name of what it was measured on stands for any.
type Overlay struct {
	Name, EngineProfile         string
	GPU, Model, Weights         string
	TensorParallel, PipelinePar int
	Constants                   Constants
	Fitted                      Fitted
	Source                      []string // of the measurements
	ErrorBeforePct              float64  // root mean square over the results, of the profile's own constants …
	ErrorAfterPct               float64  // … of these …
	LeaveOneOutPct              float64  // … and of each result when the others alone are fitted; 0: not known

	file string
}

func (c *Constants) none() bool {
	return !slices.ContainsFunc(c[:], func(v float64) bool { return !math.IsNaN(v) })
}
