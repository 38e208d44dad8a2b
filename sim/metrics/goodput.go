package metrics

import "time"

// A scoreboard counts the completed requests that met each target, and those that met all.
type scoreboard struct{ ttft, tpot, e2el, itl, all int }

// score judges a completed request. An answer of one token has no TPOT and no gaps, so it meets their targets.
func (b *scoreboard) score(r *record, slo *SLO) {
	good := slo.TTFT == 0 || met(&b.ttft, float64(r.ttft), slo.TTFT)
	good = (slo.TPOT == 0 || met(&b.tpot, r.tpot, slo.TPOT)) && good
	good = (slo.E2EL == 0 || met(&b.e2el, float64(r.e2el), slo.E2EL)) && good
	good = (slo.ITL == 0 || met(&b.itl, float64(r.worst), slo.ITL)) && good
	if good {
		b.all++
	}
}

// met counts a time that meets its target, and reports whether it does.
func met(count *int, ns float64, target time.Duration) bool {
	if ns > float64(target) {
		return false
	}
	*count++
	return true
}

// goodput reports the scores. Whatever did not complete is a miss: shares are of the submitted requests.
func (b *scoreboard) goodput(slo SLO, submitted int, seconds float64) Goodput {
	if slo.none() {
		return Goodput{}
	}
	share := func(n int, target time.Duration) *float64 {
		if target == 0 {
			return nil
		}
		v := ratio(float64(n), float64(submitted))
		return &v
	}
	rate, attainment := ratio(float64(b.all), seconds), ratio(float64(b.all), float64(submitted))
	return Goodput{RequestsPerS: &rate, Attainment: &attainment, ByMetric: ByMetric{
		TTFT: share(b.ttft, slo.TTFT), TPOT: share(b.tpot, slo.TPOT),
		E2EL: share(b.e2el, slo.E2EL), ITL: share(b.itl, slo.ITL),
	}}
}
