package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// decoding returns a scheduler in whose every step `batch` sequences decode, and a function that takes one step.
func decoding(batch int, async bool) (step func()) {
	pool := kvcache.New(kvcache.Config{Blocks: 1 << 17, BlockSize: 16, PrefixCaching: true})
	s := scheduler.Chunked(scheduler.Limits{
		MaxNumBatchedTokens: 8192, MaxNumSeqs: batch, EnableChunkedPrefill: true,
		SchedulerReserveFullISL: true, AsyncScheduling: async,
	}, pool)
	for i := range batch {
		s.Add(request(i, int32(500+i%16), 1<<30))
	}
	var flying *scheduler.Plan
	step = func() {
		p := s.Plan(0)
		if async {
			p, flying = flying, p
		}
		if p != nil {
			s.Done(p, 0)
		}
	}
	for range 3 + batch/8 {
		step()
	}
	return step
}

// request returns a sequence with a prompt of its own.
func request(id int, prompt, maxTokens int32) *scheduler.Seq {
	label := uint64(2*id + 1)
	return &scheduler.Seq{
		ID: kvcache.SeqID(id), Order: int64(id), Prompt: prompt, MaxTokens: maxTokens,
		Tokens: kvcache.Prompt{{Label: label, Len: prompt}, {Label: label + 1, Len: maxTokens}},
	}
}

func BenchmarkPlanDecode(b *testing.B) {
	for _, batch := range []int{1, 32, 256, 1024} {
		for _, mode := range []string{"sync", "async"} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, batch), func(b *testing.B) {
				step := decoding(batch, mode == "async")
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if n&0x1ff == 0x1ff { // a sequence must not outgrow the pool
						b.StopTimer()
						step = decoding(batch, mode == "async")
						b.StartTimer()
					}
					step()
				}
			})
		}
	}
}
