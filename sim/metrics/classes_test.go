package metrics

import (
	"math"
	"reflect"
	"testing"

	"github.com/servesim/servesim/sim/workload"
)

// crowdOfClasses gives every request of a crowd a class and a client.
func crowdOfClasses() []workload.Request {
	crowd := crowdOf(4, 400, true)
	for i := range crowd {
		crowd[i].Class = int32(i) % 2
		crowd[i].Client = int32(i) % 3
	}
	return crowd
}

func twoClasses() Config {
	return Config{Classes: []Class{{"quick", SLO{TTFT: 30 * ms}}, {"patient", SLO{E2EL: 10000 * ms}}}, Clients: true, Warmup: 2e9}
}

func TestClassesAndClientsAddUpToTheWhole(t *testing.T) {
	rep, _ := play(t, run{requests: crowdOfClasses(), config: twoClasses(), until: 20e9})
	var count, served Requests
	var tokens, eaten Tokens
	good := 0
	plus := func(to *Requests, q Requests) {
		to.Submitted += q.Submitted
		to.Completed += q.Completed
		to.Rejected += q.Rejected
		to.Aborted += q.Aborted
		to.Unfinished += q.Unfinished
	}
	for _, k := range rep.Classes {
		plus(&count, k.Requests)
		tokens = Tokens{tokens.Input + k.Tokens.Input, tokens.Output + k.Tokens.Output}
		good += int(math.Round(*k.Goodput.Attainment * float64(k.Requests.Submitted)))
		if k.Latency.TTFT.Count != int64(k.Requests.Completed) {
			t.Errorf("%s: %d times to first token of %d requests", k.Name, k.Latency.TTFT.Count, k.Requests.Completed)
		}
	}
	for _, c := range rep.Clients.Served {
		plus(&served, c.Requests)
		eaten = Tokens{eaten.Input + c.Tokens.Input, eaten.Output + c.Tokens.Output}
	}
	want := rep.Warmup.Measured
	if count != want || served != want || tokens != rep.Tokens || eaten != rep.Tokens {
		t.Errorf("classes %+v %+v, clients %+v %+v, want %+v %+v", count, tokens, served, eaten, want, rep.Tokens)
	}
	if whole := int(math.Round(*rep.Goodput.Attainment * float64(want.Submitted))); whole != good || good == 0 {
		t.Errorf("%d good requests, of the classes %d", whole, good)
	}
	if want.Rejected == 0 || want.Aborted == 0 || want.Unfinished == 0 {
		t.Errorf("the test shows nothing: %+v", want)
	}
}

func TestARequestIsJudgedByItsClass(t *testing.T) {
	rep, _ := play(t, run{requests: crowdOfClasses(), config: twoClasses()})
	quick, patient := rep.Classes[0].Goodput, rep.Classes[1].Goodput
	if quick.ByMetric.TTFT == nil || quick.ByMetric.E2EL != nil || patient.ByMetric.TTFT != nil || patient.ByMetric.E2EL == nil {
		t.Errorf("targets %+v and %+v", quick.ByMetric, patient.ByMetric)
	}
	if *patient.Attainment < *quick.Attainment+.2 {
		t.Errorf("30 ms to the first token are met by %v, 10 s to the last by %v", *quick.Attainment, *patient.Attainment)
	}
}

func TestSplittingChangesNothingElse(t *testing.T) {
	split := twoClasses()
	split.Classes[1].SLO = split.Classes[0].SLO
	plain := Config{SLO: split.Classes[0].SLO, Warmup: split.Warmup}
	a, _ := play(t, run{requests: crowdOfClasses(), config: split})
	b, _ := play(t, run{requests: crowdOfClasses(), config: plain})
	if b.Classes != nil || b.Clients != nil {
		t.Errorf("split although nobody asked: %+v %+v", b.Classes, b.Clients)
	}
	a.Classes, a.Clients = nil, nil
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestJainsIndexIsOneOfEqualsAndAnNthOfOne(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{3, 3, 3, 3}, 1}, {[]float64{5, 0, 0, 0}, .25}, {[]float64{10, 1}, 121. / 202}, {[]float64{0, 0}, 0}, {nil, 0}} {
		if got := jain(c.x); !near(got, c.want) && got != c.want {
			t.Errorf("jain(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}
