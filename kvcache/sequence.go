package kvcache

import (
	"fmt"
	"math"
)

// sequence returns the memory of a sequence that has some.
func (p *Pool) sequence(id SeqID) *sequence {
	if int(id) >= len(p.sequences) || !p.sequences[id].live {
		panic(fmt.Sprintf("kvcache: sequence %d has no memory: it was never admitted, or released", id))
	}
	return &p.sequences[id]
}

// open makes a place for a new sequence that will adopt so many blocks. One that finds its private blocks again tells
// them apart, as it will not need all of them: the last one is always computed anew.
func (p *Pool) open(id SeqID, prompt Prompt, hit int) *sequence {
	for int(id) >= len(p.sequences) {
		p.sequences = append(p.sequences, sequence{tables: make([]table, len(p.groups))})
	}
	s := &p.sequences[id]
	if s.live {
		panic(fmt.Sprintf("kvcache: sequence %d is admitted twice", id))
	}
	s.live, s.prompt, s.end, s.findable = true, prompt, cursor{}, 0
	s.shared, s.named, s.told = 0, 0, 0
	if p.config.PrefixCaching {
		shared, all := prompt.split()
		s.shared, s.named = p.floor(shared), p.floor(all)
	}
	s.apart = hit > s.shared || !p.simple()
	return s
}

// split returns how many leading tokens of a prompt others may have too, and how many it has. From the first private
// token on nobody has the same; without one, others may go on where it ends.
func (p Prompt) split() (shared, all int) {
	shared = math.MaxUint32
	for _, r := range p {
		if r.Label&Private != 0 && r.Len > 0 {
			shared = min(shared, all)
		}
		all += int(r.Len)
	}
	return shared, all
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

// extend gives a sequence the blocks that it lacks of those it wants; they are no longer free. Until they are findable they
// are a number, unless there are windows.
func (p *Pool) extend(s *sequence, want int) {
	n := max(want-s.blocks(), 0)
	if p.simple() {
		s.own += n
		return
	}
	s.told += n
	for i := range s.tables {
		t := &s.tables[i]
		for range n {
			t.parts = append(t.parts, part{p.name(), 1})
		}
	}
}

// register makes the blocks findable that the first `known` tokens fill. Blocks of equal content are all kept: tables
// only grow at their end, so no block is ever exchanged for its twin.
func (p *Pool) register(s *sequence, known int) {
	full := min(p.floor(known), s.blocks(), s.named)
	if full <= s.findable {
		return
	}
	if !p.simple() {
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
