package workload

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

// RequestColumns is the header of what [AppendRequest] writes. A file that has these columns, and any others, can be
// replayed as a trace of the servesim format: it sends the same requests at the same nanoseconds. Only arrival_s,
// prompt_tokens and output_tokens must be there.
const RequestColumns = "id,arrival_s,prompt_tokens,output_tokens,max_tokens,priority,class,client,session,timeout_s,answer,prompt"

// AppendRequest appends the columns of [RequestColumns] for r, without a line end, and returns the longer slice. Seconds
// have nine decimals, so they are exact. The answer is the label of its run in hexadecimal; the prompt is its runs, each
// label:length with the label in hexadecimal, so that shared prefixes stay shared. The top bit of a label says that no
// other request has it.
func AppendRequest(b []byte, r *Request) []byte {
	b = AppendInt(b, r.ID, ',')
	b = AppendSeconds(b, time.Duration(r.Arrival))
	b = AppendInt(b, int64(r.Tokens), ',')
	b = AppendInt(b, int64(r.Output), ',')
	b = AppendInt(b, int64(r.MaxTokens), ',')
	if r.Priority|r.Class|r.Client|r.Session == 0 && r.Timeout == 0 { // in most loads
		b = append(b, "0,0,0,0,0.000000000,"...)
	} else {
		b = appendTags(b, r)
	}
	b = appendHex(b, r.Answer, ',')
	if len(r.Prompt) == 0 {
		return b
	}
	for _, run := range r.Prompt {
		b = appendHex(b, run.Label, ':')
		b = AppendInt(b, int64(run.Len), ' ')
	}
	return b[:len(b)-1]
}

// appendTags appends who sends a request, and how.
func appendTags(b []byte, r *Request) []byte {
	for _, n := range [...]int32{r.Priority, r.Class, r.Client, r.Session} {
		b = AppendInt(b, int64(n), ',')
	}
	return AppendSeconds(b, r.Timeout)
}

// readServesim reads what AppendRequest wrote.
func readServesim(in *lines, b *builder) error {
	c, err := newCSV(in)
	if err != nil {
		return err
	}
	must, err := c.columns("arrival_s", "prompt_tokens", "output_tokens")
	if err != nil {
		return err
	}
	may := newTagColumns(c)
	for {
		if more, err := c.row(); !more {
			return err
		}
		var r row
		ns, ok := decimal(c.fields[must[0]], 9)
		if !ok || ns < 0 {
			return c.fail("arrival_s", "%.40q is not a number of seconds", c.fields[must[0]])
		}
		r.at = sim.Time(ns)
		if r.tokens, err = c.tokens("prompt_tokens", c.fields[must[1]]); err != nil {
			return err
		}
		if r.output, err = c.tokens("output_tokens", c.fields[must[2]]); err != nil {
			return err
		}
		if r.tokens > 0 && r.output > 0 {
			if err := may.read(c, b.trace, &r); err != nil {
				return err
			}
		}
		b.add(in, r)
	}
}

// tagColumns are the places of the columns that may be missing (-1).
type tagColumns struct {
	id, max, priority, class, client, session, timeout, answer, prompt int
}

func newTagColumns(c *csv) tagColumns {
	return tagColumns{
		id: c.column("id"), max: c.column("max_tokens"), priority: c.column("priority"), class: c.column("class"),
		client: c.column("client"), session: c.column("session"), timeout: c.column("timeout_s"),
		answer: c.column("answer"), prompt: c.column("prompt"),
	}
}

