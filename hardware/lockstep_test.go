package hardware

import "testing"

// four returns the cost model of Qwen3-30B-A3B on four ranks that share its experts.
func four(t *testing.T) *Roofline {
	t.Helper()
	d := on(t, "qwen3-30b-a3b", "h100-sxm", 1)
	d.DP, d.ExpertParallel = 4, true
	d.Graphs = CaptureSizes(256, 8192, false)
	return roofline(t, d)
}

func TestAllRanksWaitForTheSlowest(t *testing.T) {
	r := four(t)
	var chunk Step
	chunk.AddChunk(2048, 0, true, Window{})
	even := r.Together([]Step{decodes(8, 500, Window{}), decodes(8, 500, Window{}), decodes(8, 500, Window{}), decodes(8, 500, Window{})})
	disturbed := r.Together([]Step{decodes(8, 500, Window{}), chunk, decodes(8, 500, Window{}), decodes(8, 500, Window{})})
	alone := r.Together([]Step{{}, chunk, {}, {}})
	if disturbed.Device < 2*even.Device {
		t.Errorf("one rank's prompt makes everybody's step %v instead of %v", disturbed.Device, even.Device)
	}
	if d := float64(disturbed.Device)/float64(alone.Device) - 1; d < 0 || d > 0.05 {
		t.Errorf("%v beside decodes, %v beside dummies", disturbed.Device, alone.Device)
	}
}

func TestADummyBatchCostsWhatTheOthersNeed(t *testing.T) {
	r := four(t)
	idle := r.Together([]Step{decodes(1, 500, Window{}), {}, {}, {}})
	busy := r.Together([]Step{decodes(1, 500, Window{}), decodes(1, 500, Window{}), decodes(1, 500, Window{}), decodes(1, 500, Window{})})
	if idle.Device != busy.Device {
		t.Errorf("all pad to one token: %v and %v", idle.Device, busy.Device)
	}
	if idle.Device <= 0 || idle.By.Network <= 0 {
		t.Errorf("three ranks run along for nothing: %+v", idle)
	}
}

func TestRanksPadToTheLargestThatAGraphCovers(t *testing.T) {
	r := four(t)
	steps := []Step{decodes(3, 500, Window{}), decodes(9, 500, Window{}), {}, decodes(1, 500, Window{})}
	r.Together(steps)
	for i, s := range steps {
		if s.Rows != 16 || s.Group != 64 {
			t.Errorf("rank %d runs %d rows, the experts see %d; want 16 and 64", i, s.Rows, s.Group)
		}
	}
	var chunk Step
	chunk.AddChunk(4000, 0, true, Window{})
	steps = []Step{decodes(3, 500, Window{}), chunk, {}, decodes(1, 500, Window{})}
	r.Together(steps)
	if steps[0].Rows != 3 || steps[1].Rows != 4000 || steps[2].Rows != 1 || steps[0].Group != 4005 {
		t.Errorf("no graph covers 4,000 tokens, so nobody pads: %+v", steps)
	}
}

func TestRanksShareTheExpertsAndNothingElse(t *testing.T) {
	d := on(t, "deepseek-v3", "h200-sxm", 1)
	d.Weights, d.DP, d.ExpertParallel = FP8, 8, true
	d.MaxNumBatchedTokens, d.MaxNumSeqs, d.BlockSize = 8192, 64, 16
	alone := d
	alone.DP, alone.ExpertParallel, alone.TP = 0, true, 8
	p := d.Model.Parts()
	experts := float64(d.Model.ExpertLayers()) * float64(p.Experts) / 8
	ranks, tp := newShard(d).weightBytes(d), newShard(alone).weightBytes(alone)
	if float64(ranks) < experts || ranks <= tp {
		t.Errorf("%d bytes a rank, %d a GPU of a tensor-parallel group; the experts' share is %.0f", ranks, tp, experts)
	}
	dense := on(t, "llama-3.1-8b", "h200-sxm", 1)
	dense.DP = 8
	if dense.Validate() == nil {
		t.Error("ranks of a dense model share nothing and cannot be in lockstep")
	}
}

func TestOneRankIsPricedAsEver(t *testing.T) {
	r := roofline(t, on(t, "qwen3-30b-a3b", "h100-sxm", 2))
	if a, b := r.Cost(decodes(16, 500, Window{})), r.Together([]Step{decodes(16, 500, Window{})}); a.Device != b.Device || a.By != b.By {
		t.Errorf("%+v and %+v", a, b)
	}
}
