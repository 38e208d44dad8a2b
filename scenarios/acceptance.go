package scenarios

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/servesim/servesim/sim/engine"
)

// How often drafts are right: as given, as observed, or as assumed of a method.

// acceptanceOf returns what is assumed of a method where the scenario says nothing: the chance that the draft at each of
// n places, and all before it, are right.
func acceptanceOf(method string, n int) (rates []float64, source string) {
	first, further := 0.0, 0.0
	switch method {
	case "eagle":
		first, further, source = 0.6, 0.6, "EAGLE for Llama 3.1 8B on MT-bench under vLLM: 1.63 tokens a step with one draft, 2.18 with 32 (vLLM #24343)"
	case "eagle3":
		first, further, source = 0.7, 0.7, "published EAGLE-3 heads of Llama 3: 2.8 (MT-bench) to 3.5 (HumanEval) tokens a step with 7 drafts"
	case "mtp":
		first, further, source = 0.85, 0.6, "DeepSeek-V3: 85 to 90 % for one draft (technical report), 3.1 tokens a step with 7"
	case ngram:
		first, further, source = 0.3, 0.7, "a guess: it depends on how much of an answer repeats its prompt"
	case draftModel:
		first, further, source = 0.7, 0.7, "0.5 to 0.9 (Leviathan et al., 2023); .65 in logs of vLLM #7540"
	}
	rates = make([]float64, n)
	for i := range rates {
		rates[i] = math.Round(first*1e4) / 1e4
		first *= further
	}
	return rates, source
}

// acceptance checks the acceptance, or fills in what is assumed of the method.
func (x *deployment) acceptance(wrong func(key, format string, args ...any)) {
	c := &x.s.Engine.SpeculativeConfig
	n, a := c.NumSpeculativeTokens, &c.Acceptance
	switch {
	case c.AcceptanceTrace != "" && len(a.Values) > 0:
		wrong("acceptance", "is given twice, acceptance_trace being the other one; leave out one of them")
	case c.AcceptanceTrace != "":
		var err error
		if x.lengths, err = x.s.readLengths(); err != nil {
			wrong("acceptance_trace", "%v", err)
		}
	case len(a.Values) == 0:
		var source string
		a.Values, source = acceptanceOf(c.Method, n)
		a.List, a.Assumed = true, true
		x.note(fmt.Sprintf("the acceptance of %s drafts was not given and is assumed: %v by position (%s); it depends on model, text and temperature, so measure yours", c.Method, a.short(), source))
	case a.List && len(a.Values) != n:
		wrong("acceptance", "must be one number, or one for each of the %d drafts, got %d", n, len(a.Values))
	default:
		for i := 1; i < len(a.Values); i++ {
			if a.Values[i] > a.Values[i-1] {
				wrong("acceptance", "must not rise from draft to draft, since a draft counts only if all before it were right; got %g after %g", a.Values[i], a.Values[i-1])
				return
			}
		}
	}
}

// short returns the values with two digits.
func (r Rates) short() []string {
	var list []string
	for _, v := range r.Values {
		list = append(list, strconv.FormatFloat(v, 'f', 2, 64))
	}
	return list
}

// byPosition returns the chance that the first i drafts are all right, for each of n: a single number a means aⁱ.
func (r Rates) byPosition(n int) []float64 {
	if r.List {
		return r.Values
	}
	rates, all := make([]float64, n), 1.0
	for i := range rates {
		all *= r.Values[0]
		rates[i] = all
	}
	return rates
}

// mostLengths bounds a trace of accepted lengths.
const mostLengths = 1 << 20

// readLengths reads the trace of accepted lengths: whole numbers between blanks, commas or line ends; # begins a remark.
func (s *Scenario) readLengths() ([]int32, error) {
	c := &s.Engine.SpeculativeConfig
	typed := c.AcceptanceTrace
	c.AcceptanceTrace = s.resolvePath(speculative+".acceptance_trace", typed)
	text, err := os.ReadFile(c.AcceptanceTrace)
	if err != nil {
		return nil, errors.New(typed + ": cannot be read: " + unwrapPath(err).Error())
	}
	var lengths []int32
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) }) {
			n, err := strconv.ParseUint(word, 10, 16)
			if err != nil || len(lengths) >= mostLengths {
				return nil, contentError{fmt.Errorf("%s:%d: must be numbers of accepted drafts, at most %d of them, got %q", typed, number, mostLengths, word)}
			}
			lengths = append(lengths, int32(n))
		}
	}
	if len(lengths) == 0 {
		return nil, contentError{errors.New(typed + ": holds no number of accepted drafts")}
	}
	return lengths, nil
}

// accepts returns what the engine must know of drafts, or nil when there are none.
func (x *deployment) accepts() *engine.Acceptance {
	c := &x.s.Engine.SpeculativeConfig
	switch {
	case !x.s.speculates():
		return nil
	case len(x.lengths) > 0:
		return &engine.Acceptance{Lengths: x.lengths}
	}
	return &engine.Acceptance{Rates: c.Acceptance.byPosition(c.NumSpeculativeTokens)}
}
