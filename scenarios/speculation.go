package scenarios

import (
	"fmt"
	"strings"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine"
)

const (
	speculative = "engine.speculative_config"
	ngram       = "ngram"
	draftModel  = "draft_model"
)

var draftMethods = []string{"eagle", "eagle3", "mtp", ngram, draftModel}

// speculates reports whether anything is drafted. With 0 drafts nothing is, as if the section were not there.
func (s *Scenario) speculates() bool { return s.Engine.SpeculativeConfig.NumSpeculativeTokens > 0 }

// What drafts cost the host, hidden by nothing. vLLM V1 on an H100 wrote 128.6 tokens/s of Llama 3 8B one at a time, 175.5
// with two drafts of EAGLE a step (1.89 tokens) and 165.7 with four (2.08): steps of 7.8, 10.8 and 12.6 ms (vLLM #16035).
// What the head's own work leaves of that is between .15 and .35 ms a pass and about a millisecond a step; later
// versions are better, so that these are choices in that range. Searching n-grams is a loop over the tokens of every
// sequence, compiled by Numba; its costs are assumed.
const (
	draftStep, draftPass = 0.5e-3, 0.25e-3
	ngramStep, ngramSeq  = 0.1e-3, 5e-6
	ngramToken           = 2e-9
)

// eagle3Vocab is the part of the vocabulary that the published EAGLE-3 heads guess from.
const eagle3Vocab = 32000

// speculation resolves engine.speculative_config.
func (x *deployment) speculation(m *Mistakes) {
	s, c := x.s, &x.s.Engine.SpeculativeConfig
	wrong := func(key, format string, args ...any) { m.at(s, join(speculative, key), format, args...) }
	if !s.speculates() {
		if key := s.firstOf(speculative); key != "" && !s.Explicit(speculative+".num_speculative_tokens") {
			m.at(s, speculative, "needs num_speculative_tokens, the drafts of each step, beside %s", key)
		}
		return
	}
	before := len(*m)
	if n := s.Scheduler.Name; n != "chunked" {
		m.at(s, speculative, "works with vLLM V1's scheduler only (scheduler: chunked), got %s", n)
	}
	if s.Engine.KVOffloadingSize > 0 {
		m.at(s, speculative, "is not supported together with kv_offloading_size, leave one of them out")
	}
	if c.Method = c.method(); c.Method == "" {
		wrong("method", "must be given: one of %s", strings.Join(draftMethods, ", "))
		return
	}
	x.drafter(m)
	x.synchronise(m)
	c.checkTiers(wrong)
	x.acceptance(wrong)
	if len(*m) > before {
		return
	}
	if x.Weights.Narrow() {
		x.note(fmt.Sprintf("speculation with %s weights: how often a quantized model agrees with its drafter, and what both do to quality, no simulator can tell; measure the acceptance", x.Weights))
	}
}

// firstOf returns the first key of a section that was given, or "".
func (s *Scenario) firstOf(section string) string {
	for _, key := range children(section) {
		if s.Explicit(join(section, key)) {
			return key
		}
	}
	return ""
}

// method returns the method: as given, or as vLLM tells it from the drafter's name.
func (c *SpeculativeConfig) method() string {
	name := strings.ToLower(c.Model)
	switch {
	case c.Method != "" || name == "":
		return c.Method
	case name == ngram:
		return ngram
	case strings.Contains(name, "eagle3"):
		return "eagle3"
	case strings.Contains(name, "eagle"):
		return "eagle"
	}
	return draftModel
}

// drafter describes what drafts to the hardware.
func (x *deployment) drafter(m *Mistakes) {
	c := &x.s.Engine.SpeculativeConfig
	d := hardware.Drafter{
		Drafts: c.NumSpeculativeTokens, Varies: len(c.PerBatchSize) > 0, Weights: x.Model.Dtype,
		TP: c.DraftTensorParallelSize, PerStep: draftStep, PerPass: draftPass,
	}
	if x.Weights == hardware.FP16 {
		d.Weights = hardware.FP16
	}
	switch c.Method {
	case "eagle":
		d.Model, d.Fused = x.Model.Eagle(x.Model.Vocab), 2
	case "eagle3":
		d.Model, d.Fused = x.Model.Eagle(eagle3Vocab), 3
	case "mtp":
		d.Model, d.Fused, d.Weights = x.Model.Layer(), 2, x.Weights
	case ngram:
		d.PerStep, d.PerPass, d.PerSeq, d.PerCached = ngramStep, 0, ngramSeq, ngramToken
	case draftModel:
		x.findDrafter(&d, m)
	}
	if (c.Method == "eagle" || c.Method == "eagle3") && (d.Weights.Narrow() || d.Weights == "") {
		d.Weights = hardware.BF16 // heads are published in 16 bits
	}
	if q, err := hardware.ParseDtype(c.Quantization); err == nil && q != "" && c.Method != ngram {
		d.Weights = q
	}
	x.Drafter = d
}

