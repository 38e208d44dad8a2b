package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds a scenario file: a scenario is written by hand, and a trace belongs in a file of its own.
const maxFile = 1 << 20

// A Document is a scenario file as it was written, with the position of every value, and open to changes by flags.
type Document struct {
	file string
	dir  string
	root *node
	// shipped: an embedded scenario, whose bounds suit its own model and load
	shipped bool
	// found holds what is wrong with the text itself but does not keep it from being read, such as a key given twice.
	found Mistakes
}

// An OpenError says that there is no scenario of a name, or that its file cannot be opened: the fault of the name, not of
// anything written in a file.
type OpenError struct{ text string }

// Error returns the text.
func (e *OpenError) Error() string { return e.text }

func openErrorf(format string, args ...any) error { return &OpenError{fmt.Sprintf(format, args...)} }

// Open reads an embedded scenario by its name, or a file by its path. The error is an *OpenError when there is no text to
// read.
func Open(nameOrPath string) (*Document, error) {
	if src, ok := embedded(nameOrPath); ok {
		d, err := Parse(nameOrPath+".yaml", src)
		if err == nil {
			d.shipped = true
		}
		return d, err
	}
	src, err := os.ReadFile(nameOrPath)
	if err != nil {
		return nil, openError(nameOrPath, err)
	}
	d, err := Parse(nameOrPath, src)
	if err == nil {
		d.dir = filepath.Dir(nameOrPath)
	}
	return d, err
}

// openError says why there is no such scenario, and which one may have been meant.
func openError(name string, err error) error {
	if !errors.Is(err, os.ErrNotExist) {
		return openErrorf("%s: cannot be read: %v", name, unwrapPath(err))
	}
	var names []string
	for _, e := range Names() {
		names = append(names, e.Name)
	}
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	near := didYouMean(stem, names)
	if dir := filepath.Dir(name); near == "" {
		if files := Nearest(filepath.Base(name), siblings(dir)); len(files) > 0 {
			near = ", did you mean " + filepath.Join(dir, files[0]) + "?"
		}
	}
	if near == "" {
		near = " (embedded: " + strings.Join(names, ", ") + ")"
	}
	return openErrorf("%s: there is no such scenario or file%s", name, near)
}

// unwrapPath drops the path that the os package puts in front, since our message begins with it.
func unwrapPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func siblings(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Parse reads the text of a scenario; file is its name in messages. JSON is read too, since it is YAML.
func Parse(file string, src []byte) (*Document, error) {
	d := &Document{file: file}
	if len(src) > maxFile {
		return nil, fmt.Errorf("%s: too large for a scenario: %d bytes, at most %d", file, len(src), maxFile)
	}
	root, found, err := parse(file, src)
	if err != nil {
		return nil, err
	}
	if root.kind == null {
		root = &node{kind: mapping, at: place{file: file}}
	}
	d.root, d.found = root, found
	return d, nil
}

// parse turns YAML into nodes. The library's parser is not proof against every input, so that a panic in it becomes an
// error about the text.
func parse(file string, src []byte) (root *node, found Mistakes, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: is not YAML that can be read (%v)", file, r)
		}
	}()
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // a byte-order mark, as editors on Windows write it
	if err := tooDeep(file, src); err != nil {
		return nil, nil, err
	}
	tree, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, syntaxError(file, err)
	}
	p := &planter{file: file, anchors: make(map[string]*node)}
	root = &node{at: place{file: file}}
	for i, doc := range tree.Docs {
		if i > 0 && doc.Body != nil {
			p.fault(p.at(doc.Body), "", "a scenario file holds one document, this is another")
			break
		}
		root = p.grow(doc.Body, "")
	}
	return root, p.mistakes, nil
}

// maxDepth bounds how deep brackets nest: the library's parser recurses, and a scenario needs four levels.
const maxDepth = 100

// tooDeep refuses a text whose brackets nest deeper than maxDepth. Brackets within quotes and comments count too, which
// only makes it stricter than it has to be.
func tooDeep(file string, src []byte) error {
	depth, at := 0, place{file: file, line: 1}
	for _, c := range src {
		at.column++
		switch c {
		case '\n':
			at.line, at.column = at.line+1, 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxDepth {
			var m Mistakes
			m.add(at, "", "brackets nest more than %d deep", maxDepth)
			return m
		}
	}
	return nil
}

// syntaxError gives the parser's complaint the form of the other mistakes.
func syntaxError(file string, err error) error {
	var m Mistakes
	at := place{file: file}
	text := err.Error()
	var located yaml.Error
	if errors.As(err, &located) {
		text = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			at.line, at.column = t.Position.Line, t.Position.Column
		}
	}
	m.add(at, "", "%s", strings.TrimSpace(text))
	return m
}

