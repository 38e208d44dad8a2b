package reference_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine/reference"
	"github.com/servesim/servesim/sim/workload"
)

const ms = time.Millisecond

// constant is the cost model under which every step costs the same.
type constant hardware.Cost

func (c constant) Cost(hardware.Step) hardware.Cost { return hardware.Cost(c) }

// machine describes an engine for a test; the zero values of its fields are useful.
type machine struct {
	async   bool
	stages  int
	flight  int // 0: 1, or 2 when asynchronous
	seats   int // 0: 64
	blocks  int // 0: 1000, of 16 tokens
	caching bool
	cost    constant // zero: 10 ms on the device
	change  func(*reference.Config)
}

func (m machine) run(t *testing.T, reqs ...*workload.Request) reference.Log {
	t.Helper()
	blocks, seats := max(m.blocks, 0), m.seats
	if blocks == 0 {
		blocks = 1000
	}
	if seats == 0 {
		seats = 64
	}
	if m.cost == (constant{}) {
		m.cost.Device = 10 * ms
	}
	pool := reference.NewPool(blocks, 16, m.caching)
	c := reference.Config{
		Scheduler: reference.NewScheduler(scheduler.Limits{
			MaxNumBatchedTokens: 8192, MaxNumSeqs: seats, MaxModelLen: 8192, EnableChunkedPrefill: true,
			SchedulerReserveFullISL: true, NumGPUBlocks: blocks + 1, AsyncScheduling: m.async, PipelineStages: m.stages,
		}, pool),
		Cost: m.cost, Cache: pool, InFlight: m.flight, Async: m.async, Stages: m.stages,
		MaxModelLen: 8192, Blocks: blocks, BlockSize: 16, Check: true,
	}
	if m.async && m.flight == 0 {
		c.InFlight = 2
	}
	if m.change != nil {
		m.change(&c)
	}
	log := reference.Run(reqs, c)
	if u := pool.Usage(); u.Held != 0 && len(log.Unfinished) == 0 {
		t.Errorf("%d blocks are held at the end of the run", u.Held)
	}
	return log
}

// ask returns a request; its prompt and its answer are like no other's.
func ask(id int, at time.Duration, prompt, output int32) *workload.Request {
	return &workload.Request{
		ID: int64(id), Arrival: sim.Time(at), Prompt: kvcache.Prompt{{Label: uint64(2*id + 1), Len: prompt}}, Tokens: prompt,
		Output: output, MaxTokens: output, Answer: uint64(2*id + 2),
	}
}

// tell writes down the tokens of a log: request.index@milliseconds.
func tell(log reference.Log) string {
	var words []string
	for _, k := range log.Tokens {
		words = append(words, fmt.Sprintf("%d.%d@%v", k.Request, k.Index, float64(k.At)/1e6))
	}
	return strings.Join(words, " ")
}

// parts writes down the work of a log: request:tokens, a bar between steps.
func parts(log reference.Log) string {
	var steps []string
	for _, s := range log.Steps {
		var words []string
		for _, w := range s.Work {
			words = append(words, fmt.Sprintf("%d:%d", w.Request, w.Tokens))
		}
		steps = append(steps, strings.Join(words, " "))
	}
	return strings.Join(steps, " | ")
}

// arrivals returns when each token of a request reached its client.
func arrivals(log reference.Log, request int) []sim.Time {
	var at []sim.Time
	for _, k := range log.Tokens {
		if k.Request == request {
			at = append(at, k.At)
		}
	}
	return at
}

