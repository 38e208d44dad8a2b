package metrics

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// ResultColumns follow workload.RequestColumns in the rows of Config.Rows: times in milliseconds with six decimals, so
// that no nanosecond is lost; empty where a request had no such thing.
const ResultColumns = "status,reason,queue_ms,ttft_ms,tpot_ms,e2el_ms,preemptions,cached_tokens"

// rows writes one line per request, in the order of arrival. A line waits until those before it have been written, so
// memory grows with the requests in flight and those behind the oldest of them.
type rows struct {
	out     *bufio.Writer
	pending []pendingRow // from number base on
	written int          // how many of pending are already out
	base    int
	spare   [][]byte // lines that are out: room for others

	replicas bool // a last column names the replica
	begun    bool // the header has been written
}

// A pendingRow is a request, and its line once it has ended.
type pendingRow struct {
	request *workload.Request
	replica string
	line    []byte
}

func newRows(w io.Writer) *rows {
	return &rows{out: bufio.NewWriterSize(w, 1<<16)}
}

// begin writes the header: by now it is known how many engines there are.
func (rs *rows) begin() {
	if rs.begun {
		return
	}
	rs.begun = true
	rs.out.WriteString(workload.RequestColumns + "," + ResultColumns)
	if rs.replicas {
		rs.out.WriteString(",replica")
	}
	rs.out.WriteByte('\n')
}

// open makes room for a request's row and returns its number.
func (rs *rows) open(r *workload.Request, replica string) int {
	rs.begin()
	rs.pending = append(rs.pending, pendingRow{request: r, replica: replica})
	return rs.base + len(rs.pending) - 1
}

// close completes a row and writes all that have nothing before them to wait for.
func (rs *rows) close(row int, l *engine.Life) {
	p := &rs.pending[row-rs.base]
	if row == rs.base+rs.written { // nothing to wait for: no copy
		b := appendResult(rs.request(rs.out.AvailableBuffer(), p.request), l)
		rs.out.Write(rs.end(b, p))
		rs.written++
	} else {
		p.line = rs.end(appendResult(rs.request(rs.blank(), p.request), l), p)
	}
	p.request = nil
	for rs.written < len(rs.pending) && rs.pending[rs.written].line != nil {
		rs.out.Write(rs.pending[rs.written].line)
		rs.spare = append(rs.spare, rs.pending[rs.written].line)
		rs.pending[rs.written].line = nil
		rs.written++
	}
	if rs.written >= 1<<10 && 2*rs.written >= len(rs.pending) {
		n := copy(rs.pending, rs.pending[rs.written:])
		clear(rs.pending[n:])
		rs.base += rs.written
		rs.pending, rs.written = rs.pending[:n], 0
	}
}

// blank returns an empty line.
func (rs *rows) blank() []byte {
	n := len(rs.spare)
	if n == 0 {
		return make([]byte, 0, 192)
	}
	line := rs.spare[n-1][:0]
	rs.spare = rs.spare[:n-1]
	return line
}

// flush writes the rows that are left, and reports the first error of all writes.
func (rs *rows) flush() error {
	rs.begin()
	for i := rs.written; i < len(rs.pending); i++ {
		p := &rs.pending[i]
		if p.request != nil {
			p.line = rs.end(append(rs.request(nil, p.request), "unfinished,,,,,,,"...), p)
		}
		rs.out.Write(p.line)
	}
	rs.written = len(rs.pending)
	return rs.out.Flush()
}

// end appends the name of the replica, where there are several, and ends the line.
func (rs *rows) end(b []byte, p *pendingRow) []byte {
	if rs.replicas {
		b = appendField(append(b, ','), p.replica)
	}
	return append(b, '\n')
}

// request appends the columns that describe what was asked.
func (rs *rows) request(b []byte, r *workload.Request) []byte {
	return append(workload.AppendRequest(b, r), ',')
}

// appendResult appends the columns of ResultColumns.
func appendResult(b []byte, l *engine.Life) []byte {
	switch l.Outcome.Status {
	case workload.Completed:
		b = append(b, "completed,"...)
	case workload.Rejected:
		b = append(b, "rejected,"...)
	case workload.Aborted:
		b = append(b, "aborted,"...)
	}
	b = append(appendField(b, l.Outcome.Reason), ',')
	done := l.Outcome.Status == workload.Completed
	if l.Started || l.Journey != nil && l.Emitted > 0 { // an answer of one token may come from the engine of its prompt
		b = workload.AppendMillis(b, time.Duration(queued(l)))
	}
	b = append(b, ',')
	if l.Emitted > 0 {
		b = workload.AppendMillis(b, l.First.Sub(l.Request.Arrival))
	}
	b = append(b, ',')
	if done && l.Emitted > 1 {
		gaps := time.Duration(l.Emitted - 1)
		b = workload.AppendMillis(b, (l.Last.Sub(l.First)+gaps/2)/gaps)
	}
	b = append(b, ',')
	if done {
		b = workload.AppendMillis(b, l.Last.Sub(l.Request.Arrival))
	}
	b = append(b, ',')
	if l.Seq == nil || l.Outcome.Status == workload.Rejected {
		return append(b, ',')
	}
	b = append(workload.AppendInt(b, int64(l.Seq.Preemptions)), ',')
	return workload.AppendInt(b, int64(l.Seq.Hit))
}

// appendField appends text as a CSV field; a row stays one line.
func appendField(b []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\n\r") {
		return append(b, s...)
	}
	s = strings.NewReplacer(`"`, `""`, "\n", " ", "\r", " ").Replace(s)
	return append(append(append(b, '"'), s...), '"')
}
