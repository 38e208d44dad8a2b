package scheduler

import "github.com/servesim/servesim/kvcache"

// retract takes the memory of those who have generated least until the next token of all others fits. It raises the
// ratio to what would have been right for them.
func (g *sglang) retract(p *Plan) {
	if !g.short() {
		return
	}
	for len(g.running) > 1 && g.short() {
		at := g.victim()
		v := g.running[at]
		g.running.removeAt(at)
		g.preempt(p, v)
	}
	var decoded, most int64
	for _, s := range g.running {
		decoded += int64(s.Out + s.Pending)
		most += int64(s.MaxTokens)
	}
	g.reserve.share = min(1, float64(decoded+retractedSteps*int64(len(g.running)))/float64(most+1))
	g.full = false
}

// short reports whether the pool lacks the blocks that the decodes of the next step begin.
func (g *sglang) short() bool {
	have, most := g.cache.Usage().Available(), g.cache.Need(kvcache.Hit{}, 1) // blocks that one token can begin
	if have >= most*len(g.running) {
		return false
	}
	need := 0
	for _, s := range g.running {
		if classOf(s) == decodes && g.due(s) > 0 && s.Computed%g.blockSize == 0 {
			need += most
		}
	}
	return need > have
}

// victim returns the place of the sequence with the fewest generated tokens; of several, of the longest prompt.
func (g *sglang) victim() int {
	worst := 0
	for i, s := range g.running {
		w := g.running[worst]
		if a, b := s.Out+s.Pending, w.Out+w.Pending; a < b || a == b && s.Prompt >= w.Prompt {
			worst = i
		}
	}
	return worst
}
