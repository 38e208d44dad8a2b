package metrics

import (
	"cmp"
	"slices"

	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// ClientsReport says how evenly the clients were served. Jain's index of n values is (Σx)² / (n·Σx²): 1 when all are
// equal, 1/n when one has everything (Jain, Chiu and Hawe, 1984).
type ClientsReport struct {
	Count int `json:"count"` // clients with at least one measured request
	// JainService is of the service that each client received, in tokens of completed requests, an output token counting
	// as two (the weights of the Virtual Token Counter, Sheng et al., OSDI 2024). Clients that ask for unequal amounts
	// and get them are unequal here.
	JainService float64 `json:"jain_service"`
	// JainSpeed is of that service per second that the client's requests were under way: who asks for more is not
	// faster for it.
	JainSpeed float64        `json:"jain_speed"`
	Served    []ClientReport `json:"served"` // those who received most, at most mostClients of them
}

// ClientReport is what became of the measured requests of one client.
type ClientReport struct {
	Client   int32    `json:"client"`
	Requests Requests `json:"requests"`
	Tokens   Tokens   `json:"tokens"`
	MeanTTFT float64  `json:"mean_ttft_ms"`
	MeanE2EL float64  `json:"mean_e2el_ms"`
	Good     int      `json:"good"` // requests that met every target
}

// mostClients bounds the list of clients in a report.
const mostClients = 32

// A clientBook sums up one client's requests.
type clientBook struct {
	id         int32
	count      Requests
	tokens     Tokens
	ttft, e2el int64 // sums, nanoseconds
	score      scoreboard
}

// service is in tokens, weighted.
func (b *clientBook) service() float64 { return float64(b.tokens.Input) + 2*float64(b.tokens.Output) }

// clientBooks keeps the books of all clients; nil: nobody asked for them.
type clientBooks struct {
	place map[int32]int // in books, by the client's number
	books []clientBook
}

func newClientBooks(wanted bool) *clientBooks {
	if !wanted {
		return nil
	}
	return &clientBooks{place: map[int32]int{}}
}

func (c *clientBooks) of(client int32) *clientBook {
	i, known := c.place[client]
	if !known {
		i = len(c.books)
		c.place[client] = i
		c.books = append(c.books, clientBook{id: client})
	}
	return &c.books[i]
}

// report is nil unless there are at least two clients.
func (c *clientBooks) report() *ClientsReport {
	if c == nil || len(c.books) < 2 {
		return nil
	}
	var service, speed []float64
	for i := range c.books {
		b := &c.books[i]
		service = append(service, b.service())
		speed = append(speed, ratio(b.service(), float64(b.e2el)))
	}
	r := &ClientsReport{Count: len(c.books), JainService: jain(service), JainSpeed: jain(speed)}
	most := slices.Clone(c.books)
	slices.SortFunc(most, func(a, b clientBook) int {
		return cmp.Or(cmp.Compare(b.service(), a.service()), cmp.Compare(a.id, b.id))
	})
	for i := range most[:min(len(most), mostClients)] {
		b := &most[i]
		n := float64(b.count.Completed) * nsPerMs
		r.Served = append(r.Served, ClientReport{
			Client: b.id, Requests: settle(b.count), Tokens: b.tokens, Good: b.score.all,
			MeanTTFT: ratio(float64(b.ttft), n), MeanE2EL: ratio(float64(b.e2el), n),
		})
	}
	return r
}

// jain is Jain's index of fairness, (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one has everything, 0 if nobody has anything.
func jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return ratio(sum*sum, float64(len(x))*squares)
}

// arriveBooks counts a measured request in, in the books of its class and client.
func (r *Recorder) arriveBooks(q *workload.Request) {
	if b := r.classes.of(q.Class); b != nil {
		b.count.Submitted++
	}
	if r.clients != nil {
		r.clients.of(q.Client).count.Submitted++
	}
}

// finishBooks counts a measured request out.
func (r *Recorder) finishBooks(l *engine.Life) {
	if b := r.classes.of(l.Request.Class); b != nil {
		b.count.end(l.Outcome.Status)
	}
	if r.clients != nil {
		r.clients.of(l.Request.Client).count.end(l.Outcome.Status)
	}
}

// completeBooks takes in the record of a measured request that has its whole answer.
func (r *Recorder) completeBooks(rec *record, q *workload.Request) {
	slo := r.c.slo(q.Class)
	if b := r.classes.of(q.Class); b != nil {
		b.records.add(rec)
		b.tokens.add(rec)
		b.score.score(rec, slo)
	}
	if r.clients != nil {
		b := r.clients.of(q.Client)
		b.tokens.add(rec)
		b.ttft += rec.ttft
		b.e2el += rec.e2el
		b.score.score(rec, slo)
	}
}
