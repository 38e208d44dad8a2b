package scheduler

import (
	"time"

	"github.com/servesim/servesim/sim"
)

// NewsInterval is how often vLLM's coordinator publishes how loaded its data-parallel engines are.
const NewsInterval = 100 * time.Millisecond

// NextNews returns the first instant after now at which the coordinator publishes: a multiple of NewsInterval.
func NextNews(now sim.Time) sim.Time {
	return now/sim.Time(NewsInterval)*sim.Time(NewsInterval) + sim.Time(NewsInterval)
}

// BalancerScore is what vLLM's data-parallel load balancer rates an engine by, the lower the better; it keeps away from
// engines whose requests wait for memory:
//
//	requests + 6 · waiting · max(0, KV usage − 0.5)
func BalancerScore(requests, waiting int, usage float64) float64 {
	return float64(requests) + 6*float64(waiting)*max(0, usage-0.5)
}

// balance picks ranks as the load balancer of vLLM's data-parallel front end does: by what it heard of them last, and what
// it has sent itself; equals take turns.
type balance struct {
	news []news
	next sim.Time // when it hears of them again
	turn int
}

// news is what is known of a rank.
type news struct {
	waiting, running int
	usage            float64 // share of the KV cache
	sent             int     // since
}

func newBalance(ranks int) balance { return balance{news: make([]news, ranks)} }

// listen takes the news, if it is time for them.
func (b *balance) listen(ranks []rank, now sim.Time) {
	if now < b.next {
		return
	}
	b.next = NextNews(now)
	for i := range ranks {
		n := &b.news[i]
		n.running, n.waiting = ranks[i].Load()
		n.usage, n.sent = 0, 0
		if u := ranks[i].cache.Usage(); u.Total > 0 {
			n.usage = float64(u.Held) / float64(u.Total)
		}
	}
}

// pick returns the rank with the lowest score.
func (b *balance) pick(ranks []rank, now sim.Time) int {
	b.listen(ranks, now)
	best, least := 0, 0.0
	for i := range ranks {
		k := (b.turn + i) % len(ranks)
		n := &b.news[k]
		if s := BalancerScore(n.waiting+n.running+n.sent, n.waiting, n.usage); i == 0 || s < least {
			best, least = k, s
		}
	}
	b.turn = (best + 1) % len(ranks)
	b.news[best].sent++
	return best
}
