package metrics

import (
	"fmt"
	"math"

	"github.com/servesim/servesim/sim"
)

// A line is the waiting queue as arriving requests see it. Arrivals are the right clock for it: Poisson arrivals see time
// averages (R. W. Wolff, 1982), and the last one is where the question "is it still growing?" is put. Memory is bounded:
// neighbouring means are merged whenever the series is full.
type line struct {
	waiting int
	peak    int
	peakAt  sim.Time
	drained sim.Time // when the queue was last seen empty after the peak; 0: not yet
	last    sim.Time // newest arrival
	seen    int      // arrivals

	means [512]float64
	n     int // means that are complete
	width int // arrivals in each; 0 means 1
	sum   int // of the mean under way
	count int
}

// join adds an arrival to the queue.
func (q *line) join(now sim.Time) {
	q.sample(q.waiting)
	q.seen++
	q.last = now
	q.waiting++
	if q.waiting > q.peak {
		q.peak, q.peakAt, q.drained = q.waiting, now, 0
	}
}

// leave takes a request out: it was admitted, refused, or gave up.
func (q *line) leave(now sim.Time) {
	q.waiting--
	if q.waiting == 0 && q.drained == 0 {
		q.drained = now
	}
}

func (q *line) sample(v int) {
	q.width = max(q.width, 1)
	q.sum += v
	if q.count++; q.count < q.width {
		return
	}
	q.means[q.n] = float64(q.sum) / float64(q.width)
	q.sum, q.count = 0, 0
	if q.n++; q.n < len(q.means) {
		return
	}
	q.n /= 2
	for i := range q.n {
		q.means[i] = (q.means[2*i] + q.means[2*i+1]) / 2
	}
	q.width *= 2
}

// mean averages what the arrivals between two fractions of all saw.
func (q *line) mean(from, to float64) float64 {
	a, b := int(from*float64(q.n)), int(math.Ceil(to*float64(q.n)))
	var sum float64
	for _, v := range q.means[a:b] {
		sum += v
	}
	return ratio(sum, float64(b-a))
}

// chance is the queue that pure chance may pile up within n arrivals: twice the standard deviation, about √n, of the
// walk that a queue makes when service just keeps pace with Poisson arrivals.
func chance(n int) float64 { return 2 * math.Sqrt(float64(n)) }

// local is the number of arrivals within which a queue that comes and goes is judged.
const local = 1000

// growing reports whether the queue was longer than chance explains when arrivals ended, and had grown until then.
func (q *line) growing() bool {
	end, middle := q.mean(7./8, 1), q.mean(1./2, 5./8)
	return q.n >= 16 && end > chance(q.seen) && end > 1.2*middle
}

// verdict judges the run; open says that requests came at a finite rate whatever the server did.
func (q *line) verdict(open bool) Verdict {
	switch {
	case q.seen == 0:
		return Verdict{Stable, "no request arrived"}
	case open && q.growing():
		return Verdict{Overloaded, fmt.Sprintf(
			"the queue was still growing when arrivals ended at %.1f s: the last eighth of the %d requests found %.0f waiting on average, those just after the middle %.0f",
			q.last.Seconds(), q.seen, q.mean(7./8, 1), q.mean(1./2, 5./8))}
	case float64(q.peak) > chance(min(q.seen, local)):
		return Verdict{Backlogged, q.backlog()}
	}
	return Verdict{Stable, fmt.Sprintf("no more than %d of %d requests ever waited at once, %.1f on average as seen by arrivals",
		q.peak, q.seen, q.mean(0, 1))}
}

func (q *line) backlog() string {
	s := fmt.Sprintf("up to %d requests waited at once, at %.1f s", q.peak, q.peakAt.Seconds())
	if q.drained == 0 {
		return s + "; the queue had not drained when the run ended"
	}
	return s + fmt.Sprintf("; the queue had drained by %.1f s", q.drained.Seconds())
}
