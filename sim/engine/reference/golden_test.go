package reference_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine/reference"
)

// scenario is one run of vLLM's own scheduler, with the model stubbed: what went in, and what it did in every step.
type scenario struct {
	Name   string
	Config struct {
		MaxNumBatchedTokens       int     `json:"max_num_batched_tokens"`
		MaxNumSeqs                int     `json:"max_num_seqs"`
		LongPrefillTokenThreshold int     `json:"long_prefill_token_threshold"`
		EnableChunkedPrefill      bool    `json:"enable_chunked_prefill"`
		NumGPUBlocks              int     `json:"num_gpu_blocks"`
		BlockSize                 int     `json:"block_size"`
		EnablePrefixCaching       bool    `json:"enable_prefix_caching"`
		MaxModelLen               int     `json:"max_model_len"`
		SchedulingPolicy          string  `json:"scheduling_policy"`
		SchedulerReserveFullISL   bool    `json:"scheduler_reserve_full_isl"`
		Watermark                 float64 `json:"watermark"`
		AsyncScheduling           bool    `json:"async_scheduling"`
	}
	Requests []struct {
		ID       string
		Arrive   int     `json:"arrive_before_step"`
		Segments [][]any // label, length
		Max      int32   `json:"max_tokens"`
		Priority int32
	}
	Steps    []goldenStep
	First    map[string]int `json:"first_token_after_calls"`
	Finished map[string]int `json:"finished_after_calls"`
	Queries  int64          `json:"prefix_queries"`
	Hits     int64          `json:"prefix_hits"`
}

type goldenStep struct {
	N         int
	Scheduled map[string]int32
	Preempted []string
	Free      int `json:"free_blocks"`
}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	f, err := os.Open("testdata/vllm-sched-golden.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// replay drives a scheduler as the scenario's engine did.
type replay struct {
	scenario
	t               *testing.T
	scheduler       scheduler.Scheduler
	pool            *reference.Pool
	seqs            []*scheduler.Seq
	calls           int
	first, finished map[string]int
}

func newReplay(t *testing.T, s scenario) *replay {
	c := s.Config
	r := &replay{scenario: s, t: t, first: map[string]int{}, finished: map[string]int{}}
	r.pool = reference.NewPool(c.NumGPUBlocks-1, c.BlockSize, c.EnablePrefixCaching)
	r.scheduler = reference.NewScheduler(scheduler.Limits{
		MaxNumBatchedTokens: c.MaxNumBatchedTokens, MaxNumSeqs: c.MaxNumSeqs, MaxModelLen: c.MaxModelLen,
		LongPrefillTokenThreshold: c.LongPrefillTokenThreshold, EnableChunkedPrefill: c.EnableChunkedPrefill,
		SchedulerReserveFullISL: c.SchedulerReserveFullISL, Watermark: c.Watermark, NumGPUBlocks: c.NumGPUBlocks,
		Priority: c.SchedulingPolicy == "priority", AsyncScheduling: c.AsyncScheduling,
	}, r.pool)
	labels := map[string]uint64{}
	for i, q := range s.Requests {
		seq := &scheduler.Seq{
			ID: kvcache.SeqID(i), MaxTokens: q.Max, Priority: q.Priority, Arrival: sim.Time(q.Arrive), Order: int64(i),
		}
		for _, segment := range q.Segments {
			label, length := segment[0].(string), int32(segment[1].(float64))
			if labels[label] == 0 {
				labels[label] = uint64(len(labels) + 1)
			}
			seq.Tokens = append(seq.Tokens, kvcache.Run{Label: labels[label], Len: length})
			seq.Prompt += length
		}
		seq.Tokens = append(seq.Tokens, kvcache.Run{Label: uint64(1_000_000 + i), Len: q.Max})
		r.seqs = append(r.seqs, seq)
	}
	return r
}

// run makes as many plans as vLLM did, with one in flight, or two when asynchronous.
func (r *replay) run() {
	var flight []*scheduler.Plan
	for _, want := range r.Steps {
		r.calls++
		for i, q := range r.Requests {
			if q.Arrive == r.calls {
				r.scheduler.Add(r.seqs[i])
			}
		}
		p := r.scheduler.Plan(sim.Time(r.calls))
		r.compare(p, want)
		flight = append(flight, p)
		if r.Config.AsyncScheduling && len(flight) < 2 {
			continue
		}
		r.land(flight[0])
		flight = flight[1:]
	}
	for _, p := range flight {
		r.land(p)
	}
}

func (r *replay) compare(p *scheduler.Plan, want goldenStep) {
	r.t.Helper()
	got := map[string]int32{}
	for _, w := range p.Work {
		got[r.Requests[w.Seq.Order].ID] = w.Tokens
	}
	var preempted []string
	for _, s := range p.Preempted {
		preempted = append(preempted, r.Requests[s.Order].ID)
	}
	slices.Sort(preempted)
	slices.Sort(want.Preempted)
	same := want.N == r.calls && maps.Equal(got, want.Scheduled) && slices.Equal(preempted, want.Preempted)
	if free := r.pool.Usage().Available(); !same || free != want.Free {
		r.t.Fatalf("call %d: scheduled %v, preempted %v, %d blocks free; vLLM: %+v", r.calls, got, preempted, free, want)
	}
	if err := r.scheduler.Check(); err != nil {
		r.t.Fatalf("call %d: %v", r.calls, err)
	}
}

func (r *replay) land(p *scheduler.Plan) {
	gone := map[*scheduler.Seq]bool{}
	for _, w := range p.Work {
		gone[w.Seq] = w.Seq.State == scheduler.Gone
	}
	r.scheduler.Done(p, sim.Time(r.calls))
	for _, w := range p.Work {
		s := w.Seq
		if !w.Samples || gone[s] {
			continue
		}
		id := r.Requests[s.Order].ID
		if r.first[id] == 0 {
			r.first[id] = r.calls
		}
		if s.Out == s.MaxTokens || int(s.Known()) >= r.Config.MaxModelLen {
			r.finished[id] = r.calls
			r.scheduler.Drop(s)
		}
	}
}

func TestVLLMGoldenStepsAreReproducedExactly(t *testing.T) {
	steps := 0
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			r := newReplay(t, s)
			r.run()
			if !maps.Equal(r.first, s.First) {
				t.Errorf("first tokens after calls %v; vLLM: %v", r.first, s.First)
			}
			if !maps.Equal(r.finished, s.Finished) {
				t.Errorf("finished after calls %v; vLLM: %v", r.finished, s.Finished)
			}
			c := r.scheduler.Counters()
			if got, want := fmt.Sprint(c.PrefixQueries, c.PrefixHits), fmt.Sprint(s.Queries, s.Hits); got != want {
				t.Errorf("prefix queries and hits %s; vLLM: %s", got, want)
			}
			if u := r.pool.Usage(); u.Held != 0 {
				t.Errorf("%d blocks are still held at the end", u.Held)
			}
		})
		steps += len(s.Steps)
	}
	if steps != 5197 {
		t.Errorf("replayed %d steps, the record has 5197", steps)
	}
}
