package scheduler

import "github.com/servesim/servesim/kvcache"

// retract takes the memory of those who have generated least until the next token of all others fits. It raises the
// ratio to what would have been right for them.
func (g *sglang) retract(p *Plan) {
	if !g.short() {
		return
	}
	for g.running.n > 1 && g.short() {
		v := g.victim()
		g.running.remove(v)
		g.preempt(p, v)
	}
	var decoded, most int64
	for _, s := range g.running.list() {
		decoded += int64(s.Out + s.Pending)
		most += int64(s.MaxTokens)
	}
	g.reserve.share = min(1, float64(decoded+retractedSteps*int64(g.running.n))/float64(most+1))
	g.full = false
}

// short reports whether the pool lacks the blocks that the decodes of the next step begin.
func (g *sglang) short() bool {
	have, most := g.cache.Available(), g.cache.Need(kvcache.Hit{}, 1) // blocks that one token can begin
	if have >= most*g.running.n {
		return false
	}
	need := 0
	for _, s := range g.running.list() {
		if classOf(s) == decodes && g.due(s) > 0 && s.Computed%g.blockSize == 0 {
			need += most
		}
	}
	return need > have
}

// victim returns the sequence with the fewest generated tokens; of several, that with the longest prompt.
func (g *sglang) victim() *Seq {
	running := g.running.list()
	worst := running[0]
	for _, s := range running {
		if a, b := s.Out+s.Pending, worst.Out+worst.Pending; a < b || a == b && s.Prompt >= worst.Prompt {
			worst = s
		}
	}
	return worst
}
