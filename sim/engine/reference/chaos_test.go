package reference_test

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine/reference"
	"github.com/servesim/servesim/sim/workload"
)

// wild is a random engine under a random load. The same seed gives the same.
type wild struct {
	limits scheduler.Limits
	config reference.Config
	pool   *reference.Pool
	reqs   []*workload.Request

	caching bool
}

// inOrder returns the places of the requests in their list, by arrival.
func inOrder(reqs []*workload.Request) []int {
	places := make([]int, len(reqs))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(reqs[a].Arrival, reqs[b].Arrival) })
	return places
}

func newWild(seed uint64) wild {
	r := rand.New(rand.NewPCG(seed, 0))
	async, stages := r.IntN(2) == 0, 1+r.IntN(2)*r.IntN(3)
	l := scheduler.Limits{
		MaxNumBatchedTokens: 16 + r.IntN(300), MaxNumSeqs: 1 + r.IntN(8), MaxModelLen: 400, EnableChunkedPrefill: r.IntN(5) > 0,
		SchedulerReserveFullISL: r.IntN(2) == 0, Watermark: float64(r.IntN(3)) * 0.05, NumGPUBlocks: 26 + r.IntN(60),
		LongPrefillTokenThreshold: r.IntN(2) * r.IntN(100), Priority: r.IntN(2) == 0, AsyncScheduling: async, PipelineStages: stages,
		Named: true,
	}
	if !l.EnableChunkedPrefill {
		l.MaxNumBatchedTokens = 400
	}
	w := wild{limits: l, caching: r.IntN(2) == 0}
	w.pool = reference.NewPool(l.NumGPUBlocks-1, 16, w.caching)
	w.config = reference.Config{
		Scheduler: reference.NewScheduler(l, w.pool), Cache: w.pool, Async: async, Stages: stages, InFlight: stages,
		Cost:        constant{Device: 10 * ms, Host: time.Duration(r.IntN(20)) * ms, Hop: time.Duration(stages-1) * ms},
		MaxModelLen: l.MaxModelLen, Blocks: l.NumGPUBlocks - 1, BlockSize: 16,
		Ingress: time.Duration(r.IntN(5)) * ms, PerChunk: time.Duration(r.IntN(3)) * ms / 10, Check: true,
	}
	if async {
		w.config.InFlight++
	}
	for i := range 40 {
		q := ask(i, time.Duration(r.IntN(1500))*ms, int32(1+r.IntN(300)), int32(1+r.IntN(100)))
		if shared := int32(r.IntN(200)); r.IntN(2) == 0 {
			q.Prompt = append(kvcache.Prompt{{Label: 1 << 40, Len: shared}}, q.Prompt...)
			q.Tokens += shared
		}
		if i%4 > 0 { // the rest might be asked for again, for all that a cache can know
			q.Prompt[len(q.Prompt)-1].Label |= kvcache.Private
			q.Answer |= kvcache.Private
		}
		q.MaxTokens += int32(r.IntN(2) * r.IntN(30))
		q.Priority = int32(r.IntN(3))
		if r.IntN(6) == 0 {
			q.Timeout = time.Duration(1+r.IntN(800)) * ms
		}
		w.reqs = append(w.reqs, q)
	}
	return w
}

func TestEveryRequestOfARandomRunIsAccountedFor(t *testing.T) {
	var ends [3]int
	preemptions := 0
	for seed := range uint64(40) {
		w := newWild(seed)
		log := reference.Run(w.reqs, w.config)
		preemptions += len(log.Preemptions)
		if w.pool.Usage().Held != 0 || len(log.Unfinished) > 0 {
			t.Fatalf("seed %d: blocks are held at the end: %+v, or requests left over: %v", seed, w.pool.Usage(), log.Unfinished)
		}
		for i, o := range log.Outcomes {
			ends[o.Status]++
			at, q := arrivals(log, i), w.reqs[i]
			switch {
			case o.Status == workload.Completed && (len(at) != int(q.Output) || o.At != at[len(at)-1]),
				o.Status == workload.Rejected && (len(at) > 0 || o.Reason == ""),
				o.Status == workload.Aborted && o.At != q.Arrival.Add(q.Timeout),
				len(at) > 0 && at[0] < q.Arrival.Add(w.config.Ingress+10*ms):
				t.Fatalf("seed %d: request %d, %d tokens of %d, outcome %+v", seed, i, len(at), q.Output, o)
			}
		}
		checkSteps(t, seed, w, log)
		again := newWild(seed)
		if !reflect.DeepEqual(reference.Run(again.reqs, again.config), log) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
	if ends[0] == 0 || ends[1] == 0 || ends[2] == 0 || preemptions == 0 {
		t.Errorf("the random runs miss something: outcomes %v, %d preemptions", ends, preemptions)
	}
}

func checkSteps(t *testing.T, seed uint64, w wild, log reference.Log) {
	t.Helper()
	next := map[int]int{} // index of each request's next token
	for _, k := range log.Tokens {
		if k.Index != next[k.Request] {
			t.Fatalf("seed %d: token %d of request %d came out of turn", seed, k.Index, k.Request)
		}
		next[k.Request]++
	}
	for i, s := range log.Steps {
		tokens, seen := 0, map[int]bool{}
		for _, item := range s.Work {
			tokens += item.Tokens
			if seen[item.Request] || item.Tokens < 1 {
				t.Fatalf("seed %d, step %d: %+v", seed, i, s)
			}
			seen[item.Request] = true
		}
		if tokens > w.limits.MaxNumBatchedTokens || len(s.Work) > w.limits.MaxNumSeqs {
			t.Fatalf("seed %d, step %d: %d tokens of %d sequences exceed the limits", seed, i, tokens, len(s.Work))
		}
		if i > 0 && (s.Start < log.Steps[i-1].Start.Add(10*ms) || s.End < log.Steps[i-1].End.Add(10*ms)) {
			t.Fatalf("seed %d: step %d runs from %v to %v, before %+v is out of its way", seed, i, s.Start, s.End, log.Steps[i-1])
		}
	}
}
