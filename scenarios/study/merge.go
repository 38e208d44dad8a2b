package study

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Part is a file of lines: what one shard wrote, or several.
type Part struct {
	Name string // in messages
	File io.ReaderAt
	Size int64
}

// Merge writes the lines of all parts in the order of the study: the bytes that one machine would have written. It
// checks first that the parts belong to one study and that every run is there once, and writes nothing otherwise.
// failed holds the errors of the runs that failed; they are lines like the others.
func Merge(w io.Writer, parts []Part) (failed []string, err error) {
	m := merger{parts: parts}
	for i := range parts {
		if err := m.read(i); err != nil {
			return nil, err
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	for _, at := range m.places {
		if _, err := io.Copy(out, io.NewSectionReader(parts[at.part].File, at.from, at.size)); err != nil {
			return nil, fmt.Errorf("%s: %w", parts[at.part].Name, err)
		}
	}
	slices.SortFunc(m.failed, func(a, b failure) int { return cmp.Compare(a.index, b.index) })
	for _, f := range m.failed {
		failed = append(failed, f.text)
	}
	return failed, out.Flush()
}

// A place is where a line stands: 24 bytes a run, since the lines themselves may be more than fits into memory.
type place struct {
	from, size int64 // size 0: the run is missing
	part       int
}

type merger struct {
	parts  []Part
	study  string
	first  string  // the part that named the study
	places []place // by run
	twice  []string
	failed []failure
}

// A failure is the error of a run that could not be played.
type failure struct {
	index int
	text  string
}

// read notes where each line of a part stands.
func (m *merger) read(part int) error {
	p := &m.parts[part]
	lines := bufio.NewReaderSize(io.NewSectionReader(p.File, 0, p.Size), 1<<16)
	at := place{part: part}
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		at.size = int64(len(text))
		if !bytes.HasSuffix(text, []byte("\n")) {
			return fmt.Errorf("%s:%d: the last line is cut off: the run was interrupted; play this shard again", p.Name, n)
		}
		if err := m.line(text, at); err != nil {
			return fmt.Errorf("%s:%d: %w", p.Name, n, err)
		}
		at.from += at.size
	}
}

// maxRuns bounds what a line may claim, so that a damaged one cannot exhaust the memory.
const maxRuns = 10_000_000

// line notes where the line of one run stands.
func (m *merger) line(text []byte, at place) error {
	var l struct {
		Study string
		Index int
		Runs  int
		Name  string
		Error string
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("is not a line of `servesim runs`: %w", err)
	}
	if l.Study == "" || l.Runs < 1 || l.Runs > maxRuns || l.Index < 0 || l.Index >= l.Runs {
		return errors.New("is not a line of `servesim runs`: it does not say which run of which study it is")
	}
	if m.study == "" {
		m.study, m.first, m.places = l.Study, m.parts[at.part].Name, make([]place, l.Runs)
	}
	if l.Study != m.study || l.Runs != len(m.places) {
		return fmt.Errorf("belongs to another study (%s, %d runs) than %s (%s, %d runs): "+
			"all shards need the same scenarios, flags and version of servesim", l.Study, l.Runs, m.first, m.study, len(m.places))
	}
	if old := &m.places[l.Index]; old.size > 0 {
		m.twice = append(m.twice, fmt.Sprintf("run %d (%s) is in %s and in %s", l.Index, l.Name, m.parts[old.part].Name, m.parts[at.part].Name))
	}
	m.places[l.Index] = at
	if l.Error != "" {
		m.failed = append(m.failed, failure{l.Index, l.Error})
	}
	return nil
}

// shown bounds how many runs an error names.
const shown = 8

// check reports what is there twice or not at all.
func (m *merger) check() error {
	if m.study == "" {
		return errors.New("there is no run in these files")
	}
	var missing []string
	for i := range m.places {
		if m.places[i].size == 0 {
			missing = append(missing, fmt.Sprint(i))
		}
	}
	var faults []error
	if len(m.twice) > 0 {
		faults = append(faults, errors.New(some(m.twice, "; ")+": give each shard once"))
	}
	if len(missing) > 0 {
		faults = append(faults, fmt.Errorf("%d of %d runs are missing: %s: give the files of all shards, or play the missing one", len(missing), len(m.places), some(missing, ", ")))
	}
	return errors.Join(faults...)
}

// some lists the first few.
func some(list []string, separator string) string {
	if len(list) <= shown {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], separator), len(list)-shown)
}
