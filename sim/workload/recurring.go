package workload

import (
	"math/rand/v2"

	"github.com/servesim/servesim/kvcache"
)

// recurring holds the prompts of a workload that has only so many different ones, in the order in which they come
// round. It is empty where no prompt comes twice.
type recurring [][2]kvcache.Run

// newRecurring draws the prompts: number i belongs to group i mod Groups. Every run of a Spec draws the same.
func newRecurring(s *Spec, stream func(string) rand.Source) recurring {
	p := s.Prefix
	if p.Distinct == 0 {
		return nil
	}
	lengths := s.Prompt.sampler(stream("prompt"))
	r := make(recurring, p.Distinct)
	for i := range r {
		if p.Tokens > 0 {
			r[i][0] = kvcache.Run{Label: groupPrefix.label(uint64(i % p.Groups)), Len: int32(p.Tokens)}
		}
		r[i][1] = kvcache.Run{Label: recurringPrompt.label(uint64(i)), Len: lengths.draw()}
	}
	rand.New(stream("prefix")).Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
	return r
}

// prompt returns the parts of the prompt of request number id.
func (r recurring) prompt(id int64) [2]kvcache.Run { return r[id%int64(len(r))] }
