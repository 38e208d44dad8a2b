package measured

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/servesim/servesim/scenarios"
)

// A coordinate says how a constant is searched: on which scale, how far from its default it may be expected, and
// within which bounds anything physical lies.
type coordinate struct {
	constant  scenarios.Constant
	spread    float64 // one unit of z: seconds, or a share where logarithmic
	log       bool
	low, high float64 // of the value
	start     float64 // the default, z = 0
}

// coordinates returns all of them, in the order in which they are worth fitting: with a single load the front end is
// what a first token has beyond its steps and the exposed base what each step has beyond the device; only loads of
// different batches tell what a sequence costs; only loads of different lengths tell bandwidth and arithmetic apart.
//
// The spreads are those seen among served runs: exposed times between 0 and 1.6 ms + 20 µs a sequence, front ends of
// 6 to 30 ms and more, and kernels that reach 15 % less or more than on another machine of the same card.
func coordinates(start scenarios.Constants) []coordinate {
	all := []coordinate{
		{constant: scenarios.FrontendLatency, spread: 20e-3, low: 0, high: 1},
		{constant: scenarios.ExposedBase, spread: 0.5e-3, low: 0, high: 20e-3},
		{constant: scenarios.ExposedPerSeq, spread: 15e-6, low: 0, high: 500e-6},
		{constant: scenarios.BandwidthFraction, spread: 0.15, log: true, low: 0.5, high: 1.3},
		{constant: scenarios.FLOPFraction, spread: 0.15, log: true, low: 0.5, high: 1.3},
		{constant: scenarios.KVBlocks, spread: 0.3, log: true, low: 2, high: 1e9},
	}
	for i := range all {
		all[i].start = start[all[i].constant]
	}
	return all
}

func (c *coordinate) value(z float64) float64 {
	v := c.start + z*c.spread
	if c.log {
		v = c.start * math.Exp(z*c.spread)
	}
	return min(max(v, c.low), c.high)
}

func (c *coordinate) z(value float64) float64 {
	if c.log {
		return math.Log(value/c.start) / c.spread
	}
	return (value - c.start) / c.spread
}

// Derivatives are taken over steps of z that are wide at first, so that the few preemptions and the grouping of arrivals
// that shift with the constants do not show, and narrow at the end, where a wide one would not see the bottom.
const (
	widestProbe    = 0.2
	narrowestProbe = 0.02
)

// A fit searches the constants that come nearest to what was measured: it minimises
//
//	Σ (ln predicted/measured)²/σ² + Σ z²
//
// within the bounds. The second sum, a prior of one spread, keeps at their defaults the constants, or the combinations
// of them, of which the measurements say nothing; σ, the error that is left, decides how much they say. It is found
// by Gauss and Newton: simulations give the errors and their slopes at a point, the optimiser solves the problem that is
// linear in the constants, and the step is taken if a simulation confirms it, else halved.
type fit struct {
	trials []*trial
	coords []coordinate
	base   scenarios.Constants // for what is not fitted
	played int                 // simulations
	probe  float64

	z     []float64
	at    point
	slope [][]float64 // by error and coordinate
	sigma float64
}

// The error that is left is never taken for smaller than the repeatability of a simulation, nor for larger than what
// would leave everything to the prior.
const (
	leastSigma = 0.0003
	mostSigma  = 0.05
)

func (f *fit) constants(z []float64) scenarios.Constants {
	c := f.base
	for i := range f.coords {
		c[f.coords[i].constant] = f.coords[i].value(z[i])
	}
	return c
}

// play plays all trials at some points.
func (f *fit) play(ctx context.Context, zs ...[]float64) ([]point, error) {
	var sets []scenarios.Constants
	for _, z := range zs {
		sets = append(sets, f.constants(z))
	}
	f.played += len(sets) * len(f.trials)
	return play(ctx, f.trials, sets)
}

// search moves from z to the best point near it. Where a step leads no further the slopes may be at fault: in a closed
// loop of few clients the arrivals may fall into another rhythm, and one result jumps. So it looks, too, where the
// results would lead with any one of them left out.
func (f *fit) search(ctx context.Context, z []float64) error {
	const (
		rounds = 14
		near   = 0.02 // a step that changes no constant by more of its spread has arrived
		exact  = 1e-4 // of a root mean square: nothing is left to explain
	)
	f.z, f.probe = z, widestProbe
	for range rounds {
		if err := f.derive(ctx); err != nil {
			return err
		}
		moved, err := f.step(ctx)
		if err != nil || rms(f.at.errors()) < exact {
			return err
		}
		if moved >= near {
			continue
		}
		if f.probe /= 3; f.probe > narrowestProbe {
			continue
		}
		if moved, err = f.try(ctx, f.without(widestReach)...); err != nil || moved < near {
			return err
		}
		f.probe = widestProbe / 3
	}
	return nil
}

// without returns, for each trial, where the others alone lead.
func (f *fit) without(reach float64) [][]float64 {
	all := f.at.errors()
	zs := make([][]float64, len(f.trials))
	from := 0
	for i, t := range f.trials {
		to := from + len(t.what)
		zs[i] = f.linear(slices.Concat(all[:from], all[to:]), slices.Concat(f.slope[:from], f.slope[to:]), reach)
		from = to
	}
	return zs
}