func TestThreeRequestsAreServedAsByHand(t *testing.T) {
	three := func() []*workload.Request {
		return []*workload.Request{ask(0, 0, 100, 3), ask(1, 5*ms, 50, 2), ask(2, 20*ms, 30, 1)}
	}
	for _, c := range []struct {
		name                 string
		machine              machine
		wantTokens, wantWork string
	}{
		// Request 2 arrives at the very end of the second step, and is in the third.
		{"synchronous", machine{}, "0.0@10 0.1@20 1.0@20 0.2@30 1.1@30 2.0@30", "0:100 | 0:1 1:50 | 0:1 1:1 2:30"},
		// At 0 the steps until 20 are planned, at 10 the one until 30: each request is one step later.
		{"asynchronous", machine{async: true}, "0.0@10 0.1@20 0.2@30 1.0@30 1.1@40 2.0@40", "0:100 | 0:1 | 0:1 1:50 | 1:1 2:30"},
		// One seat: whoever has it keeps it to the end.
		{"one seat", machine{seats: 1}, "0.0@10 0.1@20 0.2@30 1.0@40 1.1@50 2.0@60", "0:100 | 0:1 | 0:1 | 1:50 | 1:1 | 2:30"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := c.machine.run(t, three()...)
			if got := tell(log); got != c.wantTokens {
				t.Errorf("tokens %s, want %s", got, c.wantTokens)
			}
			if got := parts(log); got != c.wantWork {
				t.Errorf("work %s, want %s", got, c.wantWork)
			}
			for i, o := range log.Outcomes {
				at := arrivals(log, i)
				if o != (workload.Outcome{Status: workload.Completed, At: at[len(at)-1]}) {
					t.Errorf("outcome of %d: %+v", i, o)
				}
			}
		})
	}
}

func TestAnArrivalWaitsForTheStepsAlreadySubmitted(t *testing.T) {
	for _, c := range []struct {
		async bool
		want  float64 // mean time to first token, in steps
	}{{false, 1.5}, {true, 2.5}} {
		sum, n := 0.0, 20
		for i := range n {
			at := 1000*ms + time.Duration(2*i+1)*10*ms/time.Duration(2*n) // spread over one step
			log := machine{async: c.async}.run(t, ask(0, 0, 100, 200), ask(1, at, 100, 1))
			sum += arrivals(log, 1)[0].Sub(sim.Time(at)).Seconds() / (10 * ms).Seconds()
		}
		if got := sum / float64(n); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("async %v: time to first token %v steps, want %v", c.async, got, c.want)
		}
	}
}

func TestHostTimeHidesBehindTheDeviceOnlyWhenAsynchronous(t *testing.T) {
	for _, c := range []struct {
		async bool
		cost  constant
		want  string
	}{
		{false, constant{Device: 10 * ms, Host: 4 * ms, Exposed: 1 * ms}, "0.0@15 0.1@30"},
		{true, constant{Device: 10 * ms, Host: 4 * ms, Exposed: 1 * ms}, "0.0@11 0.1@22"},
		{true, constant{Device: 10 * ms, Host: 14 * ms, Exposed: 1 * ms}, "0.0@15 0.1@30"},
	} {
		if got := tell(machine{async: c.async, cost: c.cost}.run(t, ask(0, 0, 100, 2))); got != c.want {
			t.Errorf("async %v, %+v: tokens %s, want %s", c.async, c.cost, got, c.want)
		}
	}
}

func TestPipelineStagesOverlapDifferentSequencesButNotOne(t *testing.T) {
	cost := constant{Device: 10 * ms, Host: 2 * ms, Exposed: 1 * ms, Hop: 1 * ms}
	sync := machine{stages: 2, flight: 2, cost: cost}
	// Synchronous: the first stage takes 13 ms, the second 10. The second batch is empty, the third starts from the token of the first.
	if got, want := tell(sync.run(t, ask(0, 0, 100, 3))), "0.0@24 0.1@48 0.2@72"; got != want {
		t.Errorf("one sequence: tokens %s, want %s", got, want)
	}
	// Two that take turns: the first stage is taken from 0 to 13, to 26, to 39, to 52.
	log := sync.run(t, ask(0, 0, 100, 2), ask(1, 0, 8100, 2))
	if got, want := parts(log), "0:100 1:8092 | 1:8 | 0:1 | 1:1"; got != want {
		t.Errorf("two sequences: work %s, want %s", got, want)
	}
	if got, want := tell(log), "0.0@24 1.0@37 0.1@50 1.1@63"; got != want {
		t.Errorf("two sequences: tokens %s, want %s", got, want)
	}
	// Asynchronous: decodes are planned ahead, every second plan, and yet each starts from the token of the one before.
	async := machine{async: true, stages: 2, flight: 3, cost: cost}
	if got, want := tell(async.run(t, ask(0, 0, 100, 3))), "0.0@22 0.1@44 0.2@66"; got != want {
		t.Errorf("asynchronous: tokens %s, want %s", got, want)
	}
}

