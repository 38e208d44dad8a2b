package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// Trace is a recorded workload, read by [ReadTrace]. It never changes, so many runs may replay it at once.
type Trace struct {
	Name    string
	Format  string // azure, mooncake or servesim
	Skipped Skipped
	Notes   []string // what was changed to make it a workload

	rows []row // in the order of arrival
	runs []kvcache.Run
	tags []tag // only the servesim format has them
}

// Skipped tells of rows that no server could serve.
type Skipped struct {
	Count int
	Line  int    // of the first
	Why   string // of the first
}

// A row is one request: 32 bytes, since traces have millions of them.
type row struct {
	at             sim.Time
	tokens, output int32
	from, runs     int32 // its prompt is runs[from : from+runs] of the trace; runs 0: nothing is known of it
	tag            int32 // index into the trace's tags
}

// A tag is what a servesim row has beyond a row.
type tag struct {
	id              int64
	max             int32
	priority, class int32
	client, session int32
	timeout         time.Duration
	answer          uint64
	hasAnswer       bool
}

// Clients reports whether the trace tells clients apart. A nil trace does not.
func (t *Trace) Clients() bool {
	return t != nil && slices.ContainsFunc(t.tags, func(g tag) bool { return g.client != t.tags[0].client })
}

// Len returns the number of requests.
func (t *Trace) Len() int { return len(t.rows) }

// Span returns the instant at which the last request arrives, at the trace's own speed.
func (t *Trace) Span() sim.Time { return t.rows[len(t.rows)-1].at }

// Warnings returns what a reader of the results should know about the trace.
func (t *Trace) Warnings() []string {
	w := slices.Clone(t.Notes)
	if s := t.Skipped; s.Count > 0 {
		w = append(w, fmt.Sprintf("%s: skipped %d of %d rows that cannot be served, the first in line %d: %s",
			t.Name, s.Count, s.Count+len(t.rows), s.Line, s.Why))
	}
	return w
}

// first returns how many requests the first n rows are; n 0 means all.
func (t *Trace) first(n int) int {
	if n <= 0 {
		return len(t.rows)
	}
	return min(n, len(t.rows))
}

// maxLine is the longest line that a reader accepts. The longest of the public traces has 2 KB.
const maxLine = 1 << 20

// ReadTrace reads a recorded workload: the Azure LLM inference trace of 2023 or 2024 (format "azure"), a Mooncake trace
// ("mooncake"), or the requests of an earlier run ("servesim", see [RequestColumns]). Format "" finds out by looking at
// the first line. The name stands in messages only.
//
// Rows without prompt or output tokens cannot be served and are skipped and counted; rows that cannot be understood
// are errors. Rows are put in the order of their arrival, those of one instant in the order of the file, or of their id
// if they have one. Dates and seconds since 1970 are shifted so that the first request arrives at instant zero.
func ReadTrace(name string, r io.Reader, format string) (*Trace, error) {
	in := &lines{name: name, scan: bufio.NewScanner(r)}
	in.scan.Buffer(make([]byte, 64<<10), maxLine)
	if text, ok := r.(interface{ Len() int }); ok {
		in.size = text.Len()
	}
	if !in.next() {
		return nil, in.end(errors.New(name + ": no request to serve: the file is empty"))
	}
	if format == "" {
		var err error
		if format, err = in.detect(); err != nil {
			return nil, err
		}
	}
	b := &builder{trace: &Trace{Name: name, Format: format}}
	var read func(*lines, *builder) error
	switch format {
	case "azure":
		read = readAzure
	case "mooncake":
		read = readMooncake
	case "servesim":
		read = readServesim
	default:
		return nil, fmt.Errorf("%s: unknown trace format %q: use azure, mooncake or servesim", name, format)
	}
	if err := in.end(read(in, b)); err != nil {
		return nil, err
	}
	return b.finish()
}

// lines are the lines of a file that are not blank.
type lines struct {
	name   string
	size   int // of the file in bytes; 0: unknown
	scan   *bufio.Scanner
	number int
	text   []byte // valid until next
}

