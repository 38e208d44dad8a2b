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
	out         *bufio.Writer
	pending     []pendingRow // a ring of 2^k places, by the number of the row …
	first, next int          // … for the rows from first on, before next
	spare       [][]byte     // lines that are out: room for others

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
	return &rows{out: bufio.NewWriterSize(w, 1<<14)}
}

// begin writes the header: by now it is known how many engines there are.
func (rs *rows) begin() {
	rs.begun = true
	rs.out.WriteString(workload.RequestColumns + "," + ResultColumns)
	if rs.replicas {
		rs.out.WriteString(",replica")
	}
	rs.out.WriteByte('\n')
}

// at returns a pending row.
func (rs *rows) at(row int) *pendingRow { return &rs.pending[row&(len(rs.pending)-1)] }

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
	rs.pending = make([]pendingRow, max(2*len(old.pending), 1<<6))
	for row := rs.first; row < rs.next; row++ {
		*rs.at(row) = *old.at(row)
	}
	if !rs.begun {
		rs.begin()
	}
}

// close completes a row and writes all that have nothing before them to wait for.
func (rs *rows) close(row int, l *engine.Life) {
	p := rs.at(row)
	if row > rs.first {
		p.line = rs.line(rs.blank(), p, l)
		p.request = nil
		return
	}
	rs.out.Write(rs.line(rs.out.AvailableBuffer(), p, l)) // nothing to wait for: no copy
	p.request = nil
	rs.first++
	for rs.first < rs.next && rs.at(rs.first).line != nil {
		p := rs.at(rs.first)
		rs.out.Write(p.line)
		rs.spare = append(rs.spare, p.line)
		p.line = nil
		rs.first++
	}
}

// line appends the row of a request that has ended.
func (rs *rows) line(b []byte, p *pendingRow, l *engine.Life) []byte {
	return rs.end(appendResult(append(workload.AppendRequest(b, p.request), ','), l), p)
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
	if !rs.begun {
		rs.begin()
	}
	for ; rs.first < rs.next; rs.first++ {
		p := rs.at(rs.first)
		if p.request != nil {
			p.line = rs.end(append(workload.AppendRequest(nil, p.request), ",unfinished,,,,,,,"...), p)
		}
		rs.out.Write(p.line)
	}
	return rs.out.Flush()
}

// end appends the name of the replica, where there are several, and ends the line.
func (rs *rows) end(b []byte, p *pendingRow) []byte {
	if rs.replicas {
		b = appendField(append(b, ','), p.replica)
	}
	return append(b, '\n')
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
	if l.Outcome.Reason != "" {
		b = appendField(b, l.Outcome.Reason)
	}
	b = append(b, ',')
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
