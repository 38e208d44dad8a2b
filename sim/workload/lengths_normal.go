package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Normal is a normal law whose draws are rounded and cut to at least one token. The cut raises the mean; see
// [Length.Note].
type Normal struct {
	Mean  float64
	Stdev float64 // 0: every draw is Mean
}

func (n Normal) String() string {
	return fmt.Sprintf("normal with mean %v and stdev %v", n.Mean, n.Stdev)
}

func (n Normal) mean() float64 { return n.Mean }

// clamped is E[min(max(X, lo), hi)], which with a = (lo−μ)/σ and b = (hi−μ)/σ is
//
//	lo·Φ(a) + μ·(Φ(b)−Φ(a)) − σ·(φ(b)−φ(a)) + hi·(1−Φ(b))
func (n Normal) clamped(lo, hi float64) float64 {
	if n.Stdev == 0 {
		return min(max(n.Mean, lo), hi)
	}
	a, b := (lo-n.Mean)/n.Stdev, (hi-n.Mean)/n.Stdev
	z := distuv.UnitNormal
	return lo*z.CDF(a) + n.Mean*(z.CDF(b)-z.CDF(a)) - n.Stdev*(z.Prob(b)-z.Prob(a)) + hi*z.Survival(b)
}

func (n Normal) check(c *faults, field string) {
	checkMean(c, field+".mean", n.Mean)
	if !(n.Stdev >= 0 && n.Stdev <= Longest) {
		c.add(field+".stdev", "must lie between 0 and %d tokens, got %v", Longest, n.Stdev)
	}
}

func (n Normal) sampler(src rand.Source) sampler {
	if n.Stdev == 0 {
		return sampler{law: constant(n.Mean), lo: 1, hi: Longest}
	}
	return sampler{law: distuv.Normal{Mu: n.Mean, Sigma: n.Stdev, Src: src}, lo: 1, hi: Longest}
}

// LogNormal is a log-normal law: ln X is normal with mean μ and deviation σ. Two of its four numbers determine it:
// Mean with P99, Sigma or Median; or Median with P99 or Sigma. A single Mean or Median is a constant.
type LogNormal struct {
	Mean   float64 // exp(μ + σ²/2)
	Median float64 // exp(μ)
	P99    float64 // exp(μ + z·σ), z = 2.326…
	Sigma  float64 // σ
}

func (l LogNormal) String() string {
	mu, sigma := l.parameters()
	return fmt.Sprintf("lognormal with median %.4g and sigma %.3g", math.Exp(mu), sigma)
}

func z99() float64 { return distuv.UnitNormal.Quantile(0.99) }

// parameters returns μ and σ. From the mean and the 99th percentile,
//
//	ln(P99/Mean) = z·σ − σ²/2   ⇒   σ = z − √(z² − 2·ln(P99/Mean))
//
// (the other root has a tail so heavy that the 99th percentile lies far below where the mean comes from).
func (l LogNormal) parameters() (mu, sigma float64) {
	switch {
	case l.Mean > 0 && l.P99 > 0:
		sigma = z99() - math.Sqrt(max(z99()*z99()-2*math.Log(l.P99/l.Mean), 0))
	case l.Mean > 0 && l.Median > 0:
		sigma = math.Sqrt(2 * math.Log(l.Mean/l.Median))
	case l.P99 > 0:
		sigma = math.Log(l.P99/l.Median) / z99()
	default:
		sigma = l.Sigma
	}
	if l.Median > 0 {
		return math.Log(l.Median), sigma
	}
	return math.Log(l.Mean) - sigma*sigma/2, sigma
}

func (l LogNormal) mean() float64 {
	mu, sigma := l.parameters()
	return math.Exp(mu + sigma*sigma/2)
}

// clamped is E[min(max(X, lo), hi)], which with a = (ln lo−μ)/σ and b = (ln hi−μ)/σ is
//
//	lo·Φ(a) + exp(μ+σ²/2)·(Φ(b−σ)−Φ(a−σ)) + hi·(1−Φ(b))
func (l LogNormal) clamped(lo, hi float64) float64 {
	mu, sigma := l.parameters()
	if sigma == 0 {
		return min(max(l.mean(), lo), hi)
	}
	a, b := (math.Log(lo)-mu)/sigma, (math.Log(hi)-mu)/sigma
	z := distuv.UnitNormal
	return lo*z.CDF(a) + l.mean()*(z.CDF(b-sigma)-z.CDF(a-sigma)) + hi*z.Survival(b)
}

func (l LogNormal) sampler(src rand.Source) sampler {
	mu, sigma := l.parameters()
	if sigma == 0 {
		return sampler{law: constant(l.mean()), lo: 1, hi: Longest}
	}
	return sampler{law: distuv.LogNormal{Mu: mu, Sigma: sigma, Src: src}, lo: 1, hi: Longest}
}

func (l LogNormal) check(c *faults, field string) {
	before := len(c.list)
	given := 0
	for _, v := range []struct {
		name  string
		value float64
	}{{"mean", l.Mean}, {"median", l.Median}, {"p99", l.P99}} {
		if v.value != 0 {
			given++
			checkMean(c, field+"."+v.name, v.value)
		}
	}
	if l.Sigma != 0 {
		given++
		if !(l.Sigma > 0 && l.Sigma <= 5) {
			c.add(field+".sigma", "must lie between 0 and 5, got %v", l.Sigma)
		}
	}
	if len(c.list) > before {
		return
	}
	switch {
	case l.Mean == 0 && l.Median == 0:
		c.add(field+".mean", "is missing: a lognormal needs its mean or its median")
	case given > 2:
		c.add(field, "has %d of mean, median, p99 and sigma, but two determine a lognormal: drop the others", given)
	default:
		l.checkOrder(c, field)
	}
}

// checkOrder refuses pairs that no lognormal has.
func (l LogNormal) checkOrder(c *faults, field string) {
	most := math.Exp(z99() * z99() / 2)
	switch {
	case l.Mean > 0 && l.P99 > 0 && l.P99 < l.Mean:
		c.add(field+".p99", "must be at least the mean, %v, got %v", l.Mean, l.P99)
	case l.Mean > 0 && l.P99 > most*l.Mean:
		c.add(field+".p99", "must be at most %.4g times the mean, %v, got %v: no lognormal has a longer tail there", most, l.Mean, l.P99)
	case l.Median > 0 && l.P99 > 0 && l.P99 < l.Median:
		c.add(field+".p99", "must be at least the median, %v, got %v", l.Median, l.P99)
	case l.Median > 0 && l.Mean > 0 && l.Mean < l.Median:
		c.add(field+".mean", "must be at least the median, %v, got %v", l.Median, l.Mean)
	}
}

// checkMean refuses what no length in tokens can be on average; NaN and infinities are among it.
func checkMean(c *faults, field string, v float64) {
	if !(v >= 1 && v <= Longest) {
		c.add(field, "must lie between 1 and %d tokens, got %v", Longest, v)
	}
}
