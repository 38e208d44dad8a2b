package scheduler

import (
	"fmt"
	"strings"
)

// String names the state in lower case.
func (s State) String() string {
	names := [...]string{"waiting", "running", "preempted", "loading", "loaded", "swapped", "gone"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Describe writes the plan in one line, for tests and for people: the sequences in batch order, each with its tokens
// and the tokens it has already; + marks one just admitted, ! a row that yields a token, and -ID one that was preempted.
//
//	-2  0: 1@6000!  1: 2192@0+
//
// Behind a decode's token stand its drafts: "0: 1+3@6000!". A load of the KV of so many tokens is ID<tokens.
//
// Decodes that go unnamed follow as a number: "and 17 decodes".
func (p *Plan) Describe() string {
	var w strings.Builder
	sep := ""
	for _, s := range p.Preempted {
		fmt.Fprintf(&w, "%s-%d", sep, s.ID)
		sep = "  "
	}
	admitted := len(p.Work) - len(p.Admitted) // the admitted come last
	for i, k := range p.Work {
		fmt.Fprintf(&w, "%s%d: %d", sep, k.Seq.ID, k.Tokens-k.Drafts)
		if k.Drafts > 0 {
			fmt.Fprintf(&w, "+%d", k.Drafts)
		}
		fmt.Fprintf(&w, "@%d", k.Past)
		if i >= admitted {
			w.WriteByte('+')
		}
		if k.Samples {
			w.WriteByte('!')
		}
		sep = "  "
	}
	for _, l := range p.Loads {
		fmt.Fprintf(&w, "%s%d<%d", sep, l.Seq.ID, l.Tokens)
		sep = "  "
	}
	if p.Members > 0 {
		fmt.Fprintf(&w, "%sand %d decodes", sep, p.Members)
	}
	if w.Len() == 0 {
		return "empty"
	}
	return w.String()
}
