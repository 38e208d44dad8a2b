package scenarios

import (
	"fmt"
)

// SpeculativeConfig is vLLM's setting of that name, and what a simulator has to be told beside it.
type SpeculativeConfig struct {
	Method, Model           string
	NumSpeculativeTokens    int         // drafts per sequence and step; 0: none
	PerBatchSize            []BatchTier // drafts by the size of the batch
	DraftTensorParallelSize int         // 0: as many GPUs as the target
	Quantization            string      // of the drafter's weights
	PromptLookupMin         int
	PromptLookupMax         int
	Acceptance              Rates
	AcceptanceTrace         string // file of accepted lengths
}

// BatchTier is how many drafts there are in batches of From to To sequences. It is written [from, to, drafts].
type BatchTier struct{ From, To, Drafts int }

// Rates is one number, or a list with one for each place.
type Rates struct {
	Values  []float64
	List    bool
	Assumed bool // of the method: nobody has given them
}

var fraction01 = limit{"be from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 }}

func speculationFields() []field {
	c := func(s *Scenario) *SpeculativeConfig { return &s.Engine.SpeculativeConfig }
	return []field{
		{path: speculative + ".method", into: func(s *Scenario) any { return &c(s).Method }, choices: draftMethods, planned: []string{"medusa", "mlp_speculator", "suffix", "dflash", "pard"}, doc: "Who drafts: a head on the target's states (eagle, eagle3), the model's own module for several tokens (mtp), a search in prompt and answer (ngram), a smaller model (draft_model). Told from the model's name if left out."},
		{path: speculative + ".model", into: func(s *Scenario) any { return &c(s).Model }, doc: "The model that drafts (draft_model). EAGLE heads and MTP modules have the dimensions of the target's layers, whatever their name."},
		{path: speculative + ".num_speculative_tokens", into: func(s *Scenario) any { return &c(s).NumSpeculativeTokens }, limit: limit{"be from 0 to 64", func(v float64) bool { return v >= 0 && v <= 64 }}, doc: "Drafts of each sequence in a step, K; 0 = no speculation."},
		{path: speculative + ".num_speculative_tokens_per_batch_size", into: func(s *Scenario) any { return &c(s).PerBatchSize }, doc: "Drafts by the number of sequences in the step, a list of [from, to, drafts]. No step fits a full CUDA graph then."},
		{path: speculative + ".draft_tensor_parallel_size", into: func(s *Scenario) any { return &c(s).DraftTensorParallelSize }, limit: atLeastOne, doc: "GPUs that share the drafter's layers: 1, or those of the target, as if left out."},
		{path: speculative + ".quantization", into: func(s *Scenario) any { return &c(s).Quantization }, choices: []string{"none", "fp8", "int8", "awq", "gptq", "mxfp4", "nvfp4"}, doc: "Format of the drafter's weights; if left out, its checkpoint's."},
		{path: speculative + ".prompt_lookup_min", into: func(s *Scenario) any { return &c(s).PromptLookupMin }, limit: atLeastOne, doc: "Shortest n-gram to search for; read over, since acceptance says what is found."},
		{path: speculative + ".prompt_lookup_max", into: func(s *Scenario) any { return &c(s).PromptLookupMax }, limit: atLeastOne, doc: "Longest n-gram to search for; read over, since acceptance says what is found."},
		{path: speculative + ".acceptance", into: func(s *Scenario) any { return &c(s).Acceptance }, limit: fraction01, doc: "How often drafts are right: one number a, the chance of each draft given that those before it are right; or a list with the chance that the first i drafts are all right, which is what vLLM logs as acceptance by position. If left out, an assumption by method, which the report states."},
		{path: speculative + ".acceptance_trace", into: func(s *Scenario) any { return &c(s).AcceptanceTrace }, doc: "A file with numbers of accepted drafts, one for each step of a sequence, as observed; steps draw from them at random."},
	}
}

// readTiers reads a list of [from, to, drafts].
func readTiers(into *[]BatchTier, n *node) error {
	const form = "must be a list of [from, to, drafts]"
	if n.kind != list || len(n.items) == 0 {
		return fmt.Errorf("%s, got %s", form, n.kind)
	}
	*into = nil
	whole := field{limit: notNegative}
	for _, item := range n.items {
		if item.kind != list || len(item.items) != 3 {
			return fmt.Errorf("%s, got %s with %d values in it", form, item.kind, len(item.items))
		}
		var t BatchTier
		for i, v := range []*int{&t.From, &t.To, &t.Drafts} {
			if item.items[i].kind != scalar {
				return fmt.Errorf("%s of whole numbers, got %s", form, item.items[i].kind)
			}
			if err := whole.readScalar(v, item.items[i]); err != nil {
				return err
			}
		}
		*into = append(*into, t)
	}
	return nil
}

// show returns the value as it is written.
func (r Rates) show() any {
	if r.List {
		return r.Values
	}
	return r.Values[0]
}

func showTiers(tiers []BatchTier) any {
	var all [][]int
	for _, t := range tiers {
		all = append(all, []int{t.From, t.To, t.Drafts})
	}
	return all
}
