package metrics

import (
	"fmt"
	"math"
	"slices"

	"github.com/servesim/servesim/sim"
)

// A line is the waiting queue as arriving requests see it. Arrivals are the right clock for it: Poisson arrivals see time
// averages (R. W. Wolff, 1982), and the last one is where the question "is it still growing?" is put.
type line struct {
	waiting int
	peak    int
	peakAt  sim.Time
	drained sim.Time   // when the queue was last seen empty after the peak; 0: not yet
	last    sim.Time   // newest arrival
	coming  []sim.Time // when those who have been sent, but are still in the front end, will join; in order
	next    sim.Time   // the first of them, or never; 0: not known
	seen    int        // arrivals

	gaveUp int // how many gave up on account of the queue
	unmet  int // … since the queue was last empty: had they stayed, they would still be in it

	found   series // what arrivals found waiting
	without series // what they would have found, had nobody given up
}

// expect notes that a request will join at an instant: what it waits for before is not this queue.
func (q *line) expect(at sim.Time) {
	q.coming = append(q.coming, at)
	for i := len(q.coming) - 1; i > 0 && q.coming[i-1] > at; i-- {
		q.coming[i-1], q.coming[i] = at, q.coming[i-1]
	}
	q.next = q.coming[0]
}

// until lets those join whose time has come.
func (q *line) until(now sim.Time) {
	if q.next <= now {
		q.letIn(now)
	}
}

func (q *line) letIn(now sim.Time) {
	n := 0
	for n < len(q.coming) && q.coming[n] <= now {
		q.join(q.coming[n])
		n++
	}
	if n == len(q.coming) {
		q.coming, q.next = q.coming[:0], sim.Never
		return
	}
	q.coming = slices.Delete(q.coming, 0, n)
	q.next = q.coming[0]
}

// join adds an arrival to the queue.
func (q *line) join(now sim.Time) {
	q.found.sample(q.waiting)
	q.without.sample(q.waiting + q.unmet)
	q.seen++
	q.last = now
	q.waiting++
	if q.waiting > q.peak {
		q.peak, q.peakAt, q.drained = q.waiting, now, 0
	}
}

// leave takes out a request that joined, or was to join, at an instant: it was admitted, refused, or gave up.
func (q *line) leave(now, joined sim.Time) {
	q.until(now)
	if joined > now {
		i := slices.Index(q.coming, joined)
		q.coming, q.next = slices.Delete(q.coming, i, i+1), 0
		return
	}
	q.waiting--
	if q.waiting > 0 {
		return
	}
	q.unmet = 0
	if q.drained == 0 {
		q.drained = now
	}
}

// giveUp says that a request which is no longer waiting left for its wait: the time that it was served is lost as well.
func (q *line) giveUp() {
	q.gaveUp++
	if q.waiting > 0 {
		q.unmet++
	}
}

// A series keeps what arrivals saw, in bounded memory: neighbouring means are merged whenever there are seriesMost.
type series struct {
	means []float64
	width int // arrivals in each; 0 means 1
	sum   int // of the mean under way
	count int
}

const seriesMost = 512

func (s *series) sample(v int) {
	s.sum += v
	if s.count++; s.count >= s.width {
		s.complete()
	}
}

// complete closes the mean under way.
func (s *series) complete() {
	s.width = max(s.width, 1)
	s.means = append(s.means, float64(s.sum)/float64(s.width))
	s.sum, s.count = 0, 0
	if len(s.means) < seriesMost {
		return
	}
	half := s.means[:seriesMost/2]
	for i := range half {
		half[i] = (s.means[2*i] + s.means[2*i+1]) / 2
	}
	s.means = half
	s.width *= 2
}

// mean averages what the arrivals between two fractions of all saw.
func (s *series) mean(from, to float64) float64 {
	n := float64(len(s.means))
	a, b := int(from*n), int(math.Ceil(to*n))
	var sum float64
	for _, v := range s.means[a:b] {
		sum += v
	}
	return ratio(sum, float64(b-a))
}

// chance is the queue that pure chance may pile up within n arrivals: twice the standard deviation, about √n, of the
// walk that a queue makes when service just keeps pace with Poisson arrivals.
func chance(n int) float64 { return 2 * math.Sqrt(float64(n)) }

// local is the number of arrivals within which a queue that comes and goes is judged.
const local = 1000

// growing reports whether the queue was longer than chance explains when arrivals ended, and had grown until then. It is
// the queue as it would have been if nobody had given up: impatience keeps a queue short, but serves nobody.
func (q *line) growing() bool {
	end, middle := q.without.mean(7./8, 1), q.without.mean(1./2, 5./8)
	return len(q.without.means) >= 16 && end > chance(q.seen) && end > 1.2*middle
}

// verdict judges the run by its queue, and says what the queue cannot show.
func (r *Recorder) verdict(total Requests) Verdict {
	if n := total.Submitted; n > 0 && total.Rejected == n {
		return Verdict{Stable, fmt.Sprintf("no request was accepted: all %d were rejected", n)}
	}
	v := r.line.verdict(r.c.Open)
	if total.Aborted > 0 {
		v.Why += fmt.Sprintf("; %d of %d requests were aborted by their clients, %d of them after more time in the queue than in service",
			total.Aborted, total.Submitted, r.line.gaveUp)
	}
	return v
}

// verdict judges the queue; open says that requests came at a finite rate whatever the server did.
func (q *line) verdict(open bool) Verdict {
	switch {
	case q.seen == 0:
		return Verdict{Stable, "no request arrived"}
	case open && q.growing():
		return Verdict{Overloaded, fmt.Sprintf(
			"the queue was still growing when arrivals ended at %.1f s: the last eighth of the %d requests found %.0f waiting%s on average, those just after the middle %.0f",
			q.last.Seconds(), q.seen, q.without.mean(7./8, 1), q.impatient(), q.without.mean(1./2, 5./8))}
	case float64(q.peak) > chance(min(q.seen, local)):
		return Verdict{Backlogged, q.backlog()}
	}
	return Verdict{Stable, fmt.Sprintf("no more than %d of %d requests ever waited at once, %.1f on average as seen by arrivals",
		q.peak, q.seen, q.found.mean(0, 1))}
}

// impatient says whom growing counts besides those who wait.
func (q *line) impatient() string {
	if q.gaveUp == 0 {
		return ""
	}
	return " or just given up"
}

func (q *line) backlog() string {
	s := fmt.Sprintf("up to %d requests waited at once, at %.1f s", q.peak, q.peakAt.Seconds())
	if q.drained == 0 {
		return s + "; the queue had not drained when the run ended"
	}
	return s + fmt.Sprintf("; the queue had drained by %.1f s", q.drained.Seconds())
}