func TestAnAnswerThatEndsByItselfWastesASlotOnlyWhenAsynchronous(t *testing.T) {
	for _, c := range []struct {
		async bool
		work  string
	}{
		{false, "0:100 | 0:1"},
		{true, "0:100 | 0:1 | 0:1"},
	} {
		r := ask(0, 0, 100, 2)
		r.MaxTokens = 50
		log := machine{async: c.async}.run(t, r)
		if tell(log) != "0.0@10 0.1@20" || parts(log) != c.work {
			t.Errorf("async %v: tokens %s, work %s; want work %s", c.async, tell(log), parts(log), c.work)
		}
		if log.Outcomes[0].At != sim.Time(20*ms) {
			t.Errorf("async %v: outcome %+v", c.async, log.Outcomes[0])
		}
	}
}

func TestTheFrontendDelaysArrivalsAndFirstTokens(t *testing.T) {
	m := machine{change: func(c *reference.Config) { c.Ingress, c.PerChunk = 3*ms, 1*ms }}
	got := tell(m.run(t, ask(0, 0, 100, 3), ask(1, 9*ms, 100, 2)))
	// Steps end at 13, 23 and 33; an answer is later by 1 ms for every sequence in its first step.
	if want := "0.0@14 0.1@24 1.0@25 0.2@34 1.1@35"; got != want {
		t.Errorf("tokens %s, want %s", got, want)
	}
}

func TestWhatCanNeverBeServedIsRejectedAndStopsNobody(t *testing.T) {
	ordinary := []*workload.Request{ask(0, 0, 100, 5), ask(1, 1*ms, 200, 5), ask(2, 2*ms, 50, 5)}
	alone := machine{blocks: 20}.run(t, ordinary...)
	long := ask(3, 1*ms, 100, 5)
	long.MaxTokens = 8100
	for _, c := range []struct {
		name   string
		r      *workload.Request
		reason []string
	}{
		{"prompt larger than the pool", ask(3, 1*ms, 330, 1), []string{"21 KV blocks", "20"}},
		{"answer outgrows the pool", ask(3, 1*ms, 300, 22), []string{"21 KV blocks", "20"}},
		{"max_tokens beyond the model", long, []string{"8100", "8192"}},
		{"no room for an answer", ask(3, 1*ms, 8192, 1), []string{"8192"}},
		{"no answer", ask(3, 1*ms, 10, 0), []string{"no tokens"}},
	} {
		log := machine{blocks: 20}.run(t, append([]*workload.Request{c.r}, ordinary...)...)
		o := log.Outcomes[0]
		if o.Status != workload.Rejected || o.At != sim.Time(1*ms) {
			t.Errorf("%s: outcome %+v", c.name, o)
		}
		for _, word := range c.reason {
			if !strings.Contains(o.Reason, word) {
				t.Errorf("%s: the reason %q lacks %q", c.name, o.Reason, word)
			}
		}
		for i := range ordinary {
			if !reflect.DeepEqual(arrivals(log, i+1), arrivals(alone, i)) {
				t.Errorf("%s: request %d is served differently", c.name, i)
			}
		}
	}
	if fits := (machine{blocks: 20}).run(t, ask(0, 0, 300, 21)); fits.Outcomes[0].Status != workload.Completed {
		t.Errorf("320 tokens need all 20 blocks and no more, but: %+v", fits.Outcomes[0])
	}
}

