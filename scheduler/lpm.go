package scheduler

import (
	"cmp"
	"slices"

	"github.com/servesim/servesim/kvcache"
)

// A prefixLine is SGLang's lpm: whoever finds most of its tokens in the prefix cache comes first, so that what is cached
// is used before it is overwritten. Of several that begin alike, with a beginning that is not cached, all but one come
// last: by their turn it may be there. It is put in order before each admission pass, and keeps that order where it is not
// (a long line).
type prefixLine struct {
	cache  kvcache.Cache
	seqs   []ranked
	firsts []*Seq // scratch: those whose beginnings are not cached and not alike
}

type ranked struct {
	seq *Seq
	hit int // tokens; -1: another one with the same beginning goes first
}

const (
	longestSorted = 128 // a longer line is left as it is: looking everybody up would take too long
	littleCached  = 32  // tokens: who finds no more may share its beginning with somebody in the line …
	muchShared    = 32  // … and shares it if so many are the same
)

// sort puts the line in order. Those that are equal keep theirs.
func (q *prefixLine) sort() {
	if len(q.seqs) > longestSorted {
		return
	}
	q.firsts = q.firsts[:0]
	for i := range q.seqs {
		r := &q.seqs[i]
		r.hit = q.cache.Match(r.seq.Tokens, int(r.seq.Known())).Tokens
		if r.hit > littleCached {
			continue
		}
		alike := func(s *Seq) bool { return shared(s.Tokens, r.seq.Tokens) >= muchShared }
		if slices.ContainsFunc(q.firsts, alike) {
			r.hit = -1
		} else {
			q.firsts = append(q.firsts, r.seq)
		}
	}
	slices.SortStableFunc(q.seqs, func(a, b ranked) int { return cmp.Compare(b.hit, a.hit) })
}

// shared returns how many leading tokens two prompts have in common.
func shared(a, b kvcache.Prompt) (tokens int32) {
	for i := range min(len(a), len(b)) {
		n := min(a[i].Len, b[i].Len)
		if a[i].Label != b[i].Label {
			break
		}
		if tokens += n; a[i].Len != b[i].Len {
			break
		}
	}
	return tokens
}

func (q *prefixLine) head() *Seq {
	if len(q.seqs) == 0 {
		return nil
	}
	return q.seqs[0].seq
}

func (q *prefixLine) pop() *Seq {
	s := q.seqs[0].seq
	q.seqs = slices.Delete(q.seqs, 0, 1)
	return s
}

func (q *prefixLine) push(s *Seq) { q.seqs = append(q.seqs, ranked{seq: s}) }

func (q *prefixLine) pushFront(s *Seq) { q.seqs = slices.Insert(q.seqs, 0, ranked{seq: s}) }

func (q *prefixLine) remove(s *Seq) bool {
	i := slices.IndexFunc(q.seqs, func(r ranked) bool { return r.seq == s })
	if i < 0 {
		return false
	}
	q.seqs = slices.Delete(q.seqs, i, i+1)
	return true
}

func (q *prefixLine) each(do func(*Seq)) {
	for i := range q.seqs {
		do(q.seqs[i].seq)
	}
}
