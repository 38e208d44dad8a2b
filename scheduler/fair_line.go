package scheduler

import "slices"

// A fairLine is one queue for each client.
type fairLine struct {
	o      *fair
	queues []fifo  // by account
	busy   []int64 // accounts whose queue is not empty
}

func (l *fairLine) head() *Seq {
	var least *Seq
	for _, n := range l.busy {
		if s := l.queues[n].head(); least == nil || l.o.Before(s, least) {
			least = s
		}
	}
	return least
}

func (l *fairLine) pop() *Seq {
	s := l.head()
	l.remove(s)
	return s
}

func (l *fairLine) push(s *Seq)      { l.enter(s).push(s) }
func (l *fairLine) pushFront(s *Seq) { l.enter(s).pushFront(s) }

// enter counts s in and returns its client's queue.
func (l *fairLine) enter(s *Seq) *fifo {
	n := s.Notes[fairAccount]
	for int64(len(l.queues)) <= n {
		l.queues = append(l.queues, fifo{})
	}
	if l.queues[n].len() == 0 {
		l.busy = append(l.busy, n)
	}
	l.o.accounts[n].waiting++
	return &l.queues[n]
}

func (l *fairLine) remove(s *Seq) bool {
	n := s.Notes[fairAccount]
	if n >= int64(len(l.queues)) || !l.queues[n].remove(s) {
		return false
	}
	if l.o.accounts[n].waiting--; l.o.accounts[n].waiting == 0 {
		l.o.gone = n
	}
	if l.queues[n].len() == 0 {
		l.busy = slices.DeleteFunc(l.busy, func(other int64) bool { return other == n })
	}
	return true
}

func (l *fairLine) each(do func(*Seq)) {
	for _, n := range l.busy {
		l.queues[n].each(do)
	}
}
