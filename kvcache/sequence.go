package kvcache

import (
	"fmt"
	"math"
)

// sequence returns the memory of a sequence that has some.
func (p *Pool) sequence(id SeqID) *sequence {
	s := p.holder(id)
	if s == nil {
		panic(absent(id))
	}
	return s
}

// absent is the panic about a sequence that should have memory.
type absent SeqID

func (a absent) Error() string {
	return fmt.Sprintf("kvcache: sequence %d has no memory: it was never admitted, or released", SeqID(a))
}

// holder returns the memory of a sequence, or nil if it has none.
func (p *Pool) holder(id SeqID) *sequence {
	if int(id) < len(p.sequences) && p.sequences[id].live {
		return &p.sequences[id]
	}
	return nil
}

// open makes a place for a new sequence.
func (p *Pool) open(id SeqID) *sequence {
	if int(id) >= len(p.sequences) {
		p.seat(id)
	}
	s := &p.sequences[id]
	if s.live {
		panic(twice(id))
	}
	s.live = true
	return s
}

// seat makes room for sequences up to that ID.
func (p *Pool) seat(id SeqID) {
	old := len(p.sequences)
	p.sequences = append(p.sequences, make([]sequence, int(id)+1-old)...)
	for i := range p.sequences[old:] {
		p.sequences[old+i].tables = make([]table, len(p.groups))
	}
}

// twice is the panic about a sequence that has memory already.
type twice SeqID

func (t twice) Error() string { return fmt.Sprintf("kvcache: sequence %d is admitted twice", SeqID(t)) }

// shared returns how many leading tokens of a prompt others may have too. From the first private token on nobody has the
// same; without one, others may go on where it ends.
func (p Prompt) shared() (tokens int) {
	for i := range p {
		if p[i].Label&Private != 0 && p[i].Len > 0 {
			return tokens
		}
		tokens += int(p[i].Len)
	}
	return math.MaxUint32
}

// close takes from a sequence all that it holds. Those of its own blocks that are full of known tokens stay behind; one that
// has ended will not come back for them.
func (p *Pool) close(s *sequence, ended bool) {
	p.blanks += s.own
	if n := s.findable - s.told; n > 0 {
		p.blanks -= n
		p.cached += n
		if ended {
			p.bury(n)
		} else {
			p.stray(s, n)
		}
	}
	if s.told > 0 {
		p.dropAll(s)
	}
	s.live, s.told, s.own, s.findable = false, 0, 0, 0
}

// dropAll empties the tables of a sequence.
func (p *Pool) dropAll(s *sequence) {
	for i := range s.tables {
		t := &s.tables[i]
		for j := len(t.parts) - 1; j >= t.gone; j-- {
			p.drop(t.parts[j])
		}
		t.parts, t.gone = t.parts[:0], 0
	}
	s.end = cursor{}
}

// listed returns how many leading blocks of a sequence are told apart once they are findable, at most.
func (s *sequence) listed() int {
	if s.apart {
		return math.MaxInt
	}
	return s.shared
}

// blocks returns the blocks of a sequence in each group.
func (s *sequence) blocks() int { return s.told + s.own }

// fill gives a sequence the blocks that it lacks of those it wants; they are no longer free. Until they are findable they are
// a number, unless there are windows. And it makes the blocks findable that the first `known` tokens fill.
func (p *Pool) fill(s *sequence, want, known int) {
	if p.simple {
		s.own = max(s.own, want-s.told)
	} else if s.told < want {
		p.extend(s, want)
	}
	full := min(p.floor(known), s.blocks(), s.named)
	if full <= s.findable {
		return
	}
	if s.apart || s.findable < s.shared || p.strayed {
		p.register(s, full)
	} else {
		s.findable = full
	}
}

// extend gives a sequence blocks in every group, so that it has as many as it wants.
func (p *Pool) extend(s *sequence, want int) {
	for i := range s.tables {
		t := &s.tables[i]
		for len(t.parts) < want {
			t.parts = append(t.parts, part{p.name(), 1})
		}
	}
	s.told = want
}

// register makes the first blocks of a sequence findable, `full` in all, if somebody may ask for them. Blocks of equal content
// are all kept: tables only grow at their end, so no block is ever exchanged for its twin.
func (p *Pool) register(s *sequence, full int) {
	if !p.simple {
		p.listAll(s, full)
		return
	}
	if p.list(s, min(full, s.listed())); full == s.findable {
		return
	}
	if s.findable == s.shared && p.returns(s) {
		p.list(s, full)
	} else {
		s.findable = full
	}
}

// list tells the first n blocks of a sequence apart and registers them in the index, a stretch at a time.
func (p *Pool) list(s *sequence, n int) {
	t := &s.tables[0]
	for s.findable < n {
		k, _ := s.end.next(s.prompt, p.size)
		m := 1 + s.end.on(s.prompt, p.size, n-s.findable-1)
		t.parts = p.place(t.parts, k, int32(m))
		s.findable += m
		s.told += m
		s.own -= m
	}
}
