package scenarios

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A place says where a value came from: a position in a file, or the flag that set it.
type place struct {
	file         string
	line, column int
	origin       string // a flag, e.g. "--max-num-seqs"; it then stands for the position
	jointly      bool   // origin names all the flags that a mistake may follow from, none of which need be wrong
}

func (p place) String() string {
	switch {
	case p.origin != "":
		return p.origin
	case p.line == 0:
		return p.file
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column)
}

type kind uint8

const (
	null kind = iota
	scalar
	mapping
	list
)

func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping", "a list"}[k]
}

// A node is one value of a scenario and the place it came from. Scalars stay text: what they mean depends on the field
// that they are for, not on YAML's rules of resolution ("1e-05" is a string to some readers).
type node struct {
	kind   kind
	text   string // of a scalar
	quoted bool
	keys   []entry // of a mapping, in order
	items  []*node // of a list
	at     place
}

type entry struct {
	key   string
	at    place
	value *node
}

// find returns the value of a key, or nil.
func (n *node) find(key string) *node {
	for i := range n.keys {
		if n.keys[i].key == key {
			return n.keys[i].value
		}
	}
	return nil
}

// put sets the value of a key, in place or at the end.
func (n *node) put(e entry) {
	for i := range n.keys {
		if n.keys[i].key == e.key {
			n.keys[i] = e
			return
		}
	}
	n.keys = append(n.keys, e)
}

// maxNodes bounds a document after its aliases are expanded; a scenario has a few dozen.
const maxNodes = 20_000

// A planter turns a YAML syntax tree into nodes. It keeps the mistakes that are not mistakes to the parser.
type planter struct {
	file     string
	anchors  map[string]*node
	count    int
	mistakes Mistakes
}

func (p *planter) at(n ast.Node) place { return p.position(n.GetToken()) }

func (p *planter) position(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{file: p.file}
	}
	return place{file: p.file, line: t.Position.Line, column: t.Position.Column}
}

func (p *planter) fault(at place, path, format string, args ...any) {
	p.mistakes.add(at, path, format, args...)
}

// grow returns the node for n. A key without a value takes the place of its key, since YAML gives it none.
func (p *planter) grow(n ast.Node, path string) *node {
	p.count++
	if p.count > maxNodes {
		if p.count == maxNodes+1 {
			p.fault(place{file: p.file}, "", "too large: more than %d values", maxNodes)
		}
		return &node{at: place{file: p.file}}
	}
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		at := place{file: p.file}
		if n != nil {
			at = p.at(n)
		}
		return &node{at: at}
	case *ast.MappingNode:
		return p.growMapping(n, path)
	case *ast.MappingValueNode:
		return p.growMapping(&ast.MappingNode{Start: n.Start, Values: []*ast.MappingValueNode{n}}, path)
	case *ast.SequenceNode:
		m := &node{kind: list, at: p.at(n)}
		for i, v := range n.Values {
			m.items = append(m.items, p.grow(v, fmt.Sprintf("%s[%d]", path, i)))
		}
		return m
	case *ast.AnchorNode:
		m := p.grow(n.Value, path)
		p.anchors[n.Name.GetToken().Value] = m
		return m
	case *ast.AliasNode:
		return p.alias(n, path)
	case *ast.LiteralNode:
		return &node{kind: scalar, text: n.Value.Value, quoted: true, at: p.at(n)}
	case *ast.TagNode:
		p.fault(p.at(n), path, "YAML tags are not understood here, remove %s", n.GetToken().Value)
		return p.grow(n.Value, path)
	}
	t := n.GetToken()
	quoted := t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType
	return &node{kind: scalar, text: t.Value, quoted: quoted, at: p.at(n)}
}

func (p *planter) alias(n *ast.AliasNode, path string) *node {
	name := n.Value.GetToken().Value
	m := p.anchors[name]
	if m == nil {
		p.fault(p.at(n), path, "there is no anchor &%s before this", name)
		return &node{at: p.at(n)}
	}
	p.count += m.size()
	if p.count > maxNodes {
		return p.grow(nil, path)
	}
	return m.copy()
}

func (n *node) size() int {
	sum := 1
	for _, e := range n.keys {
		sum += e.value.size()
	}
	for _, v := range n.items {
		sum += v.size()
	}
	return sum
}

// copy returns a deep copy: a later Set must not reach through an alias into its anchor.
func (n *node) copy() *node {
	c := *n
	c.keys, c.items = nil, nil
	for _, e := range n.keys {
		c.keys = append(c.keys, entry{e.key, e.at, e.value.copy()})
	}
	for _, v := range n.items {
		c.items = append(c.items, v.copy())
	}
	return &c
}

func (p *planter) growMapping(n *ast.MappingNode, path string) *node {
	m := &node{kind: mapping, at: p.at(n)}
	if !n.IsFlowStyle && len(n.Values) > 0 {
		m.at = p.at(n.Values[0].Key) // the colon's position otherwise
	}
	first := make(map[string]place)
	var merged []*node
	for _, v := range n.Values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, p.grow(v.Value, path))
			continue
		}
		key, at := v.Key.GetToken().Value, p.at(v.Key)
		below := join(path, key)
		value := p.grow(v.Value, below)
		if value.kind == null {
			value.at = at
		}
		if was, dup := first[key]; dup {
			p.fault(at, below, "given twice, first in line %d", was.line)
			continue
		}
		first[key] = at
		m.keys = append(m.keys, entry{key, at, value})
	}
	for _, from := range merged {
		for _, e := range from.keys {
			if m.find(e.key) == nil {
				m.keys = append(m.keys, e)
			}
		}
	}
	return m
}

// join appends a key to a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// parent splits a dotted path into the section and its last key.
func parent(path string) (section, key string) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}
