package scheduler_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// A golden is what vLLM's own scheduler, KV-cache manager and block pool did (main of August 2026, the model stubbed):
// the settings, the requests, and every step.
type golden struct {
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
		ID               string
		ArriveBeforeStep int `json:"arrive_before_step"`
		Segments         []segment
		MaxTokens        int32 `json:"max_tokens"`
		Priority         int32
	}
	Steps []struct {
		N          int
		Scheduled  map[string]int32
		Preempted  []string
		FreeBlocks int `json:"free_blocks"`
	}
	FirstTokenAfterCalls map[string]int `json:"first_token_after_calls"`
	FinishedAfterCalls   map[string]int `json:"finished_after_calls"`
	PrefixQueries        int64          `json:"prefix_queries"`
	PrefixHits           int64          `json:"prefix_hits"`
}

// A segment is a run of tokens: [label, length] in JSON.
type segment struct {
	label  string
	length int32
}

func (s *segment) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[2]any{&s.label, &s.length})
}

// limits turns the settings of a golden scenario into ours.
func (g *golden) limits() scheduler.Limits {
	c := g.Config
	return scheduler.Limits{
		MaxNumBatchedTokens: c.MaxNumBatchedTokens, MaxNumSeqs: c.MaxNumSeqs, MaxModelLen: c.MaxModelLen,
		LongPrefillTokenThreshold: c.LongPrefillTokenThreshold, EnableChunkedPrefill: c.EnableChunkedPrefill,
		SchedulerReserveFullISL: c.SchedulerReserveFullISL, Watermark: c.Watermark, NumGPUBlocks: c.NumGPUBlocks,
		Priority: c.SchedulingPolicy == "priority", AsyncScheduling: c.AsyncScheduling,
	}
}

// sequences makes the scenario's requests; a label is numbered by its first appearance, answers are numbered apart.
func (g *golden) sequences() []*scheduler.Seq {
	labels, users := map[string]uint64{}, map[string]int{}
	for _, r := range g.Requests {
		for _, seg := range r.Segments {
			users[seg.label]++
		}
	}
	var seqs []*scheduler.Seq
	for i, r := range g.Requests {
		s := &scheduler.Seq{
			ID: kvcache.SeqID(i), Order: int64(i), Arrival: sim.Time(r.ArriveBeforeStep), MaxTokens: r.MaxTokens, Priority: r.Priority,
		}
		for _, seg := range r.Segments {
			if labels[seg.label] == 0 {
				labels[seg.label] = uint64(len(labels) + 1)
				if users[seg.label] == 1 {
					labels[seg.label] |= kvcache.Private
				}
			}
			s.Tokens = append(s.Tokens, kvcache.Run{Label: labels[seg.label], Len: seg.length})
			s.Prompt += seg.length
		}
		s.Tokens = append(s.Tokens, kvcache.Run{Label: kvcache.Private | (1<<32 + uint64(i)), Len: r.MaxTokens})
		seqs = append(seqs, s)
	}
	return seqs
}

// A replay runs a golden scenario: batches go through a pipeline of one place, or of two when asynchronous.
type replay struct {
	*golden
	seqs     []*scheduler.Seq
	sched    scheduler.Scheduler
	pool     *kvcache.Pool
	calls    int
	tokens   []int32 // by sequence
	first    map[string]int
	finished map[string]int
	unnamed  int // tokens of sequences that plans left unnamed
}

func newReplay(g *golden, named bool) *replay {
	limits := g.limits()
	limits.Named = named
	pool := kvcache.New(kvcache.Config{
		Blocks: g.Config.NumGPUBlocks - 1, BlockSize: g.Config.BlockSize, PrefixCaching: g.Config.EnablePrefixCaching,
	})
	return &replay{
		golden: g, seqs: g.sequences(), pool: pool, sched: scheduler.Chunked(limits, pool),
		tokens: make([]int32, len(g.Requests)), first: map[string]int{}, finished: map[string]int{},
	}
}

func (r *replay) id(s *scheduler.Seq) string { return r.Requests[s.ID].ID }

