package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/servesim/servesim/scenarios"
)

func TestAMeasurementCountsWhatTheRunsDid(t *testing.T) {
	c := cell{requests: 50, load: "near", rate: 33, caching: true}
	s, err := c.measure(t.Context(), new(scenarios.Shared))
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.experiment(new(scenarios.Shared))
	if err != nil {
		t.Fatal(err)
	}
	result, err := x.Run(t.Context(), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.runs < 1 || s.seconds <= 0 || s.tokens != result.Tokens.Output || s.steps != result.Engine.Steps || s.peak < 1<<20 {
		t.Errorf("measured %+v", s)
	}
}

func TestTheMatrixLoadsTheEngineAsItSays(t *testing.T) {
	for _, c := range matrix(true) {
		if c.requests > 1_000 || !c.caching {
			continue
		}
		c.requests = 3_000
		x, err := c.experiment(new(scenarios.Shared))
		if err != nil {
			t.Fatal(err)
		}
		result, err := x.Run(t.Context(), scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if over := result.Verdict.State == "overloaded"; over != (c.load == "over") {
			t.Errorf("load %s at %v requests/s is %s: %s", c.load, c.rate, result.Verdict.State, result.Verdict.Why)
		}
	}
}

func TestBenchLinesAreThoseOfGoTest(t *testing.T) {
	s := []speed{{cell: cell{1000, "near", 33, true}, runs: 4, seconds: 0.02, tokens: 256_000, steps: 2_000, peak: 5_000_000}}
	var b bytes.Buffer
	if err := speedLines(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	// Name, iterations, then pairs of a value and a unit: what benchstat reads.
	format := regexp.MustCompile(`^Benchmark\S+\s+\d+(\s+\d+ \S+)+$`)
	if last := lines[len(lines)-1]; !format.MatchString(last) ||
		!strings.Contains(last, "Servesim/requests=1000/load=near/prefix_caching=on") || !strings.Contains(last, "\t50000 requests/") {
		t.Errorf("line %q", last)
	}
}

func TestSpeedTableAndJSONAgree(t *testing.T) {
	s := []speed{{cell: cell{10_000, "over", 45, false}, runs: 1, seconds: 0.5, tokens: 2_560_000, steps: 20_000, running: 251.04, peak: 15_400_000}}
	var b bytes.Buffer
	if err := speedTable(&b, s); err != nil {
		t.Fatal(err)
	}
	row := strings.Join(strings.Fields(strings.Split(b.String(), "\n")[1]), " ")
	if want := "10k over off 251.0 500 ms 20.0 k 5.12 M 40.0 k 15 MB"; row != want {
		t.Errorf("row %q, want %q", row, want)
	}
	b.Reset()
	if err := speedJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Measurements []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if v := got.Measurements[0]["requests_per_"+clock+"_s"]; v != 20_000.0 {
		t.Errorf("JSON: %v requests a second, want 20000", v)
	}
}
