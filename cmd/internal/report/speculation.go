package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servesim/servesim/sim/metrics"
)

// speculationFact tells what became of drafts, in a line of the page.
func speculationFact(s *metrics.Speculation) fact {
	positions := make([]string, len(s.PerPosition))
	for i, share := range s.PerPosition {
		positions[i] = percent(share)
	}
	text := fmt.Sprintf("%.2f tokens a step on average; %s of %s drafted tokens accepted", s.MeanAcceptanceLength, percent(s.AcceptanceRate), count(s.DraftTokens))
	if len(positions) > 1 {
		text += ", by position " + strings.Join(positions, ", ")
	}
	return fact{"speculation", text}
}

// benchSpeculation writes the section that `vllm bench serve` prints of an engine with drafts.
func benchSpeculation(out *strings.Builder, line func(label, value string), s *metrics.Speculation) {
	out.WriteString(centred("Speculative Decoding", "-") + "\n")
	line("Acceptance rate (%):", two(100*s.AcceptanceRate))
	line("Acceptance length:", two(s.MeanAcceptanceLength))
	line("Drafts:", strconv.FormatInt(s.Drafts, 10))
	line("Draft tokens:", strconv.FormatInt(s.DraftTokens, 10))
	line("Accepted tokens:", strconv.FormatInt(s.AcceptedTokens, 10))
	if len(s.PerPosition) == 0 {
		return
	}
	out.WriteString("Per-position acceptance (%):\n")
	for i, share := range s.PerPosition {
		line(fmt.Sprintf("  Position %d:", i), two(100*share))
	}
}

// speculation adds the keys of an engine with drafts; rates are percentages there.
func (o *object) speculation(s *metrics.Speculation) {
	o.put("spec_decode_acceptance_rate", 100*s.AcceptanceRate)
	o.put("spec_decode_acceptance_length", s.MeanAcceptanceLength)
	o.put("spec_decode_num_drafts", s.Drafts)
	o.put("spec_decode_draft_tokens", s.DraftTokens)
	o.put("spec_decode_accepted_tokens", s.AcceptedTokens)
	o.put("spec_decode_per_position_acceptance_rates", s.PerPosition)
}

// draftScalars are the metrics of engines with drafts, absent where nothing is drafted.
func draftScalars() []scalar {
	of := func(unit Unit, amount func(*metrics.Speculation) float64) func(*metrics.Report) Value {
		return func(r *metrics.Report) Value {
			if r.Speculation == nil {
				return Value{Unit: unit, Absent: true}
			}
			return Value{Amount: amount(r.Speculation), Unit: unit}
		}
	}
	return []scalar{
		{"acceptance_rate", of(Fraction, func(s *metrics.Speculation) float64 { return s.AcceptanceRate })},
		{"acceptance_length", of(Count, func(s *metrics.Speculation) float64 { return s.MeanAcceptanceLength })},
	}
}
