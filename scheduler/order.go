package scheduler

import "github.com/servesim/servesim/sim"

// An Order says who comes first: of those who wait, who is admitted next; of those who run, from the other end, who loses
// its memory when there is none left. An order that keeps state belongs to one scheduler.
//
// An order may be more than that: a [Greeter], a [Watcher], a [Charger], a [Preemptor]. The last three see the running
// sequences one by one, so that plans name them all.
type Order interface {
	// Before reports whether a comes before b. As long as both wait and no token of theirs comes in, the answer stays the
	// same.
	Before(a, b *Seq) bool
}

// A Greeter is an Order that looks at every sequence once, before it joins the waiting line.
type Greeter interface {
	Order
	Arrive(s *Seq)
}

// A Watcher is an Order that is told the time before every plan, and who runs. It may change what it has noted about the
// running, not about those who wait.
type Watcher interface {
	Order
	Watch(now sim.Time, running []*Seq)
}

// A Charger is an Order that keeps accounts: it is shown every row as it is put into a plan. What static batching pads is
// in it.
type Charger interface {
	Order
	Charge(w *Work)
}

// A Preemptor is an Order that lets a better sequence have the place of a running one, between two steps.
type Preemptor interface {
	Order
	// Yields reports whether v, which runs, gives way to s, which waits. Whoever does must come after s by Before.
	Yields(v, s *Seq) bool
}

// order is what the batcher asks. A plain Order is made one by sorted.
type order interface {
	Order
	line() line // nil: first come, first served
	// skippedFirst says whether a, passed over at the last look, comes before b, which has only waited.
	skippedFirst(a, b *Seq) bool
	// victim returns the place in running of the sequence that loses its memory first.
	victim(running []*Seq) int
}

// sorted is an order whose lines are heaps; the last of the running is the first to go.
type sorted struct{ Order }

func (o sorted) line() line                  { return &heap{before: o.Before} }
func (o sorted) skippedFirst(a, b *Seq) bool { return o.Before(a, b) }
func (o sorted) victim(running []*Seq) int {
	worst := 0
	for i, s := range running {
		if o.Before(running[worst], s) {
			worst = i
		}
	}
	return worst
}

// An events holds the other faces of an order; nil where it has none.
type events struct {
	greeter   Greeter
	watcher   Watcher
	ticker    ticker
	pacer     pacer
	charger   Charger
	preemptor Preemptor
}

// A ticker is shown the batcher before every plan. It need not see the running one by one, and finds those who wait in lines
// of its own.
type ticker interface {
	tick(now sim.Time, b *batcher)
}

// obey makes o the order of the batcher; nil: first come, first served.
func (b *batcher) obey(o Order) {
	if o == nil {
		o = fcfs{}
	}
	b.greeter, _ = o.(Greeter)
	b.watcher, _ = o.(Watcher)
	b.ticker, _ = o.(ticker)
	b.pacer, _ = o.(pacer)
	b.charger, _ = o.(Charger)
	b.preemptor, _ = o.(Preemptor)
	if b.watcher != nil || b.charger != nil || b.preemptor != nil || b.pacer != nil {
		b.limits.Named = true
	}
	own, ok := o.(order)
	if !ok {
		own = sorted{o}
	}
	b.order = own
	b.waiting, b.skipped = queue{line: own.line()}, queue{line: own.line()}
}

// show tells the order the time and who runs.
func (b *batcher) show(now sim.Time) {
	if b.ticker != nil {
		b.ticker.tick(now, b)
	}
	if b.watcher != nil {
		b.watcher.Watch(now, b.running.list())
	}
}

// refile puts a sequence that waits where it belongs, now that it knows a token more.
func (b *batcher) refile(s *Seq) {
	for _, l := range []line{b.waiting.line, b.skipped.line} {
		if h, ok := l.(*heap); ok && h.remove(s) {
			h.push(s)
		}
	}
}

// FCFS returns first come, first served, the default; the last admitted is the first to go. A preempted sequence returns
// to the head of the line.
func FCFS() Order { return fcfs{} }

type fcfs struct{}

func (fcfs) Before(a, b *Seq) bool       { return older(a, b) }
func (fcfs) line() line                  { return nil }
func (fcfs) skippedFirst(_, _ *Seq) bool { return true }
func (fcfs) victim(running []*Seq) int   { return len(running) - 1 }

// Priority returns vLLM's order by (Priority, Arrival, Order), lower first; the highest is the first to go. A seat is taken
// from nobody, and there is no ageing.
func Priority() Order { return priority{} }

type priority struct{}

func (priority) Before(a, b *Seq) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return older(a, b)
}

// older reports whether a came before b.
func older(a, b *Seq) bool {
	if a.Arrival != b.Arrival {
		return a.Arrival < b.Arrival
	}
	return a.Order < b.Order
}