// update reports a batch done and ends the sequences that have their last token.
func (r *replay) update(p *scheduler.Plan) {
	r.sched.Done(p, 0)
	var sampled []*scheduler.Seq
	for _, w := range p.Work {
		if w.Samples && w.Seq.State != scheduler.Gone {
			sampled = append(sampled, w.Seq)
		}
	}
	for _, s := range r.seqs {
		if s.Rides(p) {
			sampled = append(sampled, s)
		}
	}
	slices.SortFunc(sampled, func(a, b *scheduler.Seq) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, s := range sampled {
		if r.tokens[s.ID]++; r.tokens[s.ID] == 1 {
			r.first[r.id(s)] = r.calls
		}
		if n := r.tokens[s.ID]; n >= s.MaxTokens || int(s.Prompt+n) >= r.Config.MaxModelLen {
			r.finished[r.id(s)] = r.calls
			r.sched.Drop(s)
		}
	}
}

func (r *replay) run(t *testing.T) {
	depth := 1
	if r.Config.AsyncScheduling {
		depth = 2
	}
	var pipeline []*scheduler.Plan
	for _, step := range r.Steps {
		for i, q := range r.Requests {
			if q.ArriveBeforeStep == step.N {
				r.sched.Add(r.seqs[i])
			}
		}
		p := r.sched.Plan(0)
		r.calls++
		if diff := r.compare(p, step.Scheduled, step.Preempted, step.FreeBlocks); diff != "" {
			t.Fatalf("step %d: %s\nplan: %s\npool: %s", step.N, diff, p.Describe(), r.pool.Describe())
		}
		if err := r.sched.Check(); err != nil {
			t.Fatalf("step %d: %v", step.N, err)
		}
		if pipeline = append(pipeline, p); len(pipeline) == depth {
			r.update(pipeline[0])
			pipeline = pipeline[1:]
		}
	}
	for _, p := range pipeline {
		r.update(p)
	}
}

// compare says how a plan differs from the recorded step, or "".
func (r *replay) compare(p *scheduler.Plan, scheduled map[string]int32, preempted []string, free int) string {
	got := map[string]int32{}
	for _, w := range p.Work {
		got[r.id(w.Seq)] += w.Tokens
	}
	members := 0
	for _, s := range r.seqs {
		if s.Rides(p) {
			got[r.id(s)] = 1
			members++
		}
	}
	if r.unnamed += members; members != p.Members {
		return fmt.Sprintf("%d sequences decode unnamed, the plan says %d", members, p.Members)
	}
	if !maps.Equal(got, scheduled) {
		return fmt.Sprintf("scheduled %v, vLLM %v", got, scheduled)
	}
	victims := []string{}
	for _, s := range p.Preempted {
		victims = append(victims, r.id(s))
	}
	slices.Sort(victims)
	if want := slices.Sorted(slices.Values(preempted)); !slices.Equal(victims, want) {
		return fmt.Sprintf("preempted %v, vLLM %v", victims, want)
	}
	if got := r.pool.Usage().Available(); got != free {
		return fmt.Sprintf("%d free blocks, vLLM %d", got, free)
	}
	return ""
}

// readGolden reads scenarios from a JSON file, plain or compressed.
func readGolden(t *testing.T, path string) (scenarios []golden) {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // a path as seen from the root of the repository
		f, err = os.Open(filepath.Join("..", path))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if err := json.NewDecoder(r).Decode(&scenarios); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(scenarios) == 0 {
		t.Fatalf("%s: no scenario", path)
	}
	return scenarios
}

// TestVLLMGolden holds the chunked policy to the step logs of vLLM's own scheduler: tokens per request, victims, free
// blocks, first and last token, prefix counters, with no difference in any step, whether plans name every sequence or
// leave to themselves those that just decode. Another file of the same form is replayed too if SERVESIM_GOLDEN names one.
func TestVLLMGolden(t *testing.T) {
	files := []string{"testdata/vllm-sched-golden.json.gz"}
	if extra := os.Getenv("SERVESIM_GOLDEN"); extra != "" {
		files = append(files, extra)
	}
	unnamed := 0
	for _, file := range files {
		for _, g := range readGolden(t, file) {
			t.Run(g.Name, func(t *testing.T) {
				newReplay(&g, true).conform(t)
				r := newReplay(&g, false)
				r.conform(t)
				unnamed += r.unnamed
			})
		}
	}
	if unnamed < 5_000 {
		t.Errorf("only %d tokens went unnamed: that path is hardly tested", unnamed)
	}
}

// conform replays the scenario and compares it with the recording.
func (r *replay) conform(t *testing.T) {
	r.run(t)
	if !maps.Equal(r.first, r.FirstTokenAfterCalls) {
		t.Errorf("first tokens after calls %v, vLLM %v", r.first, r.FirstTokenAfterCalls)
	}
	if !maps.Equal(r.finished, r.FinishedAfterCalls) {
		t.Errorf("finished after calls %v, vLLM %v", r.finished, r.FinishedAfterCalls)
	}
	c := r.sched.Counters()
	if c.PrefixQueries != r.PrefixQueries || c.PrefixHits != r.PrefixHits {
		t.Errorf("prefix cache: %d of %d tokens hit, vLLM %d of %d", c.PrefixHits, c.PrefixQueries, r.PrefixHits, r.PrefixQueries)
	}
}
