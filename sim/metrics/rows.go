package metrics

import (
	"io"
	"strings"
	"time"

	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// ResultColumns follow workload.RequestColumns in the rows of Config.Rows: times in milliseconds with six decimals, so
// that no nanosecond is lost; empty where a request had no such thing.
const ResultColumns = "status,reason,queue_ms,ttft_ms,tpot_ms,e2el_ms,preemptions,cached_tokens"

// rows writes one line per request, in the order of arrival. A row waits until those before it have been written, so
// memory grows with the requests in flight and those behind the oldest of them.
//
// While it waits a row is numbers. They become text many rows at a time: the instructions for that are needed nowhere
// else, and would otherwise come to the cache anew for every row.
type rows struct {
	out  io.Writer
	err  error  // the first of out
	text []byte // what goes to out next

	pending     []pendingRow // a ring of 2^k places, by the number of the row …
	first, next int          // … for the rows from first on, before next
	closed      uint
	spare       []*row // those that are written: room for others, the newest first, which is in the cache

	replicas bool // a last column names the replica
	begun    bool // there is a header
}

const (
	rowsAtOnce = 64
	textAtOnce = 1 << 13 // bytes
)

// A pendingRow is a request under way, or its row once it has ended.
type pendingRow struct {
	request *workload.Request
	row     *row
	replica string
}

// A row is a request that has ended, and what became of it.
type row struct {
	request workload.Request
	result  result
}

// A result is what ResultColumns say of a request that has ended.
type result struct {
	status           workload.Status
	served           bool // there are preemptions and cached tokens to tell
	preemptions, hit int32
	times            [4]time.Duration // queue, ttft, tpot, e2el; none: there is no such time
	reason           string
}

const none time.Duration = -1

func newRows(w io.Writer) *rows { return &rows{out: w} }

// begin writes the header: by now it is known how many engines there are.
func (rs *rows) begin() {
	rs.begun = true
	rs.text = append(rs.text, workload.RequestColumns+","+ResultColumns...)
	if rs.replicas {
		rs.text = append(rs.text, ",replica"...)
	}
	rs.text = append(rs.text, '\n')
}

// at returns a pending row.
func (rs *rows) at(number int) *pendingRow { return &rs.pending[number&(len(rs.pending)-1)] }

// open makes room for a request's row and returns its number.
func (rs *rows) open(r *workload.Request, replica string) int {
	if rs.next-rs.first == len(rs.pending) {
		rs.grow()
	}
	p := rs.at(rs.next)
	p.request = r
	if rs.replicas {
		p.replica = replica
	}
	rs.next++
	return rs.next - 1
}

// grow doubles the ring. The first row that is opened finds none.
func (rs *rows) grow() {
	old := *rs
	rs.pending = make([]pendingRow, max(2*len(old.pending), 2*rowsAtOnce))
	for number := rs.first; number < rs.next; number++ {
		*rs.at(number) = *old.at(number)
	}
	if !rs.begun {
		rs.begin()
	}
}

// close completes a row. The client may use the request again afterwards, so the row keeps a copy.
func (rs *rows) close(number int, l *engine.Life) {
	p, q := rs.at(number), rs.blank()
	prompt := append(q.request.Prompt[:0], p.request.Prompt...)
	q.request = *p.request
	q.request.Prompt = prompt
	q.result.set(l)
	p.request, p.row = nil, q
	if rs.closed++; rs.closed%rowsAtOnce == 0 {
		rs.write()
	}
}

// blank returns room for a row.
func (rs *rows) blank() *row {
	n := len(rs.spare)
	if n == 0 {
		return new(row)
	}
	q := rs.spare[n-1]
	rs.spare = rs.spare[:n-1]
	return q
}

// set takes over how a life went.
func (q *result) set(l *engine.Life) {
	q.status, q.reason = l.Outcome.Status, l.Outcome.Reason
	queue, ttft, tpot, e2el := none, none, none, none
	done := q.status == workload.Completed
	if l.Started || l.Journey != nil && l.Emitted > 0 { // an answer of one token may come from the engine of its prompt
		queue = time.Duration(queued(l))
	}
	if l.Emitted > 0 {
		ttft = l.First.Sub(l.Request.Arrival)
	}
	if done && l.Emitted > 1 {
		gaps := time.Duration(l.Emitted - 1)
		tpot = (l.Last.Sub(l.First) + gaps/2) / gaps
	}
	if done {
		e2el = l.Last.Sub(l.Request.Arrival)
	}
	q.times = [...]time.Duration{queue, ttft, tpot, e2el}
	if q.served = l.Seq != nil && q.status != workload.Rejected; q.served {
		q.preemptions, q.hit = l.Seq.Preemptions, l.Seq.Hit
	}
}

// write writes the rows that have nothing before them to wait for.
func (rs *rows) write() {
	for rs.first < rs.next && rs.at(rs.first).request == nil {
		p := rs.at(rs.first)
		rs.line(p)
		rs.spare = append(rs.spare, p.row)
		rs.first++
	}
}

// flush writes the rows that are left, and reports the first error of all writes.
func (rs *rows) flush() error {
	if !rs.begun {
		rs.begin()
	}
	for ; rs.first < rs.next; rs.first++ {
		rs.line(rs.at(rs.first))
	}
	rs.send()
	return rs.err
}

// line writes one row.
func (rs *rows) line(p *pendingRow) {
	b := rs.text
	if p.request != nil {
		b = append(workload.AppendRequest(b, p.request), ",unfinished,,,,,,,,"...)
	} else {
		b = p.row.result.append(append(workload.AppendRequest(b, &p.row.request), ','))
	}
	if rs.replicas {
		b = append(appendField(b, p.replica), ',')
	}
	b[len(b)-1] = '\n' // not a comma: it was the last column
	rs.text = b
	if len(rs.text) >= textAtOnce {
		rs.send()
	}
}

// send sends the text on its way. After an error it goes nowhere.
func (rs *rows) send() {
	if rs.err == nil && len(rs.text) > 0 {
		_, rs.err = rs.out.Write(rs.text)
	}
	rs.text = rs.text[:0]
}

// append appends the columns of ResultColumns, and a comma.
func (q *result) append(b []byte) []byte {
	switch q.status {
	case workload.Completed:
		b = append(b, "completed,"...)
	case workload.Rejected:
		b = append(b, "rejected,"...)
	case workload.Aborted:
		b = append(b, "aborted,"...)
	}
	if q.reason != "" {
		b = appendField(b, q.reason)
	}
	b = append(b, ',')
	for _, t := range &q.times {
		if t == none {
			b = append(b, ',')
		} else {
			b = workload.AppendMillis(b, t)
		}
	}
	if !q.served {
		return append(b, ",,"...)
	}
	b = workload.AppendInt(b, int64(q.preemptions), ',')
	return workload.AppendInt(b, int64(q.hit), ',')
}

// appendField appends text as a CSV field; a row stays one line.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\n\r") {
		return append(b, s...)
	}
	s = strings.NewReplacer(`"`, `""`, "\n", " ", "\r", " ").Replace(s)
	return append(append(append(b, '"'), s...), '"')
}
