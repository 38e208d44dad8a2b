package scheduler

// A line holds the waiting sequences.
type line interface {
	head() *Seq // nil when empty
	pop() *Seq
	push(*Seq)
	pushFront(*Seq) // brings back one that has been at the head before
	remove(*Seq) bool
	each(func(*Seq))
}

// A queue is a line that counts those who wait in it: most of the time nobody does, and whoever asks need not look. The
// common line is its own.
type queue struct {
	n    int
	fifo fifo
	line line // where they wait instead, under an order of its own; nil: in the fifo
}

func (q *queue) head() *Seq {
	if q.line != nil {
		return q.line.head()
	}
	return q.fifo.head()
}

func (q *queue) push(s *Seq) {
	q.n++
	if q.line != nil {
		q.line.push(s)
	} else {
		q.fifo.push(s)
	}
}

func (q *queue) pushFront(s *Seq) {
	q.n++
	if q.line != nil {
		q.line.pushFront(s)
	} else {
		q.fifo.pushFront(s)
	}
}

func (q *queue) pop() *Seq {
	q.n--
	if q.line != nil {
		return q.line.pop()
	}
	return q.fifo.pop()
}

// remove takes out s, if it is here. Mostly it is at the head, having been admitted.
func (q *queue) remove(s *Seq) bool {
	switch {
	case q.n == 0:
		return false
	case q.line != nil:
		if !q.line.remove(s) {
			return false
		}
	case q.fifo.head() == s:
		q.fifo.pop()
	case !q.fifo.search(s):
		return false
	}
	q.n--
	return true
}

func (q *queue) each(do func(*Seq)) {
	if q.line != nil {
		q.line.each(do)
	} else {
		q.fifo.each(do)
	}
}

// fifo is a queue with two ends in a ring whose size is a power of two.
type fifo struct {
	ring  []*Seq
	first int // place of the head
	n     int
}

func (q *fifo) len() int { return q.n }

func (q *fifo) at(i int) **Seq { return &q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *fifo) head() *Seq {
	if q.n == 0 {
		return nil
	}
	return q.ring[q.first]
}

func (q *fifo) pop() *Seq {
	s := q.ring[q.first]
	q.ring[q.first] = nil
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return s
}

func (q *fifo) push(s *Seq) {
	q.reserve()
	*q.at(q.n) = s
	q.n++
}

func (q *fifo) pushFront(s *Seq) {
	q.reserve()
	q.first = (q.first - 1) & (len(q.ring) - 1)
	q.ring[q.first] = s
	q.n++
}

func (q *fifo) reserve() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]*Seq, max(16, 2*len(q.ring)))
	k := copy(ring, q.ring[q.first:])
	copy(ring[k:], q.ring[:q.first])
	q.ring, q.first = ring, 0
}

// remove takes out s, mostly from the head: it has been admitted.
func (q *fifo) remove(s *Seq) bool {
	if q.head() == s {
		q.pop()
		return true
	}
	return q.search(s)
}

// search removes from the middle. It begins at the head: who gives up has mostly waited longest.
func (q *fifo) search(s *Seq) bool {
	for i := range q.n {
		if *q.at(i) != s {
			continue
		}
		for ; i > 0; i-- {
			*q.at(i) = *q.at(i - 1)
		}
		q.pop()
		return true
	}
	return false
}

func (q *fifo) each(do func(*Seq)) {
	for i := range q.n {
		do(*q.at(i))
	}
}

// heap is a binary heap of sequences whose order does not change while they are in it. Every sequence knows its place.
type heap struct {
	before func(a, b *Seq) bool
	seqs   []*Seq
}

func (h *heap) head() *Seq {
	if len(h.seqs) == 0 {
		return nil
	}
	return h.seqs[0]
}

func (h *heap) pop() *Seq {
	s := h.seqs[0]
	h.remove(s)
	return s
}

func (h *heap) push(s *Seq) {
	h.seqs = append(h.seqs, s)
	h.up(s, len(h.seqs)-1)
}

func (h *heap) pushFront(s *Seq) { h.push(s) }

func (h *heap) remove(s *Seq) bool {
	i, last := int(s.index), len(h.seqs)-1
	if i > last || h.seqs[i] != s {
		return false
	}
	moved := h.seqs[last]
	h.seqs[last] = nil
	h.seqs = h.seqs[:last]
	if i < last {
		h.down(moved, i)
		h.up(moved, int(moved.index))
	}
	return true
}

func (h *heap) each(do func(*Seq)) {
	for _, s := range h.seqs {
		do(s)
	}
}

// up puts s at place i or, as long as it comes before its parent, higher.
func (h *heap) up(s *Seq, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(s, h.seqs[parent]) {
			break
		}
		h.put(h.seqs[parent], i)
		i = parent
	}
	h.put(s, i)
}

// down puts s at place i or, as long as a child comes before it, lower.
func (h *heap) down(s *Seq, i int) {
	for {
		child := 2*i + 1
		if child >= len(h.seqs) {
			break
		}
		if right := child + 1; right < len(h.seqs) && h.before(h.seqs[right], h.seqs[child]) {
			child = right
		}
		if !h.before(h.seqs[child], s) {
			break
		}
		h.put(h.seqs[child], i)
		i = child
	}
	h.put(s, i)
}

func (h *heap) put(s *Seq, i int) {
	h.seqs[i] = s
	s.index = int32(i)
}
