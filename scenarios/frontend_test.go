package scenarios

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/sim/engine"
)

// tiny is a model so small, and a load so high, that a GPU makes far more tokens than one process can write.
const tiny = `
model: llama-3.2-1b
workload: {arrivals: {name: closed, clients: 1000}, requests: 4000, prompt: 32, output: 200}
`

func within(t *testing.T, what string, got, want, pct float64) {
	t.Helper()
	if math.Abs(got-want) > want*pct/100 {
		t.Errorf("%s: %.6g, want %.6g within %g %%", what, got, want, pct)
	}
}

// A process that takes c for a chunk writes 1/c of them a second, whatever the engine makes: vLLM's users see one API
// process saturate somewhere between 20,000 and 50,000 tokens a second.
func TestOneAPIProcessWritesSoManyTokensASecondAndNoMore(t *testing.T) {
	long(t)
	tokens := func(settings ...string) float64 {
		return mustRun(t, mustBuild(t, tiny, settings...), Options{}).Throughput.OutputTokensPerS
	}
	within(t, "20 µs a chunk", tokens("frontend.per_chunk=20us"), 50_000, 5)
	within(t, "50 µs a chunk", tokens("frontend.per_chunk=50us"), 20_000, 3)
	within(t, "the profile's 40 µs", tokens(), 25_000, 3)
	free := tokens("frontend.per_chunk=0s")
	if free < 52_000 {
		t.Errorf("without a front end %.0f tokens/s: too few for this test to mean anything", free)
	}
	within(t, "chunks of 20 tokens", tokens("engine.stream_interval=20"), free, 5)
	within(t, "two processes", tokens("engine.api_server_count=2", "frontend.per_chunk=50us"), 40_000, 3)
	within(t, "eight processes", tokens("engine.api_server_count=8"), free, 5)
}

func TestAFrontEndThatIsTheBottleneckSaysSo(t *testing.T) {
	long(t)
	says := func(settings ...string) bool {
		r := mustRun(t, mustBuild(t, tiny, settings...), Options{})
		return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "API process(es) write at most 25000 chunks/s") })
	}
	if !says() || says("engine.api_server_count=8") || says("engine.stream_interval=20") {
		t.Error("want a warning from one process, and none from eight or with chunks of 20 tokens")
	}
}

// A process that takes 1 ms for a request and 3.4 µs for each of its 100 tokens takes in 1/1.34 ms = 746 requests a second.
func TestOneAPIProcessTakesInSoManyRequestsASecondAndNoMore(t *testing.T) {
	for servers, want := range map[string]float64{"1": 746, "2": 1493} { // order does not matter: separate runs
		r := mustRun(t, mustBuild(t, "workload: {arrivals: burst, requests: 3000, prompt: 100, output: 1}",
			"model=llama-3.2-1b", "frontend.per_request=1ms", "frontend.api_servers="+servers), Options{})
		within(t, servers+" processes", r.Throughput.RequestsPerS, want, 2)
	}
}

// With chunks of n tokens a client sees fewer and longer gaps: 1 + ⌈199/8⌉ = 26 chunks of 200 tokens have 25 gaps. First
// tokens, last tokens and time per token stay what they are.
func TestTheStreamIntervalChangesGapsAndNothingElse(t *testing.T) {
	load := "workload: {requests: 50, rate: 2, prompt: 300, output: 200}"
	run := func(interval string) *Result {
		return mustRun(t, mustBuild(t, load, "frontend.per_chunk=0s", "engine.stream_interval="+interval), Options{})
	}
	one, eight := run("1"), run("8")
	a, b := one.Latency, eight.Latency
	if !reflect.DeepEqual(a.TTFT, b.TTFT) || !reflect.DeepEqual(a.E2EL, b.E2EL) || !reflect.DeepEqual(a.TPOT, b.TPOT) {
		t.Errorf("TTFT %+v and %+v, E2EL %+v and %+v", a.TTFT, b.TTFT, a.E2EL, b.E2EL)
	}
	if one.Latency.ITL.Count != 50*199 || eight.Latency.ITL.Count != 50*25 {
		t.Errorf("%d gaps and %d, want %d and %d", one.Latency.ITL.Count, eight.Latency.ITL.Count, 50*199, 50*25)
	}
	within(t, "mean gap", eight.Latency.ITL.Mean, one.Latency.ITL.Mean*199/25, 0.01)
	if one.Throughput.OutputTokensPerS != eight.Throughput.OutputTokensPerS {
		t.Errorf("%v tokens/s and %v", one.Throughput.OutputTokensPerS, eight.Throughput.OutputTokensPerS)
	}
}

// A step of 64 decodes takes longer by 64 times the share of constrained answers times what one of their tokens costs.
func TestGrammarsAndSamplersLengthenEveryStep(t *testing.T) {
	step := func(settings ...string) time.Duration {
		var took time.Duration
		x := mustBuild(t, "workload: {arrivals: burst, requests: 64, prompt: 10, output: 20}", settings...)
		mustRun(t, x, Options{Step: func(r *engine.Ran) {
			if r.Plan.Step.Decodes == 64 && took == 0 {
				took = r.Cost.Exposed
			}
		}})
		return took
	}
	plain := step()
	for settings, want := range map[string]time.Duration{ // order does not matter: separate runs
		"engine.constrained_decoding={share: 0.5, cost: 100us}": 3200 * time.Microsecond,
		"engine.constrained_decoding=1":                         64 * 40 * time.Microsecond,
		"engine.constrained_decoding=none":                      0,
		"engine.sampling_cost=10us":                             640 * time.Microsecond,
	} {
		if got := step(settings) - plain; got != want {
			t.Errorf("%s: %v, want %v", settings, got, want)
		}
	}
}

func TestAFrontEndThatIsGivenWinsOverTheProfile(t *testing.T) {
	x := mustBuild(t, "frontend: {tokenize: 1us, per_request: 2ms, latency: 0s, per_chunk: 5us}\nengine: {stream_interval: 4}")
	want := engine.Frontend{Servers: 1, PerRequest: 2 * time.Millisecond, PerToken: time.Microsecond, PerChunk: 5 * time.Microsecond, Interval: 4}
	if got := x.frontend(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p, _ := FindProfile("vllm-0.15")
	want = engine.Frontend{Servers: 1, PerToken: p.Frontend.PerToken, Ingress: p.Frontend.Ingress, PerChunk: p.Frontend.PerChunk, Interval: 1}
	if got := mustBuild(t, "engine: {profile: vllm-0.15}").frontend(); got != want {
		t.Errorf("the profile's own: got %+v, want %+v", got, want)
	}
}
