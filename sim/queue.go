package sim

// Phase orders the events of one instant. The ladder is short on purpose, and each rung has a reason.
type Phase uint8

const (
	// Arrive is for what enters from outside: a request that arrives at the very instant a step ends
	// is visible to the next scheduling decision, as in an engine that drains its input queue first.
	Arrive Phase = iota
	// Finish is for work in flight that completes.
	Finish
	// Decide is for policies, which act on the settled state of the instant.
	Decide
	// Watch is for observers, which sample and change nothing.
	Watch
)

// An event is a callback with its place in the total order (time, phase, sequence).
type event struct {
	at   Time
	key  uint64 // phase in the top 8 bits, sequence number below: one comparison breaks ties
	slot int32  // index into Kernel.slots, where the callback lives
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.key < f.key
}

// queue is a binary heap of events, typed so that nothing is boxed.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	*q = h
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// pop takes out the head, the first of all.
func (q *queue) pop() {
	h := *q
	last := h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right].before(&h[child]) {
			child = right
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if i < len(h) {
		h[i] = last
	}
}