// read reads the optional columns of the current line into a tag and the runs of r.
func (m *tagColumns) read(c *csv, t *Trace, r *row) error {
	g := tag{id: int64(len(t.tags))}
	for _, f := range [...]struct {
		column   int
		to       *int32
		negative bool
	}{{m.priority, &g.priority, true}, {m.class, &g.class, false}, {m.client, &g.client, false}, {m.session, &g.session, false}} {
		if err := c.small(f.column, f.to, f.negative); err != nil {
			return err
		}
	}
	var err error
	if b := c.optional(m.max); len(b) > 0 {
		if g.max, err = c.tokens("max_tokens", b); err == nil && g.max < 0 {
			err = c.fail("max_tokens", "%d is negative", g.max)
		}
		if err != nil {
			return err
		}
	}
	if b := c.optional(m.id); len(b) > 0 {
		var ok bool
		if g.id, ok = whole(b); !ok || g.id < 0 {
			return c.fail("id", "%.40q is not a whole number", b)
		}
	}
	if b := c.optional(m.timeout); len(b) > 0 {
		ns, ok := decimal(b, 9)
		if !ok || ns < 0 {
			return c.fail("timeout_s", "%.40q is not a number of seconds", b)
		}
		g.timeout = time.Duration(ns)
	}
	if b := c.optional(m.answer); len(b) > 0 {
		if g.answer, g.hasAnswer = hex(b); !g.hasAnswer {
			return c.fail("answer", "%.40q is not a hexadecimal label", b)
		}
	}
	if b := c.optional(m.prompt); len(b) > 0 {
		if err := c.readPrompt(t, r, b); err != nil {
			return err
		}
	}
	r.tag = int32(len(t.tags))
	t.tags = append(t.tags, g)
	return nil
}

// optional returns the field of a column, nothing if the file does not have it.
func (c *csv) optional(column int) []byte {
	if column < 0 {
		return nil
	}
	return c.fields[column]
}

// small reads a number that fits 32 bits; an empty field leaves it as it is.
func (c *csv) small(column int, to *int32, negative bool) error {
	b := c.optional(column)
	if len(b) == 0 {
		return nil
	}
	n, ok := whole(b)
	if !ok || n > math.MaxInt32 || n < math.MinInt32 || n < 0 && !negative {
		return c.fail(string(c.header[column]), "%.40q is not a whole number of at most 31 bits", b)
	}
	*to = int32(n)
	return nil
}

// readPrompt reads label:length label:length … into the runs of r.
func (c *csv) readPrompt(t *Trace, r *row, b []byte) error {
	from, sum := len(t.runs), int64(0)
	for len(b) > 0 {
		field, rest, _ := bytes.Cut(b, []byte(" "))
		label, length, _ := bytes.Cut(field, []byte(":"))
		l, fine := hex(label)
		n, ok := whole(length)
		if !fine || !ok || n < 1 || n > Longest {
			return c.fail("prompt", "%.40q is not label:length, a run of the prompt", field)
		}
		t.runs = append(t.runs, kvcache.Run{Label: l, Len: int32(n)})
		sum += n
		b = rest
	}
	if sum != int64(r.tokens) {
		return c.fail("prompt", "its runs have %d tokens, but prompt_tokens is %d", sum, r.tokens)
	}
	if len(t.runs) > math.MaxInt32 {
		return c.fail("prompt", "the trace has more than %d runs: cut it into several", math.MaxInt32)
	}
	r.from, r.runs = int32(from), int32(len(t.runs)-from)
	return nil
}

// share takes the private mark from labels that are not private: somebody may have put a file together from others.
func (t *Trace) share() {
	if len(t.tags) == 0 {
		return // the labels are the reader's own
	}
	var private []uint64
	mark := func(label uint64) {
		if label&kvcache.Private != 0 {
			private = append(private, label)
		}
	}
	for i := range t.rows {
		r := &t.rows[i]
		for _, run := range t.runs[r.from : r.from+r.runs] {
			mark(run.Label)
		}
		if r.runs == 0 {
			mark(uniquePrompt.label(uint64(i)))
		}
		mark(t.answer(i))
	}
	slices.Sort(private)
	twice := map[uint64]bool{}
	for i, label := range private {
		if i > 0 && label == private[i-1] {
			twice[label] = true
		}
	}
	if len(twice) == 0 {
		return
	}
	for i := range t.runs {
		if l := &t.runs[i].Label; twice[*l] {
			*l &^= kvcache.Private
		}
	}
	for i := range t.tags {
		if l := &t.tags[i].answer; twice[*l] {
			*l &^= kvcache.Private
		}
	}
}
