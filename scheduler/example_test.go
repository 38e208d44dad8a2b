package scheduler_test

import (
	"fmt"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// shortPrompts is an order from outside: the shortest prompt first.
type shortPrompts struct{}

func (shortPrompts) Before(a, b *scheduler.Seq) bool {
	if a.Prompt != b.Prompt {
		return a.Prompt < b.Prompt
	}
	return a.Order < b.Order
}

// An order needs no more than a comparison, and is passed as a value.
func ExampleOrder() {
	pool := kvcache.New(kvcache.Config{Blocks: 100, BlockSize: 16})
	s := scheduler.Chunked(scheduler.Limits{
		MaxNumBatchedTokens: 100, EnableChunkedPrefill: true, Named: true, Order: shortPrompts{},
	}, pool)
	for i, prompt := range []int32{150, 20, 30} {
		s.Add(&scheduler.Seq{
			ID: kvcache.SeqID(i), Order: int64(i), Prompt: prompt, MaxTokens: 1,
			Tokens: kvcache.Prompt{{Label: uint64(i), Len: prompt + 1}},
		})
	}
	p := s.Plan(0)
	fmt.Println(p.Describe())
	s.Done(p, 0)
	// Output: 1: 20@0+!  2: 30@0+!  0: 50@0+
}