// derive plays the point and its neighbours.
func (f *fit) derive(ctx context.Context) error {
	zs := [][]float64{f.z}
	steps := make([]float64, len(f.z))
	for i := range f.z {
		steps[i] = f.probe
		if c := &f.coords[i]; c.value(f.z[i]+f.probe) >= c.high {
			steps[i] = -f.probe
		}
		z := slices.Clone(f.z)
		z[i] += steps[i]
		zs = append(zs, z)
	}
	points, err := f.play(ctx, zs...)
	if err != nil {
		return err
	}
	for _, p := range points {
		if p.err != nil {
			return p.err
		}
	}
	f.at = points[0]
	here := f.at.errors()
	f.slope = make([][]float64, len(here))
	for i := range here {
		f.slope[i] = make([]float64, len(f.z))
	}
	for j, p := range points[1:] {
		for i, e := range p.errors() {
			f.slope[i][j] = (e - here[i]) / steps[j]
		}
	}
	f.sigma = min(max(typical(here), leastSigma), mostSigma)
	return nil
}

// typical returns the standard deviation of a normal law with the median size of these errors: a few large ones do not
// move it.
func typical(errors []float64) float64 {
	sizes := make([]float64, len(errors))
	for i, e := range errors {
		sizes[i] = math.Abs(e)
	}
	slices.Sort(sizes)
	return percentile(sizes, 50) / 0.6745
}

// cost is what is minimised.
func (f *fit) cost(errors, z []float64) float64 {
	sum := 0.0
	for _, e := range errors {
		sum += e * e / (f.sigma * f.sigma)
	}
	for _, v := range z {
		sum += v * v
	}
	return sum
}

// widestReach is how far, in z, slopes are trusted.
const widestReach = 2

// step takes a step that lowers the cost and returns its length; 0 if there is none.
func (f *fit) step(ctx context.Context) (float64, error) {
	const least = widestReach / 64.0
	for reach := float64(widestReach); reach >= least; reach /= 4 {
		moved, err := f.try(ctx, f.linear(f.at.errors(), f.slope, reach))
		if err != nil || moved > 0 {
			return moved, err
		}
	}
	return 0, nil
}

// try moves to the best of some points, if it is better than where the search stands, and returns how far that is.
func (f *fit) try(ctx context.Context, zs ...[]float64) (float64, error) {
	points, err := f.play(ctx, zs...)
	if err != nil {
		return 0, err
	}
	best, least := -1, f.cost(f.at.errors(), f.z)
	for i := range points {
		if points[i].err != nil {
			continue
		}
		if cost := f.cost(points[i].errors(), zs[i]); cost < least {
			best, least = i, cost
		}
	}
	if best < 0 {
		return 0, nil
	}
	moved := 0.0
	for i, z := range zs[best] {
		moved = max(moved, math.Abs(z-f.z[i]))
	}
	f.z, f.at = zs[best], points[best]
	return moved, nil
}

// linear solves the problem with these errors and slopes at f.z: it returns the best z within the bounds and within
// reach. Bounds are kept by searching u, with z = low + (high − low)/(1 + e^−u), in which there are none.
func (f *fit) linear(errors []float64, slope [][]float64, reach float64) []float64 {
	n := len(f.z)
	low, width, z := make([]float64, n), make([]float64, n), make([]float64, n)
	u := make([]float64, n)
	for i := range f.coords {
		c := &f.coords[i]
		low[i] = f.z[i] - reach
		high := min(f.z[i]+reach, c.z(c.high))
		if !c.log || c.low > 0 {
			low[i] = max(low[i], c.z(c.low))
		}
		width[i] = max(high-low[i], 1e-9)
		share := min(max((f.z[i]-low[i])/width[i], 0.01), 0.99)
		u[i] = math.Log(share / (1 - share))
	}
	place := func(u []float64) {
		for i := range z {
			z[i] = low[i] + width[i]/(1+math.Exp(-u[i]))
		}
	}
	left := make([]float64, len(errors))
	problem := optimize.Problem{
		Func: func(u []float64) float64 {
			place(u)
			f.extrapolate(left, errors, slope, z)
			return f.cost(left, z)
		},
		Grad: func(grad, u []float64) {
			place(u)
			f.extrapolate(left, errors, slope, z)
			for j := range grad {
				g := 2 * z[j]
				for i := range left {
					g += 2 * left[i] * slope[i][j] / (f.sigma * f.sigma)
				}
				s := (z[j] - low[j]) / width[j]
				grad[j] = g * width[j] * s * (1 - s)
			}
		},
	}
	// The search may end because it gets no further, which is an error to the library and the answer to us.
	best, _ := optimize.Minimize(problem, u, &optimize.Settings{MajorIterations: 500}, &optimize.BFGS{})
	if best != nil {
		u = best.X
	}
	place(u)
	return z
}

// extrapolate puts into left the errors expected at z.
func (f *fit) extrapolate(left, errors []float64, slope [][]float64, z []float64) {
	for i := range left {
		left[i] = errors[i]
		for j := range z {
			left[i] += slope[i][j] * (z[j] - f.z[j])
		}
	}
}

// uncertainty returns the standard deviations of z that errors of size σ leave: the roots of the diagonal of
// (JᵀJ/σ² + 1)⁻¹. One near 1 says that the measurements told nothing.
func (f *fit) uncertainty() []float64 {
	n := len(f.z)
	a := make([][]float64, n) // the matrix, and the identity that becomes its inverse
	for i := range a {
		a[i] = make([]float64, 2*n)
		a[i][i], a[i][n+i] = 1, 1
		for j := range n {
			for k := range f.slope {
				a[i][j] += f.slope[k][i] * f.slope[k][j] / (f.sigma * f.sigma)
			}
		}
	}
	for i := range n { // positive definite: no pivot is zero
		for j := range a[i] {
			if j != i {
				a[i][j] /= a[i][i]
			}
		}
		a[i][i] = 1
		for k := range n {
			if factor := a[k][i]; k != i {
				for j := range a[k] {
					a[k][j] -= factor * a[i][j]
				}
			}
		}
	}
	sd := make([]float64, n)
	for i := range sd {
		sd[i] = math.Sqrt(a[i][n+i])
	}
	return sd
}
