package hardware

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// drafting returns a deployment of Llama 3.1 8B on one H100 whose drafter is a head like EAGLE's.
func drafting(t testing.TB, drafts int) Deployment {
	t.Helper()
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	d.Drafter = Drafter{Drafts: drafts, Model: d.Model.Eagle(d.Model.Vocab), Weights: BF16, Fused: 2}
	return d
}

func TestAVerificationIsSoManyRowsThatReadTheCacheOnce(t *testing.T) {
	for _, c := range []struct{ drafts, past int }{{0, 5}, {1, 0}, {3, 100}, {7, 4096}} {
		var s Step
		s.AddVerification(c.drafts, c.past, Window{})
		pairs := int64(0)
		for i := range c.drafts + 1 {
			pairs += int64(c.past + i + 1) // row i sees the cache and the rows up to itself
		}
		if s.Tokens != 1+c.drafts || s.Sampled != 1+c.drafts || s.Seqs != 1 || s.Decodes != 1 {
			t.Errorf("%+v: %+v", c, s)
		}
		if s.KVRead != int64(c.past+1+c.drafts) || s.KVRead+s.Draft.Pairs != pairs {
			t.Errorf("%+v: reads %d, %d pairs, want %d and %d", c, s.KVRead, s.KVRead+s.Draft.Pairs, c.past+1+c.drafts, pairs)
		}
	}
	var plain, zero Step
	w := Window{Keys: 64, Tile: 16}
	plain.AddDecode(900, w)
	if zero.AddVerification(0, 900, w); plain != zero {
		t.Errorf("a verification of nothing is %+v, a decode %+v", zero, plain)
	}
}

func TestVerifyingIsNearlyFreeInASmallBatchAndDearInALargeOne(t *testing.T) {
	r := roofline(t, on(t, "llama-3.1-8b", "h100-sxm", 1))
	price := func(seqs, drafts int) float64 {
		var s Step
		for range seqs {
			s.AddVerification(drafts, 300, Window{})
		}
		return float64(r.Price(s))
	}
	if ratio := price(1, 3) / price(1, 0); ratio > 1.03 {
		t.Errorf("one sequence: verifying 3 drafts makes the step %.3g times as long", ratio)
	}
	if ratio := price(256, 3) / price(256, 0); ratio < 2 {
		t.Errorf("256 sequences: verifying 3 drafts makes the step %.3g times as long, want the arithmetic to bind", ratio)
	}
}

// The drafter takes the step's rows once, then depth−1 passes of one row for each sequence.
func TestDraftsCostASmallStepEach(t *testing.T) {
	d := drafting(t, 3)
	own, with := roofline(t, d.drafter()), roofline(t, d)
	without := d
	without.Drafter = Drafter{}
	plain := roofline(t, without)
	var s Step
	for range 4 {
		s.AddVerification(3, 100, Window{})
		s.AddProposal(104)
	}
	s.Draft.Depth = 3
	bare := s
	bare.Draft = Drafting{Rows: s.Draft.Rows, Pairs: s.Draft.Pairs}
	first := bare
	first.Sampled = 4
	pass := func(cached int64) Step { return Step{Tokens: 4, Seqs: 4, Decodes: 4, Sampled: 4, KVRead: cached} }
	want := plain.Cost(bare).Device + own.Cost(first).Device + own.Cost(pass(4*104+4)).Device + own.Cost(pass(4*104+8)).Device
	by := with.drafts.fusion
	for _, rows := range []float64{16, 4, 4} {
		p := by.price(rows)
		want += nanoseconds(p.seconds())
	}
	got := with.Cost(s)
	if diff := got.Device - want; diff < -10 || diff > 10 {
		t.Errorf("the step takes %v, its parts %v", got.Device, want)
	}
	if total := got.By.Total(); total != got.Device {
		t.Errorf("causes add up to %v of %v", total, got.Device)
	}
	if s.Draft.Depth = 0; with.Cost(s).Device >= got.Device {
		t.Error("a drafter that guesses nothing costs as much")
	}
}

