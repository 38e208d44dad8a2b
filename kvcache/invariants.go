package kvcache

import (
	"errors"
	"fmt"
)

// Check reports the first violated invariant of the pool by name, or nil. It walks everything.
func (p *Pool) Check() error {
	for _, check := range []func() error{
		p.checkReferences, p.checkNames, p.checkCached, p.checkIndex, p.checkProbe, p.checkTables,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Reference counts: a block counts exactly the tables that name it. Conservation: those blocks, the ones that are only
// counted, and the free ones are all there are.
func (p *Pool) checkReferences() error {
	holders := make([]int32, len(p.blocks))
	held := p.taken
	for i := range p.sequences {
		s := &p.sequences[i]
		held += s.own
		for _, t := range s.tables {
			for _, q := range t.parts[t.gone:] {
				for b := range p.segments(q) {
					holders[b]++
				}
			}
		}
	}
	for b := 1; b < len(p.blocks); b++ {
		if p.blocks[b].refs != holders[b] {
			return fmt.Errorf("kvcache: reference counts: block %d counts %d holders, %d tables name it", b, p.blocks[b].refs, holders[b])
		}
		if holders[b] > 0 {
			held += int(p.blocks[b].size())
		}
	}
	if holders[0] > 0 {
		return fmt.Errorf("kvcache: null block: held by %d tables", holders[0])
	}
	if u := p.Usage(); held != u.Held || u.Free+u.Cached+u.Held != u.Total || u.Free < 0 || u.Cached < 0 || p.taken < 0 {
		return fmt.Errorf("kvcache: conservation of blocks: %d free + %d cached + %d held (counted: %d, of which %d taken), %d in all",
			u.Free, u.Cached, u.Held, held, p.taken, u.Total)
	}
	return nil
}

// Names: a block has a name exactly while it is held or can be found.
func (p *Pool) checkNames() error {
	unused := map[int32]bool{}
	for b := p.unused; b != 0; b = p.blocks[b].next {
		if unused[b] {
			return fmt.Errorf("kvcache: names: %d is unused twice", b)
		}
		unused[b] = true
	}
	for b := int32(1); int(b) < len(p.blocks); b++ {
		if k := &p.blocks[b]; (k.refs == 0 && k.key.hash == 0) != unused[b] {
			return fmt.Errorf("kvcache: names: block %d has %d holders and key %v, its name is unused: %v", b, k.refs, k.key, unused[b])
		}
	}
	return nil
}

// Cached blocks: the ring holds exactly the free blocks that can be found, and its links agree in both directions.
func (p *Pool) checkCached() error {
	n, extents := 0, 0
	for b := p.blocks[0].next; b != 0; b = p.blocks[b].next {
		k := &p.blocks[b]
		if k.refs != 0 || k.key.hash == 0 {
			return fmt.Errorf("kvcache: cached blocks: block %d has %d holders and key %v", b, k.refs, k.key)
		}
		if p.blocks[k.next].prev != b {
			return fmt.Errorf("kvcache: cached blocks: block %d is followed by %d, which follows %d", b, k.next, p.blocks[k.next].prev)
		}
		if k.extent > 0 {
			extents++
		}
		if k.more < 0 {
			return fmt.Errorf("kvcache: cached blocks: block %d stands for %d", b, k.size())
		}
		if n += int(k.size()); n > p.cached {
			break
		}
	}
	if n != p.cached || 1+extents+len(p.vacant) != len(p.extents) {
		return fmt.Errorf("kvcache: cached blocks: counted as %d, listed are %d; %d extents and %d vacant ones, of %d",
			p.cached, n, extents, len(p.vacant), len(p.extents)-1)
	}
	return nil
}

// Index: it finds every block that has a key, and nothing else. Those in a ring of copies are single.
func (p *Pool) checkIndex() error {
	keyed, listed := 0, 0
	for b := int32(1); int(b) < len(p.blocks); b++ {
		if k := &p.blocks[b]; k.key.hash != 0 && k.key.hash != nowhere {
			keyed += int(k.keys())
			for i := range k.keys() {
				at := key{k.key.hash, k.key.at + i}
				f := p.index.find(p.blocks, at)
				if !p.simple {
					f = p.singles.find(at)
				}
				if f == 0 || f != b && (p.blocks[f].key != k.key || k.keys() > 1) {
					return fmt.Errorf("kvcache: index: block %d of %d that begin with %d cannot be found", i, k.keys(), b)
				}
			}
		}
	}
	used := 0
	list := func(first int32) error { // all that have the keys of the first
		for b := first; b != 0; {
			k := &p.blocks[b]
			if listed += int(k.keys()); listed > keyed || k.key != p.blocks[first].key {
				return fmt.Errorf("kvcache: index: block %d is listed with %d, its own keys are the %d from %v", b, first, k.keys(), k.key)
			}
			if b = k.newer; b == first {
				break
			}
		}
		return nil
	}
	if err := errors.Join(p.index.check(p.blocks, &used, list), p.singles.check(&used, list)); err != nil {
		return err
	}
	if listed != keyed || used != p.index.used+p.singles.used {
		return fmt.Errorf("kvcache: index: %d blocks have a key, %d are listed, in %d slots counted as %d", keyed, listed, used, p.index.used+p.singles.used)
	}
	return nil
}

// check goes through the segments of every stretch, which stand in order. It counts the slots.
func (x *index) check(blocks []block, used *int, list func(int32) error) error {
	for i := range x.slots {
		s, end := &x.slots[i], int32(0)
		if s.first != 0 {
			*used++
		}
		for b := s.first; b != 0; b = blocks[b].after {
			if k := &blocks[b]; k.key.hash != s.hash || k.key.at < end {
				return fmt.Errorf("kvcache: index: segment %d from %v is listed behind %d of stretch %#x", b, k.key, end, s.hash)
			}
			if err := list(b); err != nil {
				return err
			}
			end = blocks[b].end()
		}
	}
	return nil
}

// check goes through the blocks of every line, and counts the slots.
func (x *singles) check(used *int, list func(int32) error) error {
	for i := range x.slots {
		if x.slots[i].n != 0 {
			*used++
		}
		for _, b := range x.slots[i].blocks {
			if err := list(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Probe: what it remembers is what a fresh lookup would find.
func (p *Pool) checkProbe() error {
	hit, idle, watched := 0, 0, 0
	for i, q := range p.probe.parts {
		k := &p.blocks[q.first]
		for range q.blocks {
			if f := p.index.find(p.blocks, p.probe.keys[hit]); f != q.first {
				return fmt.Errorf("kvcache: probe: block %d of the hit is in segment %d, the index finds %d", hit, q.first, f)
			}
			hit++
		}
		if int(k.watch) != i+1 || q.blocks > k.size() || q.blocks < k.size() && i+1 < len(p.probe.parts) {
			return fmt.Errorf("kvcache: probe: segment %d of %d blocks is number %d of the hit with %d, and believes to be number %d",
				q.first, k.size(), i+1, q.blocks, k.watch)
		}
		if k.refs == 0 {
			idle += int(q.blocks)
		}
	}
	for b := range p.blocks {
		if p.blocks[b].watch > 0 {
			watched++
		}
	}
	if hit != p.probe.hit || idle != p.probe.idle || watched != len(p.probe.parts) {
		return fmt.Errorf("kvcache: probe: %d blocks counted as %d, %d idle ones as %d, %d segments watched of %d",
			hit, p.probe.hit, idle, p.probe.idle, watched, len(p.probe.parts))
	}
	return nil
}

// Tables: the tables of a sequence have one length, a null block stands only before a window, the findable blocks lead, and
// of these only private ones are counted.
func (p *Pool) checkTables() error {
	for id := range p.sequences {
		s := &p.sequences[id]
		if s.own < 0 || !s.live && s.told+s.own > 0 || p.simple && s.told != min(s.findable, s.listed()) {
			return fmt.Errorf("kvcache: tables: sequence %d (live: %v) counts %d blocks behind %d; %d are findable, %d may be shared (told apart: %v)",
				id, s.live, s.own, s.told, s.findable, s.shared, s.apart)
		}
		for i := range s.tables {
			if err := p.checkTable(s, &s.tables[i]); err != nil {
				return fmt.Errorf("%w in table %d of sequence %d", err, i, id)
			}
		}
	}
	return nil
}

func (p *Pool) checkTable(s *sequence, t *table) error {
	n := 0
	for _, q := range t.parts {
		for b := range p.segments(q) {
			if (b == 0) != (n < t.gone) {
				return fmt.Errorf("kvcache: tables: block %d is number %d, %d are out of the window", n, b, t.gone)
			}
			if b != 0 && (p.blocks[b].key.hash != 0) != (n < s.findable) {
				return fmt.Errorf("kvcache: tables: block %d has key %v, %d are findable", n, p.blocks[b].key, s.findable)
			}
			n += int(p.blocks[b].size())
		}
	}
	if n != s.told {
		return fmt.Errorf("kvcache: tables: %d blocks counted as %d", n, s.told)
	}
	return nil
}
