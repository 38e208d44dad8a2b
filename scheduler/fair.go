package scheduler

// Fair returns the Virtual Token Counter: every client has a counter that grows by input for each of its prompt tokens that
// is computed, and by output for each token that it is given; 1 and 2 are the paper's. Of the clients with requests that
// wait, the one with the least counter is served next, the oldest of its requests first. A client that comes back is lifted
// to the least counter of those who wait, so that nobody gains by having been idle. Nobody loses a seat.
//
// While two clients both have requests waiting, what they have been served differs by at most
//
//	2·max(input·L, output·M),   L: the longest prompt, M: the tokens that fit the KV cache
//
// Source: Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024, algorithms 2 and theorem 4.4.
func Fair(input, output int) Order {
	return &fair{input: int64(input), output: int64(output), number: map[int32]int64{}}
}

type fair struct {
	input, output int64
	accounts      []account
	number        map[int32]int64 // of a client's account
	gone          int64           // the account whose requests were the last to stop waiting
}

type account struct {
	served  int64 // the client's counter
	waiting int   // its requests that wait
}

// What the order notes about a sequence.
const (
	fairAccount = iota
	fairCharged // prompt tokens that have been charged: what is computed again is not
)

// Arrive finds the account of the client, and lifts it if none of its requests waits.
func (o *fair) Arrive(s *Seq) {
	n, known := o.number[s.Client]
	if !known {
		n = int64(len(o.accounts))
		o.number[s.Client] = n
		o.accounts = append(o.accounts, account{})
	}
	s.Notes[fairAccount] = n
	if o.accounts[n].waiting > 0 {
		return
	}
	least := o.accounts[o.gone].served
	for i, first := 0, true; i < len(o.accounts); i++ {
		if a := &o.accounts[i]; a.waiting > 0 && (first || a.served < least) {
			least, first = a.served, false
		}
	}
	o.accounts[n].served = max(o.accounts[n].served, least)
}

// Charge adds a row to the account of its client.
func (o *fair) Charge(w *Work) {
	s := w.Seq
	a := o.account(s)
	if end := int64(min(w.Past+w.Tokens, s.Prompt)); end > s.Notes[fairCharged] {
		a.served += o.input * (end - max(s.Notes[fairCharged], int64(w.Past)))
		s.Notes[fairCharged] = end
	}
	if w.Samples {
		a.served += o.output
	}
}

func (o *fair) account(s *Seq) *account { return &o.accounts[s.Notes[fairAccount]] }

// Before goes by the counters of the clients.
func (o *fair) Before(a, b *Seq) bool {
	if x, y := o.account(a).served, o.account(b).served; x != y {
		return x < y
	}
	return older(a, b)
}

func (o *fair) line() line                  { return &fairLine{o: o} }
func (o *fair) skippedFirst(a, b *Seq) bool { return !o.Before(b, a) }
func (o *fair) victim(running []*Seq) int   { return len(running) - 1 }
