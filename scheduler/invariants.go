package scheduler

import (
	"fmt"
	"slices"
)

// Check reports the first violated invariant by name, or nil. It walks everything.
func (b *batcher) Check() error {
	for _, check := range []func() error{b.checkSeats, b.checkStates, b.checkProgress, b.checkBudget, b.checkReservation, b.checkCohort, b.checkSwap, b.checkHeld, b.checkCache} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (b *batcher) checkSeats() error {
	if n := b.running.n; n > b.limits.MaxNumSeqs {
		return fmt.Errorf("scheduler: seats: %d sequences run, max_num_seqs is %d", n, b.limits.MaxNumSeqs)
	}
	return nil
}

// States: a sequence is in exactly one list, and its state says in which.
func (b *batcher) checkStates() (err error) {
	seen := map[*Seq]bool{}
	see := func(s *Seq, ok bool, list string) {
		if err == nil && (!ok || seen[s]) {
			err = fmt.Errorf("scheduler: states: sequence %d in state %v is %s (listed before: %v)", s.ID, s.State, list, seen[s])
		}
		seen[s] = true
	}
	for _, s := range b.running.list() {
		see(s, s.State == Running, "running")
	}
	b.waiting.each(func(s *Seq) { see(s, s.State == Waiting || s.State == Preempted, "waiting") })
	b.skipped.each(func(s *Seq) { see(s, s.State != Running && s.State < Swapped, "waiting") })
	for _, s := range b.swap.line {
		see(s, s.State == Swapped, "swapped out")
	}
	return err
}

// Progress: nobody has computed more than it knows or soon will, and who waits has computed nothing.
func (b *batcher) checkProgress() (err error) {
	for _, s := range b.running.list() {
		switch {
		case s.Computed < 0 || s.Computed > s.Known()+s.Pending+b.unverified():
			return fmt.Errorf("scheduler: progress: sequence %d has computed %d of %d known and %d pending tokens", s.ID, s.Computed, s.Known(), s.Pending)
		case s.Stale < 0 || s.Stale > 0 || s.InFlight < 0 || s.Pending < 0:
			return fmt.Errorf("scheduler: progress: sequence %d runs with %d tokens in flight, %d stale, %d pending", s.ID, s.InFlight, s.Stale, s.Pending)
		}
	}
	b.waiting.each(func(s *Seq) {
		if s.Computed != 0 || s.Pending != 0 || s.Stale < 0 || s.Stale != s.InFlight {
			err = fmt.Errorf("scheduler: progress: sequence %d waits with %d computed, %d pending, %d in flight, %d stale", s.ID, s.Computed, s.Pending, s.InFlight, s.Stale)
		}
	})
	return err
}

// unverified returns how many tokens a sequence may have computed that are mere guesses. Under asynchronous scheduling
// they count as pending.
func (b *batcher) unverified() int32 {
	if b.async {
		return 0
	}
	return int32(b.spec.Drafts)
}

// Budget: the last step took no more tokens than it may, unless it served one sequence that cannot be split, and its
// sums are those of its rows.
func (b *batcher) checkBudget() error {
	latest := b.latest()
	if latest == nil {
		return nil
	}
	tokens, decoded := int32(0), int32(0)
	for _, w := range latest.Work {
		if w.Tokens < 1 {
			return fmt.Errorf("scheduler: budget: sequence %d is in a step with %d tokens", w.Seq.ID, w.Tokens)
		}
		tokens += w.Tokens
		if w.Decode {
			decoded += w.Tokens
		}
	}
	tokens += int32(latest.Members)
	if b.unbounded && tokens == decoded {
		tokens = 0
	}
	if tokens > b.capacity && len(latest.Work) > 1 {
		return fmt.Errorf("scheduler: budget: %d tokens in a step of %d", tokens, b.capacity)
	}
	if latest.beats || b.padded {
		return nil // not all of its rows are here, or some that are here cost more
	}
	sum := b.sum(latest.Work)
	sum.Draft.Depth = latest.Step.Draft.Depth
	if sum != latest.Step {
		return fmt.Errorf("scheduler: sums: the step says %+v, its rows add up to %+v", latest.Step, sum)
	}
	return nil
}

// Reservation: what is reserved in full is there, so that nobody is ever preempted.
func (b *batcher) checkReservation() error {
	if !b.reserve.total() {
		return nil
	}
	if owed, have := b.owed(), b.cache.Available(); owed > have {
		return fmt.Errorf("scheduler: reservation: %d blocks are reserved for the running, %d are available", owed, have)
	}
	if n := b.counters.Preemptions; n > 0 {
		return fmt.Errorf("scheduler: reservation: %d sequences were preempted though all their memory was reserved", n)
	}
	return nil
}

// Cohort: its sums are those of its members, and the rest of the running are its loose ones, in order.
func (b *batcher) checkCohort() error {
	c := &b.cohort
	if c.steady == nil {
		return nil
	}
	var size, loose, gone int
	var contexts int64
	phases := newPhases(c.phases.size)
	phases.begins = c.phases.begins
	for _, s := range b.running.list() {
		if s.unnamed && !s.peg.Hung() {
			gone++
			continue
		}
		if !s.unnamed {
			if loose++; loose > len(c.loose) || c.loose[loose-1] != s {
				return fmt.Errorf("scheduler: cohort: sequence %d is neither a member nor loose", s.ID)
			}
			continue
		}
		now := s.Computed + int32(c.beat-s.joined)
		size++
		contexts += int64(now)
		phases.add(phases.slot(now-b.floor(now)), 1)
	}
	if gone != c.gone || loose != len(c.loose) {
		return fmt.Errorf("scheduler: cohort: %d are loose and %d gone, its lists say %d and %d", loose, gone, len(c.loose), c.gone)
	}
	if size != c.size || contexts != c.contexts || !slices.Equal(phases.twice, c.phases.twice) {
		return fmt.Errorf("scheduler: cohort: %d members with %d tokens, its sums say %d with %d", size, contexts, c.size, c.contexts)
	}
	return nil
}

// Swap: the blocks in use are those of the sequences that are swapped out, and fit.
func (b *batcher) checkSwap() error {
	used := 0
	for _, s := range b.swap.line {
		used += b.blocks(s.Computed)
	}
	if used != b.swap.used || used > b.swap.space {
		return fmt.Errorf("scheduler: swap: %d blocks are swapped out, counted as %d, %d fit", used, b.swap.used, b.swap.space)
	}
	return nil
}

// Held: memory is in use only while somebody runs, loads, has loaded, or is on hold.
func (b *batcher) checkHeld() error {
	if b.running.n > 0 || b.held > 0 || b.skipped.n > 0 {
		return nil
	}
	if n := b.cache.Usage().Held; n > 0 {
		return fmt.Errorf("scheduler: held: nobody has any memory, but %d blocks are in use", n)
	}
	return nil
}

// Cache: its own invariants hold.
func (b *batcher) checkCache() error {
	if c, ok := b.cache.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}
