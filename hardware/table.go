package hardware

import (
	"sync"
	"sync/atomic"
)

// A table remembers the prices of a quantity: tokens, or sampled rows. They are worked out when first asked for, and lie
// side by side in pages, of which only those exist that something has been asked of.
//
// Several simulations may share a table. A price is written once, under the lock; then its page says that it is known, and
// whoever reads that may read the price without the lock.
type table struct {
	pages []page
	work  func(int) price
	lock  sync.Mutex
}

// A page holds the prices of pageSize successive numbers.
type page struct {
	known  atomic.Uint64 // one bit for each
	prices *[pageSize]price
}

const pageSize = 64

// newTable returns a table of 0…n; beyond its last page prices are worked out each time.
func newTable(n int, work func(int) price) *table {
	return &table{pages: make([]page, n/pageSize+1), work: work}
}

// at returns the price of n, which is not to be changed.
func (t *table) at(n int) *price {
	if i := uint(n) / pageSize; i < uint(len(t.pages)) {
		if p := &t.pages[i]; p.known.Load()>>(uint(n)%pageSize)&1 != 0 {
			return &p.prices[uint(n)%pageSize]
		}
	}
	return t.find(n)
}

// find works out the price of n, and keeps it if there is a page for it.
func (t *table) find(n int) *price {
	found := t.work(n)
	i, bit := uint(n)/pageSize, uint(n)%pageSize
	if i >= uint(len(t.pages)) {
		return &found
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	p := &t.pages[i]
	if p.prices == nil {
		p.prices = new([pageSize]price)
	}
	if p.known.Load()>>bit&1 == 0 { // else somebody has been quicker
		p.prices[bit] = found
		p.known.Store(p.known.Load() | 1<<bit)
	}
	return &p.prices[bit]
}
