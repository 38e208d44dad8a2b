package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/servesim/servesim/scenarios"
)

// Lines writes the outcomes of a study as JSON lines, one a run. Each line says for itself where it belongs: the
// fingerprint of the study, the run's index and how many runs there are. So the lines of a shard are lines of the whole
// study, and any file of them can be checked.
type Lines struct {
	w     io.Writer
	study string
	runs  int
}

// A line is one run in a file. The report of a failed run is missing.
type line struct {
	Study string            `json:"study"`
	Index int               `json:"index"`
	Runs  int               `json:"runs"`
	Name  string            `json:"name"`
	Error string            `json:"error,omitempty"`
	Run   *scenarios.Result `json:"report,omitempty"`
}

// NewLines returns a writer for outcomes of these runs under these options. Each outcome is one call of w's Write.
func NewLines(w io.Writer, runs []Run, o Options) *Lines {
	return &Lines{w, fingerprint(runs, &o), len(runs)}
}

// Write writes one outcome. It is what [Each] may be given.
func (l *Lines) Write(out Outcome) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	row := line{Study: l.study, Index: out.Index, Runs: l.runs, Name: out.Name, Run: out.Result}
	if out.Err != nil {
		row.Error = out.Err.Error()
	}
	if err := e.Encode(row); err != nil {
		return fmt.Errorf("run %d (%s) cannot be written: %w", out.Index, out.Name, err)
	}
	_, err := l.w.Write(b.Bytes())
	return err
}

// fingerprint tells studies apart: it covers the program's version, every run's name, seed and resolved
// configuration, what the configuration means here (the numbers of GPU and model, the size of the trace), and what the
// runs are asked for. The shard is no part of it.
func fingerprint(runs []Run, o *Options) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %v %v\n", scenarios.Version, o.Percentiles, o.PerToken)
	known := make(map[*scenarios.Experiment]int)
	for i := range runs {
		r := &runs[i]
		at, ok := known[r.Experiment]
		if !ok {
			at = len(known)
			known[r.Experiment] = at
			describe(h, r.Experiment)
		}
		fmt.Fprintf(h, "%q %d %d\n", r.Name, r.Seed, at)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func describe(w io.Writer, x *scenarios.Experiment) {
	w.Write(x.Scenario.Map().JSON())
	fmt.Fprintf(w, "%+v\n", x.Deployment)
	if t := x.Workload.Trace; t != nil {
		fmt.Fprintf(w, "%d requests until %d\n", t.Len(), t.Span())
	}
}