func (l *lines) next() bool {
	for l.scan.Scan() {
		l.number++
		l.text = bytes.TrimSpace(l.scan.Bytes())
		if l.number == 1 {
			l.text = bytes.TrimPrefix(l.text, []byte("\ufeff"))
		}
		if len(l.text) > 0 {
			return true
		}
	}
	return false
}

// end returns err, or else what kept the file from being read to its end.
func (l *lines) end(err error) error {
	switch scan := l.scan.Err(); {
	case scan == nil:
		return err
	case errors.Is(scan, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: the line is longer than %d bytes: is this a trace?", l.name, l.number+1, maxLine)
	default:
		return fmt.Errorf("%s: %w", l.name, scan)
	}
}

// fail returns an error about a column of the current line, or about the whole line if column is "".
func (l *lines) fail(column, format string, args ...any) error {
	if column != "" {
		format = "column " + column + ": " + format
	}
	return fmt.Errorf("%s:%d: "+format, append([]any{l.name, l.number}, args...)...)
}

// detect recognises a format by the first line.
func (l *lines) detect() (string, error) {
	line := l.text
	switch {
	case line[0] == '{':
		return "mooncake", nil
	case bytes.Contains(line, []byte("ContextTokens")):
		return "azure", nil
	case bytes.Contains(line, []byte("arrival_s")):
		return "servesim", nil
	case bytes.HasPrefix(line, []byte{0x1f, 0x8b}) || bytes.HasPrefix(line, []byte("\x28\xb5\x2f\xfd")):
		return "", fmt.Errorf("%s: the file is compressed: unpack it first", l.name)
	}
	return "", l.fail("", "unknown trace format: expected the header of an Azure trace (TIMESTAMP,ContextTokens,"+
		"GeneratedTokens) or of a servesim one (arrival_s,prompt_tokens,output_tokens), or a JSON object of a Mooncake trace per line; got %.60q", line)
}

// builder gathers the rows of a trace.
type builder struct {
	trace *Trace
	dated bool // the times are dates
}

// add takes a row that was read, or counts it as one that cannot be served.
func (b *builder) add(in *lines, r row) {
	t := b.trace
	if r.tokens > 0 && r.output > 0 {
		t.rows = append(t.rows, r)
		return
	}
	if t.Skipped.Count++; t.Skipped.Count > 1 {
		return
	}
	what, n := "output", r.output
	if r.tokens <= 0 {
		what, n = "prompt", r.tokens
	}
	t.Skipped.Line, t.Skipped.Why = in.number, fmt.Sprintf("%d %s tokens", n, what)
}

// epoch is where times stop being relative to the start of a recording: no recording begins eleven days after itself,
// while seconds since 1970 are a thousand times as many (and as many still if they are taken for milliseconds).
const epoch = sim.Time(1e6 * 1e9)

// finish sorts the rows, shifts them to begin at zero if their times are absolute, and returns the trace.
func (b *builder) finish() (*Trace, error) {
	t := b.trace
	if len(t.rows) == 0 {
		if s := t.Skipped; s.Count > 0 {
			return nil, fmt.Errorf("%s: no request to serve: all %d rows were skipped, the first in line %d: %s",
				t.Name, s.Count, s.Line, s.Why)
		}
		return nil, fmt.Errorf("%s: no request to serve: the file has no rows", t.Name)
	}
	order := func(x, y row) int { return cmp.Compare(x.at, y.at) }
	if len(t.tags) > 0 {
		order = func(x, y row) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(t.tags[x.tag].id, t.tags[y.tag].id))
		}
	}
	if !slices.IsSortedFunc(t.rows, order) {
		if len(t.tags) == 0 {
			t.Notes = append(t.Notes, t.Name+": the time stamps go backwards in places; the rows were sorted by time")
		}
		slices.SortStableFunc(t.rows, order)
	}
	t.share()
	if first := t.rows[0].at; b.dated || first >= epoch {
		if !b.dated {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: the times were shifted by %v so that the first request arrives at 0", t.Name, first))
		}
		for i := range t.rows {
			t.rows[i].at -= first
		}
	}
	return t, nil
}
