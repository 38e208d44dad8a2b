package scheduler

import (
	"math"
	"sort"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/sim"
)

// Paced returns the order of [SLO], which under a scheduler that splits prompts also sizes the chunks: a step holds all
// decodes and as many tokens of prompts as let it end, by the cost model, before the next token of any decode is due,
//
//	largest n with time(decodes + n) ≤ min over decodes of max(first token + k·TPOT − now, TPOT)
//
// for the token after k others. Who is ahead lends its time to prompts; who has fallen behind falls no further.
//
// Source: dynamic chunking of Goel et al., "Niyama: Breaking the Silos of LLM Inference Serving", arXiv 2503.22562, 2025.
func Paced(cost hardware.CostModel, targets func(*Seq) Targets) Order {
	return paced{&slo{edf: edf{targets}, cost: cost}}
}

type paced struct{ *slo }

// A pacer bounds the tokens of a step before it is planned. It sees the running one by one.
type pacer interface {
	pace(now sim.Time, b *batcher) int32
}

func (o paced) pace(now sim.Time, b *batcher) int32 {
	start := now
	if latest := b.latest(); b.async && latest != nil {
		start = now.Add(took(o.cost, latest.Step)) // the step under way ends first
	}
	slack := time.Duration(math.MaxInt64)
	var step hardware.Step
	past := 0 // of the prompt that goes on
	for _, s := range b.running.list() {
		if s.Computed < s.fill {
			past = int(s.Computed)
			continue
		}
		step.AddDecode(int(s.Computed), b.window)
		if s.Out > 0 && s.Notes[pacedFirst] == 0 {
			s.Notes[pacedFirst] = int64(now)
		}
		if tpot := o.targets(s).TPOT; tpot > 0 {
			due := sim.Time(s.Notes[pacedFirst]).Add(time.Duration(s.Out+s.Pending) * tpot)
			slack = min(slack, max(due.Sub(start), tpot))
		}
	}
	room := max(int(b.capacity)-step.Decodes, 0)
	n := sort.Search(room, func(n int) bool {
		longer := step
		longer.AddChunk(n+1, past, true, b.window)
		return took(o.cost, longer) > slack
	})
	return int32(step.Decodes + n)
}

// What the order notes about a sequence, beside what slo does: when its first token was there.
const pacedFirst = sloLate + 1
