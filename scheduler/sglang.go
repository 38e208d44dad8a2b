package scheduler

import (
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// sglang is SGLang's scheduler (Zheng et al., SGLang: Efficient Execution of Structured Language Model Programs, NeurIPS
// 2024; source managers/scheduler and schedule_policy, release 0.5). Prefill comes first, and admission bets on how much
// of max_tokens will be generated: the bet falls while it goes well and is raised when memory has run out.
type sglang struct {
	batcher
	rules SGLangRules
	lpm   *prefixLine // the waiting line, if it goes by cached prefixes; nil: first come, first served

	first, least, decay float64 // the new-token ratio (reserve.share): at first, at least, less after each decode step
	full                bool    // the last admission found no memory, and nobody has gone since
	ran                 int     // sequences that ran after the last plan
}

// SGLangRules are the settings of SGLang's scheduler, under its names.
type SGLangRules struct {
	ChunkedPrefillSize int     // most tokens of prompts in a step; the last prompt is cut to it. 0: prompts are not split
	MaxPrefillTokens   int     // most tokens of prompts in a step; a longer one has it for itself if prompts are not split
	Conservativeness   float64 // factor on the new-token ratio
	LongestPrefixMatch bool    // admit by the length of the cached prefix (lpm); only in place of first come, first served
	EnableMixedChunk   bool    // decodes go along with prompts instead of waiting for them
}

const (
	clipNewTokens  = 4096 // no answer counts for more when memory is reserved
	firstRatio     = 0.7  // of max_tokens, times conservativeness
	leastRatio     = 0.14 // of the first ratio
	ratioSteps     = 600  // decode steps from the first ratio to the least
	retractedSteps = 20   // after a retraction the ratio allows so many more tokens to everybody
)

// SGLang returns SGLang's scheduler. As long as there are prompts and memory for them, steps compute prompts and every
// decode waits; otherwise all decode. A prompt is admitted if it, with its max_tokens (of which at most 4096 count), and
// the running, with the new-token ratio of what is left to them, fit the pool. When the next decode step finds no memory,
// those with the fewest generated tokens are retracted: they lose their KV, keep their tokens and go to the end of the
// line. As in the original, once memory was short nobody is admitted before somebody has gone. A page is one KV block.
func SGLang(l Limits, r SGLangRules, c kvcache.Cache) Scheduler {
	l.MaxNumBatchedTokens = max(r.MaxPrefillTokens, 1)
	if r.ChunkedPrefillSize > 0 {
		l.MaxNumBatchedTokens = min(l.MaxNumBatchedTokens, r.ChunkedPrefillSize)
	}
	l.MaxNumScheduledTokens, l.LongPrefillTokenThreshold = 0, 0
	g := &sglang{batcher: newBatcher(l, c), rules: r}
	g.unbounded, g.toBack = true, true
	g.first = min(firstRatio*r.Conservativeness, 1)
	g.least = g.first * leastRatio
	g.decay = (g.first - g.least) / ratioSteps
	g.reserve = reservation{share: g.first, clip: clipNewTokens}
	if _, plain := g.order.(fcfs); plain && r.LongestPrefixMatch {
		g.lpm = &prefixLine{cache: c}
		g.waiting.line = g.lpm
	}
	return g
}

// Add puts s in the waiting line. The ratio begins anew when the engine was idle.
func (g *sglang) Add(s *Seq) {
	if g.running.n == 0 && !g.someoneWaits() {
		g.reserve.share = g.first
	}
	g.batcher.Add(s)
}

// Plan computes prompts or, if there are none to compute, decodes.
func (g *sglang) Plan(now sim.Time) *Plan {
	p := g.begin(now)
	if g.rules.EnableMixedChunk {
		g.decode(p)
	}
	g.serve(p, prompts)
	g.full = g.full && g.running.n >= max(g.ran, 1)
	if !g.full && len(p.Preempted) == 0 {
		if g.lpm != nil {
			g.lpm.sort()
		}
		g.reserved(p, g)
	}
	if p.Empty() && !g.rules.EnableMixedChunk {
		g.decode(p)
	}
	g.ran = g.running.n
	return g.end(p)
}

// let admits the head of the line if all that it may come to fits what the running leave.
func (g *sglang) let(p *Plan, s *Seq) bool {
	known := s.Known()
	hit := g.cache.Match(s.Tokens, int(known))
	n, ok := g.cut(p, known-int32(hit.Tokens), g.rules.ChunkedPrefillSize > 0)
	if !ok {
		return false
	}
	g.full = !g.book(p, s, hit, n, 1) // the page that the next token may begin
	return !g.full
}

// decode gives every decode its token, once there is memory for all.
func (g *sglang) decode(p *Plan) {
	g.retract(p)
	g.decodeAll(p)
	if len(p.Preempted) == 0 && !p.Empty() {
		g.reserve.share = max(g.reserve.share-g.decay, g.least)
	}
}

// Refuse reads only.
func (g *sglang) Refuse(s *Seq) string {
	if r := g.tooLong(s); r != "" {
		return r
	}
	return g.tooBig(s.Prompt, 0)
}
