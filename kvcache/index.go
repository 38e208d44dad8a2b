package kvcache

// index finds blocks by key. It is an open-addressing table with linear probing, at most half full. A slot holds a
// stretch: its segments in the order of their places, each the first registered one of its keys. The others follow in a
// ring through the blocks, so that thousands of copies of one block (a prompt that is repeated computes its last block
// anew each time) cost no more than one.
type index struct {
	slots []slot // their number is a power of two
	mask  uint64
	used  int
}

type slot struct {
	hash  uint64
	first int32 // segment of the stretch, the others by block.after; 0: the slot is empty
}

func newIndex(slots int) index {
	return index{slots: make([]slot, slots), mask: uint64(slots - 1)}
}

// slot returns where a stretch is, or the empty slot where it would go.
func (x *index) slot(hash uint64) uint64 {
	i := hash & x.mask
	for x.slots[i].first != 0 && x.slots[i].hash != hash {
		i = (i + 1) & x.mask
	}
	return i
}

// seek returns the slot of a key's stretch, and in it the first segment that ends behind the key, 0 if there is none, and the
// one before that.
func (x *index) seek(blocks []block, k key) (i uint64, before, b int32) {
	i = x.slot(k.hash)
	b = x.slots[i].first
	for b != 0 && blocks[b].end() <= k.at {
		before, b = b, blocks[b].after
	}
	return i, before, b
}

// find returns the segment with the block that was registered first under a key and still exists, or 0.
func (x *index) find(blocks []block, k key) int32 {
	if _, _, b := x.seek(blocks, k); b != 0 && blocks[b].key.at <= k.at {
		return b
	}
	return 0
}

// room returns what find does, or 0 and how many keys from there on nobody has, as far as `most`.
func (x *index) room(blocks []block, k key, most int32) (first, n int32) {
	_, _, b := x.seek(blocks, k)
	switch {
	case b == 0:
		return 0, most
	case blocks[b].key.at <= k.at:
		return b, 0
	}
	return 0, min(most, blocks[b].key.at-k.at)
}

// add registers segment b under its keys. If there is a block that has one of them already, both must be single; then b comes
// behind it.
func (x *index) add(blocks []block, b int32) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	k := &blocks[b]
	i, before, next := x.seek(blocks, k.key)
	if next != 0 && blocks[next].key.at <= k.key.at {
		k.follow(blocks, b, next)
		return
	}
	k.older, k.newer, k.after = b, b, next
	switch s := &x.slots[i]; {
	case before != 0:
		blocks[before].after = b
	case next != 0:
		s.first = b
	default:
		s.hash, s.first = k.key.hash, b
		x.used++
	}
}

// remove takes segment b out.
func (x *index) remove(blocks []block, b int32) {
	k := &blocks[b]
	i, before, first := x.seek(blocks, k.key)
	next := k.after
	if k.newer != b { // there are copies
		blocks[k.older].newer = k.newer
		blocks[k.newer].older = k.older
		if first != b {
			return
		}
		next = k.newer
		blocks[next].after = k.after
	}
	switch {
	case before != 0:
		blocks[before].after = next
	case next != 0:
		x.slots[i].first = next
	default:
		x.clear(i)
	}
}

// follow puts block b, which is k, at the end of the ring of those with the key of the first.
func (k *block) follow(blocks []block, b, first int32) {
	last := blocks[first].older
	k.older, k.newer = last, first
	blocks[last].newer = b
	blocks[first].older = b
}

// keys returns how many keys of a segment are in the index.
func (k *block) keys() int32 {
	if k.extent > 0 {
		return 1
	}
	return k.size()
}

// end returns the place behind the last of those keys.
func (k *block) end() int32 { return k.key.at + k.keys() }

// grow doubles the table.
func (x *index) grow() {
	old := x.slots
	x.slots, x.mask = make([]slot, 2*len(old)), uint64(2*len(old)-1)
	for i := range old {
		if old[i].first != 0 {
			x.slots[x.slot(old[i].hash)] = old[i]
		}
	}
}

// clear empties slot i and closes the gap: whatever was pushed beyond it by a collision moves up.
func (x *index) clear(i uint64) {
	x.used--
	for j := (i + 1) & x.mask; x.slots[j].first != 0; j = (j + 1) & x.mask {
		home := x.slots[j].hash & x.mask
		if (j-home)&x.mask >= (j-i)&x.mask {
			x.slots[i] = x.slots[j]
			i = j
		}
	}
	x.slots[i] = slot{}
}
