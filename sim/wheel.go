package sim

// Wheel files items by the tick at which they are due — a step number, not an instant — and hands out those of one tick
// at a time. Filing, taking back and handing out cost O(1) an item. The zero Wheel is ready to use.
type Wheel[T any] struct {
	slots []*Peg[T] // by tick modulo their number; a slot also holds items of later laps
}

// laps is the number of slots: more than most items wait, so that few are met before their lap.
const laps = 4096

// Peg is an item's place in a wheel. It lives in the item; the zero Peg hangs nowhere.
type Peg[T any] struct {
	item       *T
	tick       int64
	next, prev *Peg[T]
}

// Hung reports whether the item hangs in a wheel.
func (p *Peg[T]) Hung() bool { return p.item != nil }

// Hang files an item under a tick.
func (w *Wheel[T]) Hang(p *Peg[T], item *T, tick int64) {
	if w.slots == nil {
		w.slots = make([]*Peg[T], laps)
	}
	head := &w.slots[tick&(laps-1)]
	*p = Peg[T]{item: item, tick: tick, next: *head}
	if *head != nil {
		(*head).prev = p
	}
	*head = p
}

// Unhang takes an item back, if it hangs.
func (w *Wheel[T]) Unhang(p *Peg[T]) {
	if p.item == nil {
		return
	}
	if p.next != nil {
		p.next.prev = p.prev
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		w.slots[p.tick&(laps-1)] = p.next
	}
	*p = Peg[T]{}
}

// Any reports whether something may be due at a tick: false is certain.
func (w *Wheel[T]) Any(tick int64) bool { return w.slots != nil && w.slots[tick&(laps-1)] != nil }

// Due takes out the items of a tick and appends them to dst, the latest filed first.
func (w *Wheel[T]) Due(tick int64, dst []*T) []*T {
	if w.slots == nil {
		return dst
	}
	for p := w.slots[tick&(laps-1)]; p != nil; {
		next := p.next
		if p.tick == tick {
			dst = append(dst, p.item)
			w.Unhang(p)
		}
		p = next
	}
	return dst
}
