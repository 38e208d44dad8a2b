package metrics

// Speculation is what became of drafts, in the steps that ended after the warm-up. The definitions are those of
// `vllm bench serve`.
type Speculation struct {
	Drafts         int64 `json:"drafts"`          // steps of a sequence in which drafts were verified
	DraftTokens    int64 `json:"draft_tokens"`    // that were drafted
	AcceptedTokens int64 `json:"accepted_tokens"` // of which were right

	AcceptanceRate       float64 `json:"acceptance_rate"`        // accepted / drafted tokens
	MeanAcceptanceLength float64 `json:"mean_acceptance_length"` // 1 + accepted tokens / drafts: a step always yields one more

	// PerPosition is the share of drafts whose first i tokens were all right, for i = 1, 2, …
	PerPosition []float64 `json:"per_position_acceptance_rates"`
}

// keepDrafts remembers what has been drafted so far.
func (w *watch) keepDrafts() {
	if w.e.Drafted == nil {
		return
	}
	d := w.e.Drafted()
	d.ByPosition = append(w.early.ByPosition[:0], d.ByPosition...)
	w.early = d
}

// speculation adds up the drafts of all engines; nil when none of them drafts.
func speculation(ws []used) *Speculation {
	var out *Speculation
	var positions []int64
	for _, w := range ws {
		if w.e.Drafted == nil {
			continue
		}
		if out == nil {
			out = &Speculation{}
		}
		d := w.e.Drafted()
		out.Drafts += d.Drafts - w.early.Drafts
		out.DraftTokens += d.Tokens - w.early.Tokens
		out.AcceptedTokens += d.Accepted - w.early.Accepted
		for i, n := range d.ByPosition {
			if i < len(w.early.ByPosition) {
				n -= w.early.ByPosition[i]
			}
			if i == len(positions) {
				positions = append(positions, 0)
			}
			positions[i] += n
		}
	}
	if out == nil {
		return nil
	}
	out.AcceptanceRate = ratio(float64(out.AcceptedTokens), float64(out.DraftTokens))
	out.MeanAcceptanceLength = 1 + ratio(float64(out.AcceptedTokens), float64(out.Drafts))
	out.PerPosition = make([]float64, len(positions))
	for i, n := range positions {
		out.PerPosition[i] = ratio(float64(n), float64(out.Drafts))
	}
	return out
}
