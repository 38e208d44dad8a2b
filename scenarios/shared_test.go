package scenarios

import (
	"bytes"
	"encoding/json"
	"testing"
)

// built parses and builds a scenario.
func built(t *testing.T, shared *Shared, text string) *Experiment {
	t.Helper()
	d, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	x, err := shared.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestExperimentsOfOneEngineShareItsCostModel(t *testing.T) {
	shared := new(Shared)
	a := built(t, shared, "workload: {rate: 1}")
	b := built(t, shared, "workload: {rate: 2}")
	c := built(t, shared, "engine: {max_num_seqs: 7}")
	if a.cost != b.cost {
		t.Error("two workloads on one engine have a cost model each")
	}
	if a.cost == c.cost {
		t.Error("two engines have one cost model")
	}
}

func TestATraceIsReadOnce(t *testing.T) {
	shared := new(Shared)
	const trace = "workload: {arrivals: {name: trace, file: azure-2023-conversation}, requests: "
	a := built(t, shared, trace+"10}")
	b := built(t, shared, trace+"20}")
	c := built(t, shared, trace+"20}\nengine: {block_size: 32}")
	if a.Workload.Trace != b.Workload.Trace || b.Workload.Trace != c.Workload.Trace {
		t.Error("the trace was read more than once")
	}
}

func TestWithSeedIsTheScenarioOfThatSeed(t *testing.T) {
	const load = "workload: {requests: 30}"
	x := built(t, new(Shared), load)
	var texts [][]byte
	for _, y := range []*Experiment{x.WithSeed(7), built(t, new(Shared), load+"\nseed: 7"), x} {
		result, err := y.Run(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("WithSeed differs from the seed in the file")
	}
	if bytes.Equal(texts[0], texts[2]) {
		t.Error("another seed made no difference")
	}
}
