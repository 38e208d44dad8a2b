package sim

// Wheel files items by the tick at which they are due — a step number, not an instant — and hands out those of one tick
// at a time. Filing, taking back and handing out cost O(1) an item, and touch no other item. The zero Wheel is ready to
// use.
type Wheel[T any] struct {
	slots *[laps]int32 // by tick modulo their number: the newest hook of each; a slot also holds items of later laps
	hooks []hook[T]    // the first is none
	spare int32        // the newest hook that is free
}

// laps is the number of slots: more than most items wait, so that few are met before their lap.
const laps = 4096

// A hook is where an item hangs: hooks lie close together, items do not.
type hook[T any] struct {
	peg  *Peg[T]
	tick int64
	next int32 // the hook behind it in its slot, or among the free; 0: none
}

// Peg is an item's place in a wheel. It lives in the item; the zero Peg hangs nowhere.
type Peg[T any] struct {
	item *T
	hook int32
}

// Hung reports whether the item hangs in a wheel.
func (p *Peg[T]) Hung() bool { return p.hook != 0 }

// Hang files an item under a tick.
func (w *Wheel[T]) Hang(p *Peg[T], item *T, tick int64) {
	if w.spare == 0 {
		w.grow()
	}
	i, slot := w.spare, tick&(laps-1)
	h := &w.hooks[i]
	w.spare = h.next
	h.peg, h.tick, h.next = p, tick, w.slots[slot]
	w.slots[slot] = i
	p.item, p.hook = item, i
}

// grow makes the wheel, or doubles its hooks.
func (w *Wheel[T]) grow() {
	if w.slots == nil {
		w.slots, w.hooks = new([laps]int32), make([]hook[T], 1, 64)
	}
	old := len(w.hooks)
	w.hooks = append(w.hooks, make([]hook[T], old)...)
	for i := old; i < len(w.hooks); i++ {
		w.hooks[i].next, w.spare = w.spare, int32(i)
	}
}

// Unhang takes an item back, if it hangs.
func (w *Wheel[T]) Unhang(p *Peg[T]) {
	if p.hook == 0 {
		return
	}
	at := &w.slots[w.hooks[p.hook].tick&(laps-1)]
	for *at != p.hook {
		at = &w.hooks[*at].next
	}
	w.release(p, at)
}

// release frees the hook of an item, to which at points.
func (w *Wheel[T]) release(p *Peg[T], at *int32) {
	i := *at
	h := &w.hooks[i]
	*at, h.next = h.next, w.spare
	w.spare = i
	h.peg, p.hook = nil, 0
}

// Any reports whether something may be due at a tick: false is certain.
func (w *Wheel[T]) Any(tick int64) bool {
	return w.slots != nil && w.slots[tick&(laps-1)] != 0
}

// Quiet returns for how many ticks from this one on nothing is due, or fewer; it looks at most so far ahead.
func (w *Wheel[T]) Quiet(tick int64, most int) (n int) {
	slots := w.slots
	if slots == nil {
		return most
	}
	for n < most && slots[(tick+int64(n))&(laps-1)] == 0 {
		n++
	}
	return n
}

// Due takes out the items of a tick and appends them to dst, the latest filed first.
func (w *Wheel[T]) Due(tick int64, dst []*T) []*T {
	if w.slots == nil {
		return dst
	}
	for at := &w.slots[tick&(laps-1)]; *at != 0; {
		h := &w.hooks[*at]
		if h.tick != tick {
			at = &h.next
			continue
		}
		dst = append(dst, h.peg.item)
		w.release(h.peg, at)
	}
	return dst
}
