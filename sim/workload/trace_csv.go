package workload

import "bytes"

// A csv reads comma-separated lines by the names of their columns.
type csv struct {
	*lines
	header [][]byte
	fields [][]byte // of the current line
	space  []byte   // where quoted fields are unquoted
}

// newCSV takes the current line as the header.
func newCSV(in *lines) (*csv, error) {
	c := &csv{lines: in}
	if err := c.split(); err != nil {
		return nil, err
	}
	for _, f := range c.fields {
		c.header = append(c.header, bytes.Clone(f))
	}
	return c, nil
}

// column returns the place of a column, -1 if the file does not have it.
func (c *csv) column(name string) int {
	for i, h := range c.header {
		if string(h) == name {
			return i
		}
	}
	return -1
}

// columns returns the places of columns that the file must have.
func (c *csv) columns(names ...string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = c.column(name); at[i] < 0 {
			return nil, c.fail(name, "is missing from the header %.200q", bytes.Join(c.header, []byte(",")))
		}
	}
	return at, nil
}

// row splits the next line; it reports false at the end of the file.
func (c *csv) row() (bool, error) {
	if !c.next() {
		return false, nil
	}
	if err := c.split(); err != nil {
		return false, err
	}
	if got, want := len(c.fields), len(c.header); got != want {
		missing := ""
		if got < want {
			missing = string(c.header[got])
		}
		return false, c.fail(missing, "the row has %d fields and the header %d: is the file truncated?", got, want)
	}
	return true, nil
}

// split cuts the current line into fields; quotes around a field protect its commas.
func (c *csv) split() error {
	c.fields, c.space = c.fields[:0], c.space[:0]
	for rest := c.text; ; {
		if len(rest) > 0 && rest[0] == '"' {
			field, after, ok := c.unquote(rest[1:])
			if !ok {
				return c.fail("", "a quote is not closed, or something follows it: is the file truncated?")
			}
			c.fields = append(c.fields, field)
			if len(after) == 0 {
				return nil
			}
			rest = after[1:]
			continue
		}
		comma := bytes.IndexByte(rest, ',')
		if comma < 0 {
			c.fields = append(c.fields, bytes.TrimSpace(rest))
			return nil
		}
		c.fields = append(c.fields, bytes.TrimSpace(rest[:comma]))
		rest = rest[comma+1:]
	}
}

// unquote reads up to the closing quote, after which a comma or nothing must follow. Two quotes stand for one.
func (c *csv) unquote(b []byte) (field, after []byte, ok bool) {
	start := len(c.space)
	for {
		quote := bytes.IndexByte(b, '"')
		if quote < 0 {
			return nil, nil, false
		}
		c.space = append(c.space, b[:quote]...)
		b = b[quote+1:]
		if len(b) == 0 || b[0] == ',' {
			return c.space[start:len(c.space):len(c.space)], b, true
		}
		if b[0] != '"' {
			return nil, nil, false
		}
		c.space = append(c.space, '"')
		b = b[1:]
	}
}