func TestANetworkThatDraftsTakesMemoryAndNGramsTakeNone(t *testing.T) {
	d := on(t, "llama-3.1-8b", "h100-sxm", 1)
	plain := plan(t, d, as15())
	head := plan(t, drafting(t, 3), as15())
	// One layer of 218,112,000 parameters, the final norm, and 2·4096² to join two vectors.
	if want := int64(2 * (218_112_000 + 4096 + 2*4096*4096)); head.Drafter != want {
		t.Errorf("an EAGLE head weighs %d bytes, want %d", head.Drafter, want)
	}
	if head.BlockBytes != plain.BlockBytes/32*33 {
		t.Errorf("a block has %d bytes, want those of 33 layers in place of 32: %d", head.BlockBytes, plain.BlockBytes/32*33)
	}
	small, _, _, err := FindModel("llama-3.2-1b")
	if err != nil {
		t.Fatal(err)
	}
	d.Drafter = Drafter{Drafts: 3, Model: small, Weights: BF16, Tables: true}
	model := plan(t, d, as15())
	total, _ := small.Params()
	near(t, "weights of a draft model", float64(model.Drafter), 2*float64(total), 0.001)
	if lost := float64(plain.Blocks - model.Blocks); lost < float64(model.Drafter)/float64(plain.BlockBytes) || model.KV+model.Drafter != plain.KV {
		t.Errorf("%d blocks beside the draft model, %d without", model.Blocks, plain.Blocks)
	}
	d.Drafter = Drafter{Drafts: 3}
	if ngrams := plan(t, d, as15()); ngrams.Blocks != plain.Blocks || ngrams.Drafter != 0 {
		t.Errorf("n-grams leave %d of %d blocks", ngrams.Blocks, plain.Blocks)
	}
}

func TestOnlyStepsOfEqualRowsFitAFullGraph(t *testing.T) {
	d := drafting(t, 3)
	r := roofline(t, d)
	d.Drafter.Varies = true
	varies := roofline(t, d)
	step := func(drafts ...int) (s Step) {
		for _, n := range drafts {
			s.AddVerification(n, 100, Window{})
		}
		return s
	}
	mixed := step(3, 3)
	mixed.AddChunk(40, 0, true, Window{})
	for _, c := range []struct {
		what string
		s    Step
		want float64
	}{{"uniform", step(3, 3), 0}, {"trimmed", step(3, 1), piecewisePerLayer * 32}, {"with a prompt", mixed, 0}} {
		if got := r.drafts.gaps(&c.s); got != c.want {
			t.Errorf("%s: %g s lost, want %g", c.what, got, c.want)
		}
	}
	if s := step(3, 3); varies.drafts.gaps(&s) == 0 {
		t.Error("drafts by batch size fit a full graph")
	}
}

func TestGraphsHoldWholeVerifications(t *testing.T) {
	sizes := []int{1, 2, 4, 8, 16, 24, 32}
	for _, c := range []struct {
		rows int
		want []int
	}{{1, sizes}, {3, []int{3, 6, 9, 18, 24}}, {4, []int{4, 8, 16, 24, 32}}} {
		if got := MultiplesOf(c.rows, sizes); !slices.Equal(got, c.want) {
			t.Errorf("%d rows: %v, want %v", c.rows, got, c.want)
		}
	}
}

func TestDraftersThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Deployment)
	}{
		{"pipeline_parallel_size must be 1", func(d *Deployment) { d.PP = 2 }},
		{"on 1 GPU or on all 4", func(d *Deployment) { d.TP, d.Drafter.TP = 4, 2 }},
		{"drafter: ", func(d *Deployment) { d.Drafter.Model.Heads = 0 }},
		{"cannot make -1 drafts", func(d *Deployment) { d.Drafter.Drafts = -1 }},
	} {
		d := drafting(t, 3)
		c.change(&d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q, got %v", c.want, err)
		}
	}
}

func TestADrafterOnOneGPUCostsNoCollectives(t *testing.T) {
	d := on(t, "llama-3.1-70b", "h100-sxm", 4)
	d.Drafter = Drafter{Drafts: 3, Model: d.Model.Eagle(32000), Weights: BF16, Fused: 3}
	network := func(d Deployment) time.Duration {
		var s Step
		s.AddVerification(3, 100, Window{})
		s.AddProposal(104)
		s.Draft.Depth = 3
		return roofline(t, d).Cost(s).By.Network
	}
	none := d
	none.Drafter = Drafter{}
	alone := d
	alone.Drafter.TP = 1
	if a, b, c := network(none), network(alone), network(d); a != b || c <= b {
		t.Errorf("collectives take %v without drafts, %v with a drafter on one GPU, %v on all", a, b, c)
	}
}

func TestPricingDraftsAllocatesNothing(t *testing.T) {
	r := roofline(t, drafting(t, 3))
	var s Step
	for range 50 {
		s.AddVerification(3, 700, r.Window())
		s.AddProposal(704)
	}
	s.Draft.Depth = 3
	if n := testing.AllocsPerRun(100, func() { r.Cost(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
