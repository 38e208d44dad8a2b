package scheduler

import "github.com/servesim/servesim/kvcache"

// KV that the pool has lost and the host still has is loaded beside the steps (vLLM's asynchronous connectors). The
// sequence takes its memory at once and leaves the head of the line, so that others pass it; when its KV is there it is
// admitted like any other, with that much computed already.

var _ Loader = (*chunked)(nil)

// below reports whether lower tiers have more of s than hit h, and if so whether it begins to load that.
func (c *chunked) below(p *Plan, s *Seq, hit kvcache.Hit) (lower, begun bool) {
	more, far := c.tier.Below(s.Tokens, int(s.Known()), hit)
	if more == 0 {
		return false, false
	}
	return true, c.load(p, s, hit, int32(more), int32(far))
}

// load begins to load the KV of `more` tokens next to hit h, or does nothing and returns false. A load may not take
// memory that others will need before they decode: they hold blocks, and would wait for each other for ever.
func (c *chunked) load(p *Plan, s *Seq, hit kvcache.Hit, more, far int32) bool {
	have := int32(hit.Tokens) + more
	spare, available := c.keep(), c.cache.Available()
	if c.limits.SchedulerReserveFullISL && !c.fitsWhole(s, hit, spare) {
		return false
	}
	if c.cache.Need(hit, int(have))+spare > available-c.promised() {
		return false
	}
	// What is still on its way must not be found by others.
	if !c.cache.Admit(s.ID, s.Tokens, hit, kvcache.Claim{Tokens: int(have), Known: hit.Tokens, Spare: spare}) {
		return false
	}
	if s.Preemptions == 0 {
		s.Hit = have
		c.counters.PrefixQueries += int64(hit.Queried)
		c.counters.PrefixHits += int64(hit.Tokens)
		c.counters.HostQueries += int64(hit.Queried - hit.Tokens)
		c.counters.HostHits += int64(more)
		c.counters.FarHits += int64(far)
	}
	s.State, s.Computed, s.fill = Loading, have, have // until it is admitted, fill is what it has memory for
	l := Load{Seq: s, Tokens: have, Blocks: more / c.blockSize, Far: far / c.blockSize}
	c.counters.LoadedBlocks += int64(l.Blocks)
	c.counters.FarLoaded += int64(l.Far)
	p.Loads = append(p.Loads, l)
	return true
}

// promised returns the blocks that unfinished prefills and loads still have to take.
func (c *chunked) promised() (blocks int) {
	for _, s := range c.running.list() {
		if s.Computed < s.fill {
			blocks += c.blocks(s.fill) - c.blocks(s.Computed)
		}
	}
	add := func(s *Seq) {
		if s.State == Loading || s.State == Loaded {
			blocks += c.lacks(s)
		}
	}
	for _, s := range c.aside {
		add(s)
	}
	c.skipped.each(add)
	return blocks
}

// lacks returns the blocks that a sequence with memory for its load must still take before it decodes.
func (c *chunked) lacks(s *Seq) int { return c.blocks(min(s.Known(), c.maxLen)) - c.blocks(s.fill) }

// Ready implements [Loader].
func (c *chunked) Ready(s *Seq, tokens int) {
	if s.State != Loading {
		return
	}
	s.State = Loaded
	if s.fetched() {
		s.arrive(tokens)
	} else {
		s.Computed = min(s.Computed, int32(tokens))
	}
	c.cache.Know(s.ID, int(s.Computed))
}

// board admits a sequence whose KV has arrived, if its next chunk fits, as let does.
func (c *chunked) board(p *Plan, s *Seq) bool {
	known := s.Known()
	n, ok := c.chunk(known - s.Computed)
	if !ok {
		return false
	}
	tokens := min(s.Computed+n, c.maxLen)
	need := max(c.blocks(tokens)-c.blocks(s.fill), 0)
	if c.limits.SchedulerReserveFullISL {
		need = c.lacks(s)
	}
	if need+c.keep() > c.cache.Available() || !c.cache.Grow(s.ID, int(tokens), int(known)) {
		return false
	}
	s.State, s.fill = Running, s.owes(known)
	c.settle(s, tokens, c.slide(s))
	c.place(p, s, n)
	p.Admitted = append(p.Admitted, s)
	return true
}

// unblock admits a sequence whose KV has arrived although the head of the line, which does not fit, comes before it. vLLM
// would wait for ever here: nobody runs, and the memory that the head lacks is held by those behind it. One of them fits,
// see promised.
func (c *chunked) unblock(p *Plan) {
	if c.running.n > 0 || len(p.Loads) > 0 || len(p.Preempted) > 0 {
		return
	}
	var first *Seq
	c.skipped.each(func(s *Seq) {
		if first == nil && s.State == Loaded && c.board(p, s) {
			first = s
		}
	})
	if first != nil {
		c.skipped.remove(first)
		c.running.add(first)
	}
}

// count takes in what the cache has copied to the host.
func (c *chunked) count() {
	down, farther := c.tier.Copied()
	c.moved.Stored += int(down - c.known[0])
	c.counters.StoredBlocks += down - c.known[0]
	c.counters.FarStored += farther - c.known[1]
	c.known = [2]int64{down, farther}
}
