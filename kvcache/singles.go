package kvcache

// singles finds blocks by key where each comes and goes by itself: copies below a pool, and those of layers with windows. It
// is a table as the index is, but a slot names the first registered block of each of its keys. Neighbours in a stretch are
// found without a look at the blocks.
type singles struct {
	slots []line // their number is a power of two
	mask  uint64
	used  int
}

// A line is a slot of the size of a line of the processor's cache.
type line struct {
	hash   uint64
	n      int32         // keys that are there; 0: the slot is empty
	blocks [inLine]int32 // the blocks that have them; 0: none
}

// inLine is the keys that fit into a line.
const inLine = 13

func newSingles(slots int) singles {
	return singles{slots: make([]line, slots), mask: uint64(slots - 1)}
}

// line returns the hash of the line that a key belongs to, and its place there.
func (k key) line() (hash uint64, at uint32) {
	n := uint32(k.at) / inLine
	return k.hash ^ uint64(n)*pi2, uint32(k.at) - n*inLine
}

// slot returns where a line is, or the empty slot where it would go.
func (x *singles) slot(hash uint64) uint64 {
	i := hash & x.mask
	for x.slots[i].n != 0 && x.slots[i].hash != hash {
		i = (i + 1) & x.mask
	}
	return i
}

// find returns the block that was registered first under a key and still exists, or 0.
func (x *singles) find(k key) int32 {
	hash, at := k.line()
	return x.slots[x.slot(hash)].blocks[at]
}

// add registers block b under its key, behind those that have it already.
func (x *singles) add(blocks []block, b int32) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	k := &blocks[b]
	hash, at := k.key.line()
	s := &x.slots[x.slot(hash)]
	if s.n == 0 {
		s.hash = hash
		x.used++
	}
	if first := s.blocks[at]; first != 0 {
		k.follow(blocks, b, first)
		return
	}
	s.blocks[at] = b
	s.n++
	k.older, k.newer = b, b
}

// remove takes block b out.
func (x *singles) remove(blocks []block, b int32) {
	k := &blocks[b]
	hash, at := k.key.line()
	i := x.slot(hash)
	s := &x.slots[i]
	if k.newer != b {
		blocks[k.older].newer = k.newer
		blocks[k.newer].older = k.older
		if s.blocks[at] == b {
			s.blocks[at] = k.newer
		}
		return
	}
	s.blocks[at] = 0
	if s.n--; s.n == 0 {
		x.clear(i)
	}
}

// grow doubles the table.
func (x *singles) grow() {
	old := x.slots
	x.slots, x.mask = make([]line, 2*len(old)), uint64(2*len(old)-1)
	for i := range old {
		if old[i].n != 0 {
			x.slots[x.slot(old[i].hash)] = old[i]
		}
	}
}

// clear empties slot i and closes the gap, as that of an index does.
func (x *singles) clear(i uint64) {
	x.used--
	for j := (i + 1) & x.mask; x.slots[j].n != 0; j = (j + 1) & x.mask {
		home := x.slots[j].hash & x.mask
		if (j-home)&x.mask >= (j-i)&x.mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = line{}
}
