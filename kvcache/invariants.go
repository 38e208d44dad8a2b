package kvcache

import "fmt"

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
			for _, b := range t.blocks[t.gone:] {
				holders[b]++
			}
		}
	}
	for b := 1; b < len(p.blocks); b++ {
		if p.blocks[b].refs != holders[b] {
			return fmt.Errorf("kvcache: reference counts: block %d counts %d holders, %d tables name it", b, p.blocks[b].refs, holders[b])
		}
		if holders[b] > 0 {
			held++
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
			if extents++; p.extents[k.extent].blocks < 1 {
				return fmt.Errorf("kvcache: cached blocks: block %d stands for %d", b, p.extents[k.extent].blocks)
			}
			n += p.extents[k.extent].blocks - 1
		}
		if n++; n > p.cached {
			break
		}
	}
	if n != p.cached || 1+extents+len(p.vacant) != len(p.extents) {
		return fmt.Errorf("kvcache: cached blocks: counted as %d, listed are %d; %d extents and %d vacant ones, of %d",
			p.cached, n, extents, len(p.vacant), len(p.extents)-1)
	}
	return nil
}

// Index: it finds every block that has a key, and nothing else.
func (p *Pool) checkIndex() error {
	keyed, listed := 0, 0
	for b := int32(1); int(b) < len(p.blocks); b++ {
		if k := &p.blocks[b]; k.key.hash != 0 && k.key.hash != nowhere {
			keyed++
			if f := p.index.find(k.key); f == 0 || p.blocks[f].key != k.key {
				return fmt.Errorf("kvcache: index: block %d cannot be found", b)
			}
		}
	}
	used := 0
	for i := range p.index.slots {
		s := &p.index.slots[i]
		if s.n == 0 {
			continue
		}
		used++
		for at, first := range s.blocks {
			for b := first; b != 0; {
				if listed++; listed > keyed || p.blocks[b].key != (key{s.hash, int32(at)}) {
					return fmt.Errorf("kvcache: index: block %d is listed at %d of stretch %#x, its own key is %v", b, at, s.hash, p.blocks[b].key)
				}
				if b = p.blocks[b].newer; b == first {
					break
				}
			}
		}
	}
	if listed != keyed || used != p.index.used {
		return fmt.Errorf("kvcache: index: %d blocks have a key, %d are listed, in %d slots counted as %d", keyed, listed, used, p.index.used)
	}
	return nil
}

// Probe: what it remembers is what a fresh lookup would find.
func (p *Pool) checkProbe() error {
	idle, watched := 0, 0
	for i, b := range p.probe.blocks {
		if f := p.index.find(p.probe.keys[i]); f != b {
			return fmt.Errorf("kvcache: probe: block %d of the hit is %d, the index finds %d", i, b, f)
		}
		if w := p.blocks[b].watch; int(w) != i+1 {
			return fmt.Errorf("kvcache: probe: block %d is number %d of the hit, and believes to be number %d", b, i+1, w)
		}
		if p.blocks[b].refs == 0 {
			idle++
		}
	}
	for b := range p.blocks {
		if p.blocks[b].watch > 0 {
			watched++
		}
	}
	if idle != p.probe.idle || watched != len(p.probe.blocks) {
		return fmt.Errorf("kvcache: probe: %d idle blocks counted as %d, %d watched of %d", idle, p.probe.idle, watched, len(p.probe.blocks))
	}
	return nil
}

// Tables: the tables of a sequence have one length, a null block stands only before a window, the findable blocks lead,
// and only private ones are counted.
func (p *Pool) checkTables() error {
	for id := range p.sequences {
		s := &p.sequences[id]
		if s.own < 0 || s.own > 0 && (!s.live || s.apart || len(s.tables[0].blocks) != s.shared) {
			return fmt.Errorf("kvcache: tables: sequence %d (live: %v) counts %d blocks behind %d, %d of which may be shared (told apart: %v)",
				id, s.live, s.own, len(s.tables[0].blocks), s.shared, s.apart)
		}
		for i := range s.tables {
			t := &s.tables[i]
			if len(t.blocks) != len(s.tables[0].blocks) || !s.live && len(t.blocks) > 0 {
				return fmt.Errorf("kvcache: tables: sequence %d (live: %v) holds %d blocks in group %d and %d in group 0",
					id, s.live, len(t.blocks), i, len(s.tables[0].blocks))
			}
			for j, b := range t.blocks {
				if (b == 0) != (j < t.gone) {
					return fmt.Errorf("kvcache: tables: block %d of sequence %d is number %d, %d are out of the window", j, id, b, t.gone)
				}
				if b != 0 && (p.blocks[b].key.hash != 0) != (j < s.findable) {
					return fmt.Errorf("kvcache: tables: block %d of sequence %d has key %v, %d are findable", j, id, p.blocks[b].key, s.findable)
				}
			}
		}
	}
	return nil
}
