package metrics

import "github.com/servesim/servesim/sim/engine"

// stories adds up, over completed requests, where their time to first token and between tokens went.
type stories struct {
	frontend, queue, prefill, interference, transfer, overhead int64 // TTFT, in nanoseconds

	// TPOT: each request's time from first to last token divided by its gaps, as TPOT is.
	between              [causes]float64
	preemption, delivery float64
}

// addTTFT splits the time to first token. The way in and the way out are the frontend's, the steps that computed the
// prompt have been charged already, and the rest was spent waiting.
func (s *stories) addTTFT(st *stay, l *engine.Life) {
	ttft := int64(l.First - l.Request.Arrival)
	in := min(max(int64(l.Queued-l.Request.Arrival), 0), ttft)
	out := min(max(int64(l.First-st.firstEnd()), 0), ttft-in)
	rest := ttft - in - out
	prefill, interference, burdens := st.own.prefill, st.own.interference, st.own.burdens
	own := prefill + interference + burdens
	if own > rest { // not in a run; but whatever hooks report, shares must sum to one
		prefill, interference = portion(rest, prefill, own), portion(rest, interference, own)
		burdens = rest - prefill - interference
		own = rest
	}
	s.frontend += in + out
	s.queue += rest - own
	s.prefill += prefill
	s.interference += interference
	s.overhead += burdens
}

// addTPOT splits the time from first to last token: absences after a preemption as a whole, the rest as the engine's
// cumulative times moved on meanwhile.
func (s *stories) addTPOT(st *stay, l *engine.Life, w *watch) {
	gaps := float64(l.Emitted - 1)
	span := int64(l.Last - st.first.at)
	now, then := &w.sums, &st.first.by
	d := split{
		now[compute] - then[compute], now[weights] - then[weights], now[kvRead] - then[kvRead],
		now[network] - then[network], now[overhead] - then[overhead], now[interference] - then[interference],
	}
	if st.preempted {
		a := &w.absences[l.Slot]
		d = d.minus(&a.gone)
		span -= a.span
		s.preemption += float64(a.span) / gaps
	}
	scale := 1.0
	if t := d.total(); t > span {
		scale = float64(span) / float64(t)
	} else {
		s.delivery += float64(span-t) / gaps
	}
	b := &s.between
	b[compute] += scale * float64(d[compute]) / gaps
	b[weights] += scale * float64(d[weights]) / gaps
	b[kvRead] += scale * float64(d[kvRead]) / gaps
	b[network] += scale * float64(d[network]) / gaps
	b[overhead] += scale * float64(d[overhead]) / gaps
	b[interference] += scale * float64(d[interference]) / gaps
}

// ttft returns the shares of the mean time to first token.
func (s *stories) ttft() TTFTShares {
	total := float64(s.frontend + s.queue + s.prefill + s.interference + s.transfer + s.overhead)
	return TTFTShares{
		Frontend: ratio(float64(s.frontend), total), Queue: ratio(float64(s.queue), total),
		Prefill: ratio(float64(s.prefill), total), Interference: ratio(float64(s.interference), total),
		Transfer: ratio(float64(s.transfer), total), Overhead: ratio(float64(s.overhead), total),
	}
}

// tpot returns the shares of the mean time per output token.
func (s *stories) tpot() TPOTShares {
	total := s.preemption + s.delivery
	for _, v := range s.between {
		total += v
	}
	return TPOTShares{
		Compute: ratio(s.between[compute], total), Weights: ratio(s.between[weights], total),
		KVRead: ratio(s.between[kvRead], total), Network: ratio(s.between[network], total),
		Overhead: ratio(s.between[overhead], total), Interference: ratio(s.between[interference], total),
		Preemption: ratio(s.preemption, total), Frontend: ratio(s.delivery, total),
	}
}