// findDrafter finds the model that drafts.
func (x *deployment) findDrafter(d *hardware.Drafter, m *Mistakes) {
	path, name := speculative+".model", x.s.Engine.SpeculativeConfig.Model
	if name == "" {
		m.at(x.s, path, "must name the model that drafts")
		return
	}
	found, stored, note, err := hardware.FindModel(name)
	if err != nil {
		m.at(x.s, path, "%v", err)
		return
	}
	x.note(note)
	if found.Vocab != x.Model.Vocab {
		m.at(x.s, path, "must have the vocabulary of %s, %d tokens, but %s has %d", x.Model.Name, x.Model.Vocab, found.Name, found.Vocab)
	}
	d.Model, d.Tables = found, true
	if stored != "" {
		d.Weights = stored
	} else if d.Weights = found.Dtype; x.Weights == hardware.FP16 {
		d.Weights = hardware.FP16
	}
}

// synchronise turns asynchronous scheduling off where drafts are made on the CPU: they need the tokens before them.
func (x *deployment) synchronise(m *Mistakes) {
	e := &x.s.Engine
	if e.SpeculativeConfig.Method != ngram || e.AsyncScheduling != On {
		return
	}
	if x.s.Explicit("engine.async_scheduling") {
		m.at(x.s, "engine.async_scheduling", "does not go together with speculative_config.method: ngram, whose drafts are made on the CPU; leave it out, or write false")
		return
	}
	e.AsyncScheduling = Off
}

// checkTiers checks the numbers of drafts by batch size.
func (c *SpeculativeConfig) checkTiers(wrong func(key, format string, args ...any)) {
	const key = "num_speculative_tokens_per_batch_size"
	next := 1
	for _, t := range c.PerBatchSize {
		switch {
		case t.From != next || t.To < t.From:
			wrong(key, "must be ranges [from, to, drafts] of batch sizes, one after the other from 1 on; got [%d, %d, %d] where %d must begin", t.From, t.To, t.Drafts, next)
			return
		case t.Drafts < 0 || t.Drafts > c.NumSpeculativeTokens:
			wrong(key, "must have from 0 to num_speculative_tokens, %d, drafts, got %d", c.NumSpeculativeTokens, t.Drafts)
			return
		}
		next = t.To + 1
	}
}

// lookahead returns the slots that the drafter writes into beyond the tokens of a step: n-grams have no KV.
func (s *Scenario) lookahead() int {
	if !s.speculates() || s.Engine.SpeculativeConfig.Method == ngram {
		return 0
	}
	return s.Engine.SpeculativeConfig.NumSpeculativeTokens
}

// room returns how many tokens a sequence needs room for that grows to so many: its drafter writes behind them.
func (x *Experiment) room(tokens int) int {
	return max(tokens, min(tokens+x.Scenario.lookahead(), x.Deployment.MaxModelLen))
}

// drafted returns the counter of drafts where there are any.
func (x *Experiment) drafted(count func() engine.Drafted) func() engine.Drafted {
	if x.accepts == nil {
		return nil
	}
	return count
}

// speculationLimits are the drafts as the scheduler knows them.
func (s *Scenario) speculationLimits() scheduler.Speculation {
	c := &s.Engine.SpeculativeConfig
	if !s.speculates() {
		return scheduler.Speculation{}
	}
	l := scheduler.Speculation{
		Drafts: c.NumSpeculativeTokens, Lookahead: s.lookahead(), DropLast: c.Method != ngram && c.Method != draftModel,
	}
	if c.Method == draftModel {
		l.Slots = 1
	}
	for _, t := range c.PerBatchSize {
		l.ByBatch = append(l.ByBatch, scheduler.Tier{Seqs: t.To, Drafts: t.Drafts})
	}
	return l
}