func TestAPreemptedRequestDeliversEachTokenOnce(t *testing.T) {
	for _, async := range []bool{false, true} {
		// Seven blocks each for 107 tokens, 14 in all: the sixth token of request 1 wants a fifteenth.
		log := machine{async: async, blocks: 14}.run(t, ask(0, 0, 107, 30), ask(1, 0, 107, 30))
		if len(log.Preemptions) != 1 || log.Preemptions[0].Request != 1 {
			t.Fatalf("async %v: preempted %v, want request 1 once", async, log.Preemptions)
		}
		for i := range 2 {
			at, long := arrivals(log, i), 0
			for k := 1; k < len(at); k++ {
				if at[k].Sub(at[k-1]) > 10*ms {
					long++
				}
			}
			if len(at) != 30 || at[0] != sim.Time(10*ms) || long != i || log.Outcomes[i].At != at[29] {
				t.Errorf("async %v: request %d has %d tokens from %v, %d long gaps", async, i, len(at), at[0], long)
			}
		}
		recomputed := 0
		for _, s := range log.Steps {
			for _, w := range s.Work {
				if w.Request == 1 && w.Past == 0 && s.Start > 0 {
					recomputed = w.Tokens
				}
			}
		}
		if recomputed != 113 {
			t.Errorf("async %v: %d tokens are computed again, want 107 of the prompt and 6 of the answer", async, recomputed)
		}
	}
}

func TestAStuckRequestIsNamedInsteadOfWaitedFor(t *testing.T) {
	// The engine is not told the size of the pool, so it lets in what will outgrow it.
	m := machine{blocks: 2, change: func(c *reference.Config) { c.Blocks = 0 }}
	log := m.run(t, ask(0, 0, 20, 20))
	if !reflect.DeepEqual(log.Unfinished, []int{0}) || len(log.Tokens) != 13 {
		t.Errorf("unfinished %v after %d tokens, want request 0 after the 13 that fit", log.Unfinished, len(log.Tokens))
	}
}

func TestAClientThatGivesUpIsNoticedBetweenSteps(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration
		status  workload.Status
		at      time.Duration
		work    string
	}{
		{25 * ms, workload.Aborted, 25 * ms, "0:100 | 0:1 | 0:1"}, // it goes within the third step
		{30 * ms, workload.Aborted, 30 * ms, "0:100 | 0:1 | 0:1"}, // at its very end, without its token
		{40 * ms, workload.Aborted, 40 * ms, "0:100 | 0:1 | 0:1 | 0:1"},
		{41 * ms, workload.Completed, 40 * ms, "0:100 | 0:1 | 0:1 | 0:1"},
	} {
		r := ask(0, 0, 100, 4)
		r.Timeout = c.timeout
		log := machine{}.run(t, r)
		want := workload.Outcome{Status: c.status, At: sim.Time(c.at)}
		if log.Outcomes[0] != want || parts(log) != c.work {
			t.Errorf("timeout %v: outcome %+v after %s, want %+v after %s", c.timeout, log.Outcomes[0], parts(log), want, c.work)
		}
		if got, want := len(log.Tokens), int((c.timeout-1)/(10*ms)); got != want {
			t.Errorf("timeout %v: the client saw %d tokens, want %d", c.timeout, got, want)
		}
	}
}

func TestAClientThatGivesUpInTheQueueLeavesIt(t *testing.T) {
	r := ask(1, 0, 100, 4)
	r.Timeout = 15 * ms
	log := machine{seats: 1}.run(t, ask(0, 0, 100, 5), r, ask(2, 0, 100, 1))
	if got, want := parts(log), "0:100 | 0:1 | 0:1 | 0:1 | 0:1 | 2:100"; got != want {
		t.Errorf("work %s, want %s", got, want)
	}
	if log.Outcomes[1] != (workload.Outcome{Status: workload.Aborted, At: sim.Time(15 * ms)}) {
		t.Errorf("outcome %+v", log.Outcomes[1])
	}
}
