package engine

import (
	"math/rand/v2"

	"github.com/servesim/servesim/scheduler"
)

// Acceptance says which drafts the target agrees with. Whether it does is drawn for each token of each answer by itself,
// from the identity of the request and the token's place: neither the batch nor the number of drafts shifts a draw.
type Acceptance struct {
	// Rates are the chances that the first i drafts are all right, for i = 1, 2, …: what vLLM reports as acceptance by
	// position. They never rise; drafts beyond the last one are wrong.
	Rates []float64
	// Lengths are numbers of drafts that were right, as observed: each step takes one of them at random, as far as it has
	// drafts. They replace Rates.
	Lengths []int32
}

// Drafted counts what became of drafts, as vLLM does: those behind the end of an answer as well.
type Drafted struct {
	Drafts     int64   // steps of a sequence in which drafts were verified
	Tokens     int64   // that were drafted
	Accepted   int64   // of which were right
	ByPosition []int64 // steps in which so many drafts, and one more, were right
}

// A judge decides about drafts.
type judge struct {
	Acceptance
	chances []float64 // that a draft is right, given that those before it are
	key     uint64
	Drafted
}

// newJudge returns a judge whose draws follow from one number of the source.
func newJudge(a Acceptance, source rand.Source) *judge {
	j := &judge{Acceptance: a, key: source.Uint64()}
	before := 1.0
	for _, r := range a.Rates {
		chance := 0.0
		if before > 0 {
			chance = r / before
		}
		j.chances = append(j.chances, chance)
		before = r
	}
	return j
}

// judgeDrafts decides how many drafts of each row of a plan were right, and writes down how many of them the answer has
// room for. An answer that has ended in the meantime needs none.
func (e *Engine) judgeDrafts(p *scheduler.Plan) {
	for i := range p.Work {
		w := &p.Work[i]
		if w.Drafts == 0 || w.Seq.State == scheduler.Gone {
			continue
		}
		l := e.lives[w.Seq.ID]
		if l.ended {
			continue
		}
		made := l.Emitted + l.held
		w.Accepted = min(e.judge.judge(l.Request.ID, made, w.Drafts), l.want-made-1)
	}
}

// Drafted reports what became of drafts so far. The slice is the engine's.
func (e *Engine) Drafted() Drafted {
	if e.judge == nil {
		return Drafted{}
	}
	return e.judge.Drafted
}

// judge decides about the drafts behind token `made` of a request, and counts.
func (j *judge) judge(request int64, made, drafts int32) int32 {
	right := j.right(request, made, drafts)
	j.Drafts++
	j.Tokens += int64(drafts)
	j.Accepted += int64(right)
	for int(drafts) > len(j.ByPosition) {
		j.ByPosition = append(j.ByPosition, 0)
	}
	for i := range right {
		j.ByPosition[i]++
	}
	return right
}

func (j *judge) right(request int64, made, drafts int32) int32 {
	if n := len(j.Lengths); n > 0 {
		return min(j.Lengths[int(j.uniform(request, made)*float64(n))], drafts)
	}
	for i := range drafts {
		if int(i) >= len(j.chances) || j.uniform(request, made+i) >= j.chances[i] {
			return i
		}
	}
	return drafts
}

// uniform returns a number in [0, 1) that belongs to one token of one answer: the finalizer of SplitMix64 (Steele, Lea and
// Flood, 2014), twice, in counter mode.
func (j *judge) uniform(request int64, token int32) float64 {
	const golden = 0x9e3779b97f4a7c15
	x := mix(j.key+golden*uint64(request+1)) + golden*uint64(token+1)
	return float64(mix(x)>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
