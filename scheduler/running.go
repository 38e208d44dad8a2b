package scheduler

import "slices"

// running holds the sequences that run, in the order of their admission, which is that of their Rank. Every sequence knows
// its place, and one that leaves from the middle leaves a hole behind: nobody else is touched or moved. Holes are closed
// all at once, when somebody wants to see the list or when they are most of it.
type running struct {
	places []*Seq // nil: a hole
	n      int    // places that are no holes
	ranks  int64  // given so far
}

// add puts s at the end.
func (r *running) add(s *Seq) {
	if len(r.places) == cap(r.places) {
		r.widen()
	}
	n := len(r.places)
	s.Rank, s.index = r.ranks, int32(n)
	r.ranks++
	r.n++
	r.places = r.places[:n+1]
	r.places[n] = s
}

// widen makes room at the end: where the holes are, if they are most of the list.
func (r *running) widen() {
	if n := len(r.places); 2*r.n > n || n == 0 {
		r.places = slices.Grow(r.places, max(n, 16))
	} else {
		r.close()
	}
}

// remove takes out s, which is in it.
func (r *running) remove(s *Seq) {
	r.places[s.index] = nil
	r.n--
	n := len(r.places)
	for n > 0 && r.places[n-1] == nil {
		n--
	}
	r.places = r.places[:n]
}

// list returns the sequences. Their places in it hold until the next add or remove.
func (r *running) list() []*Seq {
	if r.n < len(r.places) {
		r.close()
	}
	return r.places
}

// close closes the holes.
func (r *running) close() {
	kept := r.places[:0]
	for _, s := range r.places {
		if s != nil {
			s.index = int32(len(kept))
			kept = append(kept, s)
		}
	}
	clear(r.places[len(kept):])
	r.places = kept
}
