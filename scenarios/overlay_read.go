package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// OpenOverlay reads the file of an overlay.
func OpenOverlay(path string) (*Overlay, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w (servesim calibrate writes such a file)", path, unwrapPath(err))
	}
	return ReadOverlay(path, src)
}

// ReadOverlay reads an overlay; file is its name in messages. The error, when there is one, holds every independent
// mistake.
func ReadOverlay(file string, src []byte) (*Overlay, error) {
	if len(src) > maxFile {
		return nil, fmt.Errorf("%s: too large for a profile: %d bytes, at most %d", file, len(src), maxFile)
	}
	root, found, err := parse(file, src)
	if err != nil {
		return nil, err
	}
	o := &Overlay{Constants: NoConstants(), file: file}
	r := overlayReader{o, slices.Clone(found)}
	r.mapping(root, "", []string{"name", "engine_profile", "gpu", "model", "weights", "tensor_parallel_size", "pipeline_parallel_size", "constants", "fitted", "provenance"}, r.top)
	if o.Constants.none() && len(r.mistakes) == 0 {
		r.mistakes.add(root.at, "constants", "must give at least one of %s", strings.Join(constantNames[:], ", "))
	}
	return o, r.mistakes.err()
}

// An overlayReader fills an Overlay from a tree.
type overlayReader struct {
	o        *Overlay
	mistakes Mistakes
}

// mapping hands each known key of a mapping on.
func (r *overlayReader) mapping(n *node, path string, known []string, key func(key string, n *node) error) {
	if n.kind != mapping {
		r.mistakes.add(n.at, path, "must be a mapping with the keys %s; got %s", strings.Join(known, ", "), n.kind)
		return
	}
	for _, e := range n.keys {
		at := join(path, e.key)
		if !slices.Contains(known, e.key) {
			hint := didYouMean(e.key, known)
			if hint == "" {
				hint = ", allowed are " + strings.Join(known, ", ")
			}
			r.mistakes.add(e.at, at, "unknown key%s", hint)
			continue
		}
		if e.value.kind == null {
			continue
		}
		if err := key(e.key, e.value); err != nil {
			r.mistakes.add(e.value.at, at, "%v", err)
		}
	}
}

func (r *overlayReader) top(key string, n *node) error {
	o := r.o
	switch key {
	case "constants":
		r.mapping(n, key, constantNames[:], r.constant)
		return nil
	case "fitted":
		r.mapping(n, key, []string{"results", "requests", "prompt_tokens", "output_tokens"}, r.fitted)
		return nil
	case "provenance":
		r.mapping(n, key, []string{"results", "error_before_pct", "error_after_pct", "leave_one_out_pct"}, r.provenance)
		return nil
	case "engine_profile":
		f := field{choices: profileNames()}
		return single(&f, &o.EngineProfile, n)
	case "tensor_parallel_size":
		return single(&field{limit: atLeastOne}, &o.TensorParallel, n)
	case "pipeline_parallel_size":
		return single(&field{limit: atLeastOne}, &o.PipelinePar, n)
	}
	into := map[string]*string{"name": &o.Name, "gpu": &o.GPU, "model": &o.Model, "weights": &o.Weights}[key]
	return single(&field{}, into, n)
}

func (r *overlayReader) constant(key string, n *node) error {
	i := Constant(slices.Index(constantNames[:], key))
	if n.kind != scalar {
		return fmt.Errorf("must be a single value, got %s", n.kind)
	}
	v, err := i.read(n)
	if err == nil {
		r.o.Constants[i] = v
	}
	return err
}

func (r *overlayReader) fitted(key string, n *node) error {
	f := &r.o.Fitted
	switch key {
	case "results":
		return single(&field{limit: atLeastOne}, &f.Results, n)
	case "requests":
		return f.Requests.read(n)
	case "prompt_tokens":
		return f.PromptTokens.read(n)
	}
	return f.OutputTokens.read(n)
}

func (s *Span) read(n *node) error {
	if n.kind != list || len(n.items) != 2 {
		return fmt.Errorf("must be a list of the least and the greatest value, such as [1, 64]")
	}
	for i, v := range n.items {
		if err := single(&field{limit: notNegative}, &s[i], v); err != nil {
			return err
		}
	}
	if s[0] > s[1] {
		return fmt.Errorf("must ascend, got %g before %g", s[0], s[1])
	}
	return nil
}

func (r *overlayReader) provenance(key string, n *node) error {
	o := r.o
	switch key {
	case "error_before_pct":
		return single(&field{limit: notNegative}, &o.ErrorBeforePct, n)
	case "error_after_pct":
		return single(&field{limit: notNegative}, &o.ErrorAfterPct, n)
	case "leave_one_out_pct":
		return single(&field{limit: notNegative}, &o.LeaveOneOutPct, n)
	}
	if n.kind != list {
		return fmt.Errorf("must be a list of file names, got %s", n.kind)
	}
	for _, v := range n.items {
		o.Source = append(o.Source, v.text)
	}
	return nil
}

// single reads a value that must not be a mapping or a list.
func single(f *field, into any, n *node) error {
	if n.kind != scalar {
		return fmt.Errorf("must be a single value, got %s", n.kind)
	}
	return f.readScalar(into, n)
}

// read reads what Format writes.
func (c Constant) read(n *node) (float64, error) {
	var f field
	switch c {
	case ExposedBase, ExposedPerSeq, FrontendLatency:
		var d time.Duration
		f.limit = limit{"lie between 0s and 10s", func(v float64) bool { return v >= 0 && v <= 10e9 }}
		err := f.readScalar(&d, n)
		return d.Seconds(), err
	case KVBlocks:
		var blocks int
		f.limit = limit{"be at least 2", func(v float64) bool { return v >= 2 }}
		err := f.readScalar(&blocks, n)
		return float64(blocks), err
	}
	var v float64
	f.limit = limit{"lie between 0.1 and 2", func(v float64) bool { return v >= 0.1 && v <= 2 }}
	err := f.readScalar(&v, n)
	return v, err
}
