package metrics

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

func TestRowsStandInOrderOfArrivalWithEveryRequest(t *testing.T) {
	for seed := range uint64(3) {
		var out bytes.Buffer
		requests := crowdOf(seed, 300, true)
		rep, _ := play(t, run{requests: requests, config: Config{Rows: &out}, until: sim.Time(15e9)})
		all, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != rep.Requests.Submitted+1 {
			t.Fatalf("%d rows of %d requests", len(all)-1, rep.Requests.Submitted)
		}
		count := map[string]int{}
		status := len(strings.Split(workload.RequestColumns, ","))
		for i, row := range all[1:] {
			if row[0] != fmt.Sprint(i) {
				t.Fatalf("row %d is request %s", i, row[0])
			}
			count[row[status]]++
		}
		q := rep.Requests
		if count["completed"] != q.Completed || count["rejected"] != q.Rejected || count["aborted"] != q.Aborted || count["unfinished"] != q.Unfinished {
			t.Errorf("%v, want %+v", count, q)
		}
		if q.Completed == 0 || q.Rejected == 0 || q.Aborted == 0 {
			t.Errorf("the test shows nothing: %+v", q)
		}
	}
}

func TestARowHoldsResultsToTheNanosecond(t *testing.T) {
	var out bytes.Buffer
	play(t, run{
		requests: []workload.Request{ask(1, 10, 5), ask(2, 2000, 5), ask(3, 10, 1), ask(4, 10, 9)},
		config:   Config{Rows: &out}, seats: seats{max: 2}, until: sim.Time(30e6),
	})
	var got []string
	for _, row := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		fields := strings.SplitN(row, ",", 13)
		got = append(got, fields[12])
	}
	want := []string{
		`unfinished,,,,,,,`,
		`rejected,"too long, by far",,,,,,`,
		`completed,,13.999998,28.099998,,28.099998,0,0`,
		`unfinished,,,,,,,`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestARowTellsOfItsRequestThoughTheClientHasUsedTheObjectAgain(t *testing.T) {
	var out bytes.Buffer
	rs := newRows(&out)
	q := workload.Request{ID: 1, Prompt: kvcache.Prompt{{Label: 10, Len: 3}, {Label: 11, Len: 4}}, Tokens: 7, Output: 5}
	first, second := rs.open(&q, ""), rs.open(&workload.Request{ID: 2}, "")
	rs.close(first, &engine.Life{Request: &q, Emitted: 5})
	q.ID, q.Prompt[0].Label = 3, 12
	rs.close(second, &engine.Life{Request: &workload.Request{ID: 2}, Outcome: workload.Outcome{Status: workload.Aborted}})
	if err := rs.flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[1], "1,0.000000000,7,5,0,0,0,0,0,0.000000000,0,a:3 b:4,completed,") {
		t.Error(lines[1])
	}
	if !strings.HasPrefix(lines[2], "2,") || !strings.HasSuffix(lines[2], ",aborted,,,,,,,") {
		t.Error(lines[2])
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestFlushReportsThatRowsCouldNotBeWritten(t *testing.T) {
	r := New(Config{Rows: brokenPipe{}})
	h := r.Hooks()
	h.Arrived(0, &engine.Life{Request: &workload.Request{}})
	if err := r.Flush(); err == nil {
		t.Error("rows went nowhere, and nobody was told")
	}
}

func BenchmarkRow(b *testing.B) {
	rs := newRows(discard{})
	q := ask(123456789, 512, 256)
	l := engine.Life{Request: &q, First: 223456789, Last: 923456789, Emitted: 256, Started: true}
	for b.Loop() {
		rs.close(rs.open(&q, ""), &l)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
