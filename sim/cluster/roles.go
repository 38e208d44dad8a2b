package cluster

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim/workload"
)

// roles lends engines of one kind to the work of the other, as Splitwise's mixed pool does (P. Patel et al., 2024). When the
// prompts that wait for the chosen first engine exceed a limit, a second engine is borrowed: it computes such prompts
// itself, beside its decodes. When no second engine has memory for a prompt, a first one serves the request alone. A borrowed
// engine takes such work as long as the shortage lasts, before another one is borrowed — up to the same limit of prompt tokens —
// and is given back when it has none of it left.
type roles struct {
	limit   int64   // prompt tokens under way at a first engine; 0: nobody is lent
	pending []int64 // prompt tokens under way, by first engine
	lent    [2]lending
}

// A lending is the borrowed engines of one kind.
type lending struct {
	work   []int   // requests of the other kind's, by replica
	tokens []int64 // in their prompts
	turns  int64   // engines that were borrowed, all in all
}

// Lend lets engines be borrowed when more than so many prompt tokens are under way at the one that would compute a prompt.
func (d *Disaggregated) Lend(limit int64) { d.roles.limit = limit }

// Borrowed returns how often an engine was borrowed: second ones for prompts, and first ones for whole requests.
func (d *Disaggregated) Borrowed() (decode, prefill int64) {
	return d.roles.lent[1].turns, d.roles.lent[0].turns
}

func (r *roles) attach(prefill, decode int) {
	r.pending = make([]int64, prefill)
	for i, n := range []int{prefill, decode} {
		r.lent[i] = lending{work: make([]int, n), tokens: make([]int64, n)}
	}
}

func (r *roles) charge(replica int, tokens int64) { r.pending[replica] += tokens }

// borrow serves a request with one engine of the wrong kind, if that is called for, and reports whether it did. Else it
// settles for the least loaded first engine, as Splitwise's router joins the shortest queue.
func (d *Disaggregated) borrow(r *workload.Request, p, c *Choice, done func(workload.Outcome)) bool {
	l := &d.roles
	if l.limit == 0 {
		return false
	}
	tokens := int(r.Tokens)
	for i := range l.pending {
		if l.pending[i] < l.pending[p.Replica] {
			p.Replica = i
		}
	}
	if !d.decode.anyRoom(tokens) {
		if i := l.lent[0].pick(&d.prefill, tokens, l.limit); i >= 0 {
			d.counts.Whole++
			d.lend(&d.prefill, &l.lent[0], i, r, done)
			return true
		}
	}
	if most := l.pending[p.Replica]; most > l.limit {
		if i := l.lent[1].pick(&d.decode, tokens, l.limit); i >= 0 && l.lent[1].tokens[i] < most {
			d.counts.Local++
			d.lend(&d.decode, &l.lent[1], i, r, done)
			return true
		}
	}
	return false
}

// lend has an engine serve a request alone that two would have shared.
func (d *Disaggregated) lend(in *pool, l *lending, i int, r *workload.Request, done func(workload.Outcome)) {
	if l.work[i] == 0 {
		l.turns++
	}
	l.work[i]++
	tokens := int64(r.Tokens)
	l.tokens[i] += tokens
	in.replicas[i].Engine.Submit(r, func(o workload.Outcome) {
		l.work[i]--
		l.tokens[i] -= tokens
		if done != nil {
			done(o)
		}
	})
}

// pick returns the engine to borrow, of those with room for the prompt: one that is borrowed already, as long as it has no more
// to do than the limit; then the one with the fewest such prompt tokens, and requests. -1: there is none.
func (l *lending) pick(in *pool, tokens int, limit int64) int {
	best := -1
	for i, r := range in.replicas {
		if !r.room(tokens) {
			continue
		}
		if best < 0 || l.before(in, i, best, limit) {
			best = i
		}
	}
	return best
}

// before reports whether the engine at i is rather to be borrowed than that at j.
func (l *lending) before(in *pool, i, j int, limit int64) bool {
	busy := func(i int) bool { return l.work[i] > 0 && l.tokens[i] <= limit }
	if a, b := busy(i), busy(j); a != b {
		return a
	}
	if a, b := l.tokens[i], l.tokens[j]; a != b {
		return a < b
	}
	return in.replicas[i].Open() < in.replicas[j].Open()
}

func (in *pool) anyRoom(tokens int) bool {
	for _, r := range in.replicas {
		if r.room(tokens) {
			return true
		}
	}
	return false
}

// room reports whether a replica has memory for a prompt now.
func (r *Replica) room(tokens int) bool {
	return r.Cache.Need(kvcache.Hit{}, tokens) <= r.Cache.Usage().Available()
}
