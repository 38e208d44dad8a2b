package kvcache

// index finds blocks by key. It is an open-addressing table with linear probing, at most half full. A slot holds a
// stretch: the first registered block of each of its keys. The others follow in a ring through the blocks, so that
// thousands of copies of one block (a prompt that is repeated computes its last block anew each time) cost no more than
// one.
type index struct {
	slots []slot // their number is a power of two
	mask  uint64
	used  int
}

type slot struct {
	hash   uint64
	n      int32          // keys that are there; 0: the slot is empty
	blocks [stretch]int32 // the segments that have them; 0: none
}

func newIndex(slots int) index {
	return index{slots: make([]slot, slots), mask: uint64(slots - 1)}
}

// slot returns where a stretch is, or the empty slot where it would go.
func (x *index) slot(hash uint64) uint64 {
	i := hash & x.mask
	for x.slots[i].n != 0 && x.slots[i].hash != hash {
		i = (i + 1) & x.mask
	}
	return i
}

// find returns the block that was registered first under a key and still exists, or 0.
func (x *index) find(k key) int32 { return x.slots[x.slot(k.hash)].blocks[k.at] }

// room returns the block that was registered first under a key, or 0 and how many keys from there on nobody has, as far as
// `most`.
func (x *index) room(k key, most int32) (first, n int32) {
	s := &x.slots[x.slot(k.hash)]
	for n < most && s.blocks[k.at+n] == 0 {
		n++
	}
	return s.blocks[k.at], n
}

// add registers segment b under its keys. If there is a block that has one of them already, both must be single; then b comes
// behind it.
func (x *index) add(blocks []block, b int32) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	k := &blocks[b]
	s := &x.slots[x.slot(k.key.hash)]
	if s.n == 0 {
		s.hash = k.key.hash
		x.used++
	}
	first := s.blocks[k.key.at]
	if first == 0 {
		n := k.keys()
		for i := range n {
			s.blocks[k.key.at+i] = b
		}
		s.n += n
		k.older, k.newer = b, b
		return
	}
	last := blocks[first].older
	k.older, k.newer = last, first
	blocks[last].newer = b
	blocks[first].older = b
}

// remove takes segment b out.
func (x *index) remove(blocks []block, b int32) {
	k := &blocks[b]
	if k.newer == b { // the only one
		x.set(k.key, k.keys(), 0)
		return
	}
	blocks[k.older].newer = k.newer
	blocks[k.newer].older = k.older
	if s := &x.slots[x.slot(k.key.hash)]; s.blocks[k.key.at] == b {
		s.blocks[k.key.at] = k.newer
	}
}

// set makes b the only block that n keys find, which have found another so far; 0: from now on they find none.
func (x *index) set(first key, n, b int32) {
	i := x.slot(first.hash)
	s := &x.slots[i]
	for j := range n {
		s.blocks[first.at+j] = b
	}
	if b != 0 {
		return
	}
	if s.n -= n; s.n == 0 {
		x.clear(i)
	}
}

// keys returns how many keys of a segment are in the index.
func (k *block) keys() int32 {
	if k.extent > 0 {
		return 1
	}
	return k.size()
}

// grow doubles the table.
func (x *index) grow() {
	old := x.slots
	x.slots, x.mask = make([]slot, 2*len(old)), uint64(2*len(old)-1)
	for i := range old {
		if old[i].n != 0 {
			x.slots[x.slot(old[i].hash)] = old[i]
		}
	}
}

// clear empties slot i and closes the gap: whatever was pushed beyond it by a collision moves up.
func (x *index) clear(i uint64) {
	x.used--
	for j := (i + 1) & x.mask; x.slots[j].n != 0; j = (j + 1) & x.mask {
		home := x.slots[j].hash & x.mask
		if (j-home)&x.mask >= (j-i)&x.mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = slot{}
}
