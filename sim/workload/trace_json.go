package workload

import "bytes"

// An object walks over the members of one JSON object on one line, without building anything:
//
//	for o.next() { switch string(o.key) { case "x": o.scalar() … default: o.skip() } }
//
// After the walk, broken says whether the text was a whole object.
type object struct {
	rest            []byte
	key             []byte
	started, broken bool
	inArray         bool
}

// next goes to the next member and reports whether there is one; its value must then be read.
func (o *object) next() bool {
	if !o.started {
		o.started = true
		o.expect('{')
		if o.found('}') {
			return o.finish()
		}
	} else if !o.found(',') {
		o.expect('}')
		return o.finish()
	}
	o.key = o.text()
	o.expect(':')
	return !o.broken
}

func (o *object) finish() bool {
	o.broken = o.broken || len(bytes.TrimSpace(o.rest)) > 0
	return false
}

// element goes to the next element of an array and reports whether there is one.
func (o *object) element() bool {
	if !o.inArray {
		o.expect('[')
		o.inArray = !o.found(']')
		return o.inArray && !o.broken
	}
	if o.found(',') {
		return !o.broken
	}
	o.inArray = false
	o.expect(']')
	return false
}

// scalar reads a number, a string (without its quotes), true, false or null.
func (o *object) scalar() []byte {
	if o.space(); len(o.rest) > 0 && o.rest[0] == '"' {
		return o.text()
	}
	n := 0
	for n < len(o.rest) && scalarByte(o.rest[n]) {
		n++
	}
	b := o.rest[:n]
	o.rest = o.rest[n:]
	o.broken = o.broken || n == 0 || len(o.rest) == 0 // an object always goes on after a value
	return b
}

// digits reads a number that is nothing but digits, 18 at most and so below 2^60, and is not the last of the text. If something
// else comes next, it reads nothing and returns false: that is for scalar.
func (o *object) digits() (n int64, ok bool) {
	o.space()
	for i, c := range o.rest[:min(19, len(o.rest))] {
		if c < '0' || c > '9' {
			if i == 0 || scalarByte(c) {
				return 0, false
			}
			o.rest = o.rest[i:]
			return n, true
		}
		n = n*10 + int64(c-'0')
	}
	return 0, false
}

func scalarByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// text reads a string; escapes are left as they are.
func (o *object) text() []byte {
	o.expect('"')
	for i := 0; i < len(o.rest); i++ {
		switch o.rest[i] {
		case '\\':
			i++
		case '"':
			b := o.rest[:i]
			o.rest = o.rest[i+1:]
			return b
		}
	}
	o.broken = true
	return nil
}

// skip passes over a value of any kind.
func (o *object) skip() {
	for depth := 0; !o.broken; {
		o.space()
		if len(o.rest) == 0 {
			o.broken = true
			return
		}
		switch o.rest[0] {
		case '{', '[':
			depth++
			o.rest = o.rest[1:]
		case '}', ']':
			depth--
			o.rest = o.rest[1:]
		case ',', ':':
			if depth == 0 {
				o.broken = true
				return
			}
			o.rest = o.rest[1:]
			continue
		default:
			o.scalar()
		}
		if depth <= 0 {
			o.broken = o.broken || depth < 0
			return
		}
	}
}

func (o *object) space() {
	for len(o.rest) > 0 && (o.rest[0] == ' ' || o.rest[0] == '\t') {
		o.rest = o.rest[1:]
	}
}

// found passes over c if it comes next, and reports whether it did.
func (o *object) found(c byte) bool {
	o.space()
	if len(o.rest) > 0 && o.rest[0] == c {
		o.rest = o.rest[1:]
		return true
	}
	return false
}

func (o *object) expect(c byte) {
	if !o.found(c) {
		o.broken = true
	}
}
