package metrics

import (
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// Disaggregation is what became of requests whose prompt one engine computes and another decodes. Times, parts and bytes are of
// the measured ones that completed; how many requests went which way, and what expired, is of the whole run.
type Disaggregation struct {
	Mode string `json:"mode"`
	Link string `json:"link"`
	// TTFTDefinition says which token a disaggregated request's TTFT runs to.
	TTFTDefinition string `json:"ttft_definition"`

	Remote   int64     `json:"remote_requests"` // shared by two engines
	Local    int64     `json:"local_requests"`  // served by a decoding engine alone
	Whole    int64     `json:"whole_requests"`  // served by a prefilling engine alone
	Borrowed int64     `json:"borrowed"`        // times that an engine was lent to the other kind's work
	TTFT     TTFTParts `json:"ttft_ms"`         // of requests shared by two engines
	Transfer Transfers `json:"transfers"`
}

// TTFTParts are the means of the parts of the time to first token, in milliseconds; they add up to Total. They follow each
// other, but for engines that push: there memory comes before the queue of the prefilling engine, the transfer lies beside the
// prefill as far as it can, and the hand-over comes last.
type TTFTParts struct {
	Frontend     float64 `json:"frontend"`      // from the client to the first queue
	PrefillQueue float64 `json:"prefill_queue"` // at the prefilling engine
	Prefill      float64 `json:"prefill"`       // from its admission there to the end of the step with the last part of the prompt
	Handover     float64 `json:"handover"`      // between the engines, apart from KV
	DecodeMemory float64 `json:"decode_memory"` // in the decoding engine's queue, until there was memory for the prompt
	Transfer     float64 `json:"transfer"`      // of KV, as far as it was waited for
	Decode       float64 `json:"decode"`        // at the decoding engine, until its first token has reached the client
	Total        float64 `json:"total"`
}

// Transfers are the prompts that travelled between engines.
type Transfers struct {
	Count      int64 `json:"count"`
	Bytes      int64 `json:"bytes"`
	SavedBytes int64 `json:"saved_bytes"` // that did not travel, since the decoding engine's prefix cache had them
	Time       Stats `json:"time_ms"`     // of one prompt's KV, from the first byte to the last, sharing the link
	Expired    int64 `json:"expired_leases"`
	Fallbacks  int64 `json:"fallbacks"` // prompts computed again by the decoding engine, since their KV was gone
}

// TTFT definitions: which token it is.
const (
	FirstTokenDecoded = "from the client's send to the first token from the decoding engine, which computes the last position of the prompt again when its KV has arrived; the token that the prefill samples is thrown away"
	FirstTokenEarly   = "from the client's send to the prefill's token, which the prefilling engine streams; the KV travels before the second token"
	FirstTokenHanded  = "from the client's send to the prefill's token, which the decoding engine streams when the prompt's KV has arrived"
)

// journeys adds up the ways of requests over two engines.
type journeys struct {
	steps map[*engine.Journey]prompting // what their prompts took where they were computed, until they end
	parts [engine.Parts]int64
	rest  int64 // of their TTFT
	n     int64
	count Transfers
	times []float64
}

// Legs returns hooks for engine.Config.Legs of the engine that was watched last.
func (r *Recorder) Legs() engine.Hooks {
	w := r.watches[len(r.watches)-1]
	if r.journeys.steps == nil {
		r.journeys.steps = make(map[*engine.Journey]prompting)
	}
	return engine.Hooks{Arrived: w.legBegins, FirstOut: w.legOut, Finished: w.legEnds}
}

func (w *watch) legBegins(_ sim.Time, l *engine.Life) {
	*w.enter(l) = stay{}
	w.file(l)
	w.legs++
	w.requests++
	w.settle()
}

// file notes which life a sequence belongs to.
func (w *watch) file(l *engine.Life) {
	for int(l.Seq.ID) >= len(w.slots) {
		w.slots = append(w.slots, -1)
	}
	w.slots[l.Seq.ID] = l.Slot
}

func (w *watch) legOut(_ sim.Time, l *engine.Life) { w.stay(l).emitted = true }

func (w *watch) legEnds(_ sim.Time, l *engine.Life) {
	w.legs--
	if l.Journey != nil && l.Outcome.Status == workload.Completed {
		w.r.journeys.steps[l.Journey] = w.stay(l).own
	}
}

// finish takes in a request that has ended and, if it counts, its journey.
func (js *journeys) finish(l *engine.Life, counts bool) (own prompting) {
	j := l.Journey
	if j == nil {
		return own
	}
	own = js.steps[j]
	delete(js.steps, j)
	if !counts {
		return own
	}
	js.n++
	for i, span := range j.Spans {
		js.parts[i] += int64(span)
	}
	js.rest += int64(max(l.First-j.Until, 0))
	if j.Landed == 0 {
		return own // the answer was complete before all of its prompt's KV had travelled
	}
	if j.Bytes > 0 {
		js.count.Count++
		js.count.Bytes += j.Bytes
		js.times = append(js.times, float64(j.Landed-j.Sent))
	}
	js.count.SavedBytes += j.Saved
	return own
}

// report completes a description with what has been measured.
func (js *journeys) report(d Disaggregation, percentiles []float64) *Disaggregation {
	ms := func(ns int64) float64 { return ratio(float64(ns), float64(js.n)) / 1e6 }
	total := js.rest
	for _, p := range js.parts {
		total += p
	}
	d.TTFT = TTFTParts{
		Frontend: ms(js.parts[engine.AtFrontend]), PrefillQueue: ms(js.parts[engine.InQueue]), Prefill: ms(js.parts[engine.InPrefill]),
		Handover: ms(js.parts[engine.InHandover]), DecodeMemory: ms(js.parts[engine.InMemory]), Transfer: ms(js.parts[engine.InTransfer]),
		Decode: ms(js.rest), Total: ms(total),
	}
	d.Transfer = js.count
	d.Transfer.Time = summarize([][]float64{js.times}, percentiles)
	return &d
}

// queued returns how long a request waited in queues of schedulers.
func queued(l *engine.Life) int64 {
	if l.Journey != nil {
		return queuedTwice(l, l.Journey)
	}
	return int64(max(l.Scheduled-l.Queued, 0))
}

// queuedTwice is queued for a request that two engines shared.
func queuedTwice(l *engine.Life, j *engine.Journey) int64 {
	before := int64(j.Spans[engine.InQueue] + j.Spans[engine.InMemory])
	if j.Closed || l.Seq.Given > 0 { // the first token is there before the scheduler is asked
		return before
	}
	return before + int64(max(l.Scheduled-j.Until, 0))
}

// addJourney splits the time to first token of a request that two engines shared. Of the prefill what its own steps did not
// take was spent waiting; so was the time at the decoding engine.
func (s *stories) addJourney(st *stay, l *engine.Life, own prompting) {
	j := l.Journey
	for _, p := range []*prompting{&own, &st.own} { // st.own: the prompt was computed again
		s.prefill += p.prefill
		s.interference += p.interference
		s.overhead += p.burdens
	}
	taken := own.prefill + own.interference + own.burdens + st.own.prefill + st.own.interference + st.own.burdens
	out := max(int64(l.First-st.firstEnd()), 0)
	last := max(int64(l.First-j.Until), 0)
	out = min(out, last)
	s.frontend += int64(j.Spans[engine.AtFrontend]) + out
	s.transfer += int64(j.Spans[engine.InTransfer] + j.Spans[engine.InHandover])
	s.queue += int64(j.Spans[engine.InQueue]+j.Spans[engine.InMemory]+j.Spans[engine.InPrefill]) + last - out - taken
}
