package kvcache

import (
	"fmt"
	"strings"
)

// Describe draws the pool in text, for tests and for people. A block is its name; + marks one that can be found, *n
// one that n sequences hold, - an entry that has left its window. Private blocks that are only counted are drawn as
// (n+m): n can be found, m cannot. Among the cached ones the next to be overwritten comes first.
//
//	4 blank, 5 cached, 7 held, 2 of them taken, of 16 blocks of 16 tokens
//	cached  (3+0) 4+ 3+
//	seq 0   1+*2 5
//	seq 2   1+*2 (2+1)
func (p *Pool) Describe() string {
	var w strings.Builder
	u := p.Usage()
	taken := ""
	if p.taken > 0 {
		taken = fmt.Sprintf(", %d of them taken,", p.taken)
	}
	fmt.Fprintf(&w, "%d blank, %d cached, %d held%s of %d blocks of %d tokens\n", u.Free, u.Cached, u.Held, taken, u.Total, p.size)
	var ring []int32
	for b := p.blocks[0].next; b != 0; b = p.blocks[b].next {
		ring = append(ring, b)
	}
	p.draw(&w, "cached", ring, "")
	for id := range p.sequences {
		s := &p.sequences[id]
		for i := range s.tables {
			if !s.live {
				continue
			}
			name := fmt.Sprintf("seq %d", id)
			if len(s.tables) > 1 {
				name = fmt.Sprintf("seq %d/%d", id, i)
			}
			p.draw(&w, name, s.tables[i].blocks, s.counted())
		}
	}
	return w.String()
}

// counted draws the blocks of a sequence that are not told apart.
func (s *sequence) counted() string {
	if s.own == 0 {
		return ""
	}
	full := max(s.findable-s.shared, 0)
	return fmt.Sprintf(" (%d+%d)", full, s.own-full)
}

// draw writes one line of blocks, or nothing if there are none.
func (p *Pool) draw(w *strings.Builder, name string, blocks []int32, counted string) {
	if len(blocks) == 0 && counted == "" {
		return
	}
	fmt.Fprintf(w, "%-7s", name)
	for _, b := range blocks {
		k := &p.blocks[b]
		switch {
		case b == 0:
			w.WriteString(" -")
			continue
		case k.extent > 0:
			fmt.Fprintf(w, " (%d+0)", p.extents[k.extent].blocks)
			continue
		}
		fmt.Fprintf(w, " %d", b)
		if k.key.hash != 0 {
			w.WriteByte('+')
		}
		if k.refs > 1 {
			fmt.Fprintf(w, "*%d", k.refs)
		}
	}
	w.WriteString(counted)
	w.WriteByte('\n')
}
