package scheduler_test

import (
	"slices"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// under returns a world under a built-in policy, with a pool of so many blocks.
func under(t tester, policy string, blocks int, settings scheduler.Settings, change func(*scheduler.Limits, *kvcache.Config)) *world {
	t.Helper()
	p, ok := scheduler.FindPolicy(policy)
	if !ok {
		t.Fatalf("no policy %s", policy)
	}
	l, pool := setting(blocks, change)
	return newWorld(t, p.New(l, settings, pool), pool)
}

// sgl are SGLang's own settings.
var sgl = scheduler.Settings{SGLang: scheduler.SGLangRules{ChunkedPrefillSize: 8192, MaxPrefillTokens: 16384, Conservativeness: 1}}

// ask sends a request that asks for more than it will get.
func (w *world) ask(prompt, output, maxTokens int32) *scheduler.Seq {
	s := w.add(prompt, maxTokens)
	w.outputs[s] = output
	return s
}

// peak steps to the end and returns the most sequences that were in a step.
func (w *world) peak() (most int) {
	w.t.Helper()
	for {
		running, waiting := w.sched.Load()
		if running+waiting == 0 {
			return most
		}
		w.step()
		most = max(most, running)
	}
}

// Reservation is one axis: the more of max_tokens an admission keeps for the running, the fewer run at once and the fewer
// are preempted. Answers here are a tenth of what they are allowed.
func TestTheMoreIsReservedTheFewerRun(t *testing.T) {
	run := func(policy string, settings scheduler.Settings) (peak int, preempted int64) {
		w := under(t, policy, 400, settings, nil)
		for i := range int32(40) {
			w.ask(160, 60+7*i%80, 1000)
		}
		peak = w.peak()
		return peak, w.sched.Counters().Preemptions
	}
	none, preempted := run("chunked", scheduler.Settings{})
	expected, _ := run("sglang", sgl)
	all, never := run("trtllm", scheduler.Settings{})
	piece, _ := run("orca", scheduler.Settings{})
	// 400 blocks of 16: 40 prompts of ten blocks; five times the 73 blocks of 1159 tokens.
	if none != 40 || preempted == 0 {
		t.Errorf("without a reservation %d run and %d are preempted", none, preempted)
	}
	if expected <= all || expected >= none {
		t.Errorf("with SGLang's expectation %d run, with a full reservation %d, with none %d", expected, all, none)
	}
	if all != 5 || never != 0 || piece != 5 {
		t.Errorf("with a full reservation %d run and %d are preempted; in one piece %d run", all, never, piece)
	}
}

// A reservation counts max_tokens, never the length that an answer turns out to have.
func TestAReservationDoesNotKnowHowLongAnswersAre(t *testing.T) {
	for _, policy := range scheduler.Policies() {
		first := func(output int32) string {
			w := under(t, policy.Name, 100, sgl, nil)
			for range 6 {
				w.ask(160, output, 500)
			}
			return w.step()
		}
		if short, long := first(1), first(500); short != long {
			t.Errorf("%s plans %q for short answers and %q for long ones", policy.Name, short, long)
		}
	}
}

func TestPoliciesHaveDistinctNamesAndAreFound(t *testing.T) {
	var names []string
	for _, p := range scheduler.Policies() {
		if found, ok := scheduler.FindPolicy(p.Name); !ok || found.Title != p.Title || slices.Contains(names, p.Name) {
			t.Errorf("%s: found %v, %q", p.Name, ok, found.Title)
		}
		names = append(names, p.Name)
	}
	if _, ok := scheduler.FindPolicy("lottery"); ok {
		t.Error("there is a lottery")
	}
}

// Under every policy, what can never be served is refused with numbers, and what is not refused is served, alone or behind
// others, in a pool of any size.
func TestWhatIsNotRefusedIsServed(t *testing.T) {
	for _, policy := range scheduler.Policies() {
		refused := 0
		for blocks := 2; blocks <= 40; blocks += 3 {
			for _, prompt := range []int32{1, 16, 100, 300, 600} {
				for _, maxTokens := range []int32{1, 40, 400} {
					settings := sgl
					settings.ChunkSize, settings.Batch.MaxBatch = 64, 4
					w := under(t, policy.Name, blocks, settings, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 640 })
					s := &scheduler.Seq{Prompt: prompt, MaxTokens: maxTokens, Tokens: kvcache.Prompt{{Label: 1, Len: prompt}}}
					if r := w.sched.Refuse(s); r != "" {
						refused++
						continue
					}
					if int(prompt)+5 > blocks*16 {
						continue // its answer may outgrow the pool: the engine refuses that
					}
					for range 3 {
						w.ask(prompt, min(maxTokens, 5), maxTokens)
					}
					w.finish()
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s never refuses", policy.Name)
		}
	}
}
