package metrics

import (
	"slices"
	"testing"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine"
)

// Ten steps with three drafts each: 6 had the first right, 3 the first two, 1 all three. So 10 of 30 tokens were accepted,
// and a step yielded 1 + 10/10 tokens. Before the warm-up was over there had been two steps, with one draft right.
func TestDraftsAreCountedAsTheBenchmarkDoes(t *testing.T) {
	now := engine.Drafted{Drafts: 2, Tokens: 6, Accepted: 1, ByPosition: []int64{1, 0, 0}}
	r := New(Config{Warmup: 100, Engine: Engine{Drafted: func() engine.Drafted { return now }}})
	h := r.Hooks()
	h.Planned(50, &scheduler.Plan{})
	now.ByPosition[0] = 7 // the engine's own slice
	now = engine.Drafted{Drafts: 12, Tokens: 36, Accepted: 11, ByPosition: []int64{7, 3, 1}}
	h.Planned(150, &scheduler.Plan{})
	s := r.Report(200).Speculation
	if s == nil || s.Drafts != 10 || s.DraftTokens != 30 || s.AcceptedTokens != 10 {
		t.Fatalf("counted %+v", s)
	}
	if s.AcceptanceRate != 10./30 || s.MeanAcceptanceLength != 2 || !slices.Equal(s.PerPosition, []float64{0.6, 0.3, 0.1}) {
		t.Errorf("rates %+v", s)
	}
}

func TestAnEngineWithoutDraftsReportsNone(t *testing.T) {
	if s := New(Config{}).Report(10).Speculation; s != nil {
		t.Errorf("got %+v", s)
	}
	r := New(Config{Engine: Engine{Drafted: func() engine.Drafted { return engine.Drafted{} }}})
	r.Hooks()
	if s := r.Report(10).Speculation; s == nil || s.AcceptanceRate != 0 || s.MeanAcceptanceLength != 1 || s.PerPosition == nil {
		t.Errorf("with nothing drafted yet: %+v", s)
	}
}
