package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// YAML returns the overlay as a file that ReadOverlay reads.
func (o *Overlay) YAML() []byte {
	var b strings.Builder
	line := func(indent, key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, key, value)
		}
	}
	b.WriteString("# Constants of one machine, fitted to measurements of it by servesim calibrate.\n# To use them: servesim run --profile FILE\n")
	line("", "name", quoteYAML(o.Name))
	line("", "engine_profile", o.EngineProfile)
	line("", "gpu", quoteYAML(o.GPU))
	line("", "model", quoteYAML(o.Model))
	line("", "weights", o.Weights)
	line("", "tensor_parallel_size", positiveText(o.TensorParallel))
	line("", "pipeline_parallel_size", positiveText(o.PipelinePar))
	b.WriteString("constants:\n")
	for i := range o.Constants {
		if c := Constant(i); o.Constants.has(c) {
			line("  ", c.String(), c.Format(o.Constants[i]))
		}
	}
	if f := o.Fitted; f.Results > 0 {
		b.WriteString("fitted: # outside this range of loads the constants are a guess, and run says so\n")
		line("  ", "results", strconv.Itoa(f.Results))
		line("  ", "requests", f.Requests.yaml())
		line("  ", "prompt_tokens", f.PromptTokens.yaml())
		line("  ", "output_tokens", f.OutputTokens.yaml())
	}
	if len(o.Source) > 0 || o.ErrorAfterPct > 0 {
		b.WriteString("provenance:\n")
		line("  ", "error_before_pct", percentText(o.ErrorBeforePct))
		line("  ", "error_after_pct", percentText(o.ErrorAfterPct))
		line("  ", "leave_one_out_pct", percentText(o.LeaveOneOutPct))
		b.WriteString("  results:\n")
		for _, s := range o.Source {
			fmt.Fprintf(&b, "    - %s\n", quoteYAML(s))
		}
	}
	return []byte(b.String())
}

func (s Span) yaml() string {
	if s == (Span{}) {
		return ""
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	return "[" + short(s[0]) + ", " + short(s[1]) + "]"
}

func positiveText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// percentText writes an error that is known; however small, it is not written as 0, which would mean that it is not.
func percentText(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(max(v, 0.1), 'f', 1, 64)
}

// quoteYAML writes text so that every reader takes it for text.
func quoteYAML(s string) string {
	if s == "" {
		return ""
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
