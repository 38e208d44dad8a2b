package kvcache

import "fmt"

// Store is a set of blocks by content, below the pool of an engine: host memory, a disk, or a store that several engines
// reach. When it is full the one makes room that was stored or asked for longest ago.
type Store struct {
	capacity int
	blocks   []block // ring by last use, from block 0 to block 0
	index    singles
}

// NewStore returns an empty store of so many blocks. It panics if there is no room for one.
func NewStore(blocks int) *Store {
	if blocks < 1 {
		panic(fmt.Sprintf("kvcache.NewStore: %d blocks: needs at least 1", blocks))
	}
	return &Store{capacity: blocks, blocks: make([]block, 1), index: newSingles(1 << 4)}
}

// has reports whether a block is there.
func (h *Store) has(k key) bool { return h.index.find(k) != 0 }

// add stores a block that is not there yet. It returns the one that made room, if one did.
func (h *Store) add(k key) (old key, full bool) {
	b := int32(len(h.blocks))
	if int(b) <= h.capacity {
		h.blocks = append(h.blocks, block{})
	} else {
		b = h.blocks[0].next
		old, full = h.blocks[b].key, true
		h.unlink(b)
		h.index.remove(h.blocks, b)
	}
	h.blocks[b] = block{key: k}
	h.index.add(h.blocks, b)
	h.link(b)
	return old, full
}

// touch notes that a block was asked for, if it is there.
func (h *Store) touch(k key) {
	if b := h.index.find(k); b != 0 {
		h.unlink(b)
		h.link(b)
	}
}

// link puts a block at the end of the ring.
func (h *Store) link(b int32) {
	last := h.blocks[0].prev
	h.blocks[b].prev, h.blocks[b].next = last, 0
	h.blocks[last].next, h.blocks[0].prev = b, b
}

func (h *Store) unlink(b int32) {
	k := &h.blocks[b]
	h.blocks[k.prev].next, h.blocks[k.next].prev = k.next, k.prev
}

// check: there are no more blocks than fit, each is in the ring once, and the index finds it.
func (h *Store) check() error {
	n := 0
	for b := h.blocks[0].next; b != 0 && n < len(h.blocks); b = h.blocks[b].next {
		n++
		if f := h.index.find(h.blocks[b].key); f != b {
			return fmt.Errorf("kvcache: store: block %d is found as %d", b, f)
		}
	}
	if n != len(h.blocks)-1 || n > h.capacity {
		return fmt.Errorf("kvcache: store: %d blocks in the ring, %d in all, %d fit", n, len(h.blocks)-1, h.capacity)
	}
	return nil
}
