package scheduler

// A folder keeps the plans of a batcher, to be used again and again. They stand in lists by their numbers in it: pointers
// from one to the next would have to be shown to the garbage collector whenever a step is planned or has run.
type folder struct {
	plans []*Plan // by number; the first is nil, so that 0 is the end of a list
	blank int32   // the list of those that are not in use
}

// take returns a plan that is not in use.
func (f *folder) take() *Plan {
	n := f.blank
	if n == 0 {
		return f.extend()
	}
	p := f.plans[n]
	f.blank = p.next
	return p
}

// extend makes a new plan.
func (f *folder) extend() *Plan {
	if f.plans == nil {
		f.plans = append(f.plans, nil)
	}
	p := &Plan{number: int32(len(f.plans))}
	f.plans = append(f.plans, p)
	return p
}

// put takes back a plan that is not in use any more.
func (f *folder) put(p *Plan) { p.next, f.blank = f.blank, p.number }
