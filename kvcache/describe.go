package kvcache

import (
	"fmt"
	"strings"
)

// Describe draws the pool in text, for tests and for people. A block is its name, a segment of n blocks its name and :n; + marks
// one that can be found, *n one that n sequences hold, - an entry that has left its window. Blocks that are only counted
// are drawn as (n+m): n can be found, m cannot. Among the cached ones the next to be overwritten comes first.
//
//	4 blank, 5 cached, 8 held, 2 of them taken, of 17 blocks of 16 tokens
//	cached  (3+0) 4:2+
//	seq 0   1+*2 (0+1)
//	seq 2   1+*2 3+ (2+1)
func (p *Pool) Describe() string {
	var w strings.Builder
	u := p.Usage()
	taken := ""
	if p.taken > 0 {
		taken = fmt.Sprintf(", %d of them taken,", p.taken)
	}
	fmt.Fprintf(&w, "%d blank, %d cached, %d held%s of %d blocks of %d tokens\n", u.Free, u.Cached, u.Held, taken, u.Total, p.size)
	var ring []part
	for b := p.blocks[0].next; b != 0; b = p.blocks[b].next {
		ring = append(ring, part{b, p.blocks[b].size()})
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
			p.draw(&w, name, s.tables[i].parts, s.counted())
		}
	}
	return w.String()
}

// counted draws the blocks of a sequence that are not in its tables.
func (s *sequence) counted() string {
	if s.own == 0 {
		return ""
	}
	full := max(s.findable-s.told, 0)
	return fmt.Sprintf(" (%d+%d)", full, s.own-full)
}

// draw writes one line of blocks, or nothing if there are none.
func (p *Pool) draw(w *strings.Builder, name string, parts []part, counted string) {
	if len(parts) == 0 && counted == "" {
		return
	}
	fmt.Fprintf(w, "%-7s", name)
	for _, q := range parts {
		for b := range p.segments(q) {
			p.blocks[b].draw(w, b)
		}
	}
	w.WriteString(counted)
	w.WriteByte('\n')
}

// draw writes the segment of that name.
func (k *block) draw(w *strings.Builder, name int32) {
	switch {
	case name == 0:
		w.WriteString(" -")
		return
	case k.extent > 0 || k.key.hash == nowhere:
		fmt.Fprintf(w, " (%d+0)", k.size())
		return
	}
	fmt.Fprintf(w, " %d", name)
	if k.more > 0 {
		fmt.Fprintf(w, ":%d", k.size())
	}
	if k.key.hash != 0 {
		w.WriteByte('+')
	}
	if k.refs > 1 {
		fmt.Fprintf(w, "*%d", k.refs)
	}
}