// Set gives the field or section of this path a new value, as a flag does. The value is YAML; origin is the flag, for
// messages about the value. Sections that are missing on the way are made, and a single value that stands for a section
// becomes a key of it: after `scheduler: static`, setting scheduler.max_batch keeps the name.
func (d *Document) Set(path, value, origin string) error {
	if fieldAt(path) == nil && sectionAt(path) == nil {
		var m Mistakes
		m.add(place{origin: origin}, path, "unknown field%s", unknownPath(path))
		return m
	}
	if strings.TrimSpace(value) == "" {
		var m Mistakes
		m.add(place{origin: origin}, path, "needs a value, got nothing; leave it out for the scenario's own")
		return m
	}
	v, err := flagValue(path, value, origin)
	if err != nil {
		return err
	}
	at := place{origin: origin}
	keys := strings.Split(path, ".")
	n := d.root
	for i, key := range keys[:len(keys)-1] {
		below := n.find(key)
		if below == nil || below.kind != mapping {
			below = spread(below, strings.Join(keys[:i+1], "."), at)
			n.put(entry{key, below.at, below})
		}
		n = below
	}
	last := keys[len(keys)-1]
	n.put(entry{last, at, v})
	return nil
}

// Replace gives a whole section a new value; nothing of what it held before stays. It is Set under the name that says
// so.
func (d *Document) Replace(path, value, origin string) error { return d.Set(path, value, origin) }

// spread makes a mapping of what stood in place of one.
func spread(n *node, path string, at place) *node {
	m := &node{kind: mapping, at: at}
	if sec := sectionAt(path); n != nil && n.kind == scalar && sec != nil && sec.short != "" {
		m.at = n.at
		m.keys = []entry{{sec.short, n.at, n}}
	}
	return m
}

// flagValue parses the value of a flag. Text for a field of text is taken as it is: file names may hold anything.
func flagValue(path, value, origin string) (*node, error) {
	at := place{origin: origin}
	if f := fieldAt(path); f != nil && f.into != nil {
		if _, text := f.into(&Scenario{}).(*string); text {
			return &node{kind: scalar, text: value, at: at}, nil
		}
	}
	n, found, err := parse(origin, []byte(value))
	if err == nil {
		err = found.err()
	}
	if err != nil {
		var m Mistakes
		m.add(at, path, "%q cannot be read as a value", value)
		return nil, m
	}
	n.stamp(at)
	return n, nil
}

// stamp gives a whole tree one origin.
func (n *node) stamp(at place) {
	n.at = at
	for i := range n.keys {
		n.keys[i].at = at
		n.keys[i].value.stamp(at)
	}
	for _, v := range n.items {
		v.stamp(at)
	}
}

// unknownPath suggests a path in place of one that does not exist.
func unknownPath(path string) string {
	var all []string
	for i := range fields {
		if !fields[i].removed {
			all = append(all, fields[i].path)
		}
	}
	dashed := strings.ReplaceAll(path, "-", "_")
	if near := didYouMean(dashed, all); near != "" {
		return near
	}
	return unknownKey(dashed)
}

// Scenario reads and checks the whole document. The error, when there is one, is of type Mistakes and holds every
// independent mistake.
func (d *Document) Scenario() (*Scenario, error) {
	s := &Scenario{dir: d.dir, set: make(map[string]place), top: place{file: d.file}}
	r := &reader{s: s, mistakes: slices.Clone(d.found)}
	for i := range fields {
		r.def(&fields[i])
	}
	r.section(d.root, "")
	if d.shipped {
		s.unbind()
	}
	r.defaults()
	r.groups()
	r.pools()
	r.autoscale()
	r.meaning()
	if err := r.mistakes.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// unbind lets another model, or a trace, than a shipped scenario is made for have the longest sequences that fit: the
// scenario's own bound suits what it ships with. A bound that a flag gives stays.
func (s *Scenario) unbind() {
	const bound = "engine.max_model_len"
	if at, given := s.set[bound]; !given || at.origin != "" || s.flags("model", "workload.arrivals.file") == "" {
		return
	}
	delete(s.set, bound)
	s.Engine.MaxModelLen = longestThatFits
}
