package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/sim"
)

func readFile(t testing.TB, name string) *Trace {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return readText(t, name, string(b))
}

func readText(t testing.TB, name, text string) *Trace {
	t.Helper()
	tr, err := ReadTrace(name, strings.NewReader(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func replayed(t *testing.T, tr *Trace) []Request {
	t.Helper()
	return play(t, Spec{Trace: tr})
}

func TestAzureFilesAreReadAsShipped(t *testing.T) {
	tr := readFile(t, "azure_conv.csv")
	seen := replayed(t, tr)
	if tr.Format != "azure" || len(seen) != 19 || tr.Warnings() != nil {
		t.Fatalf("%s: %d requests, warnings %q", tr.Format, len(seen), tr.Warnings())
	}
	for i, want := range []Request{
		{Arrival: 0, Tokens: 374, Output: 44},
		{Arrival: 4_314_579_000, Tokens: 396, Output: 109}, // 18:15:50.9951690 − 18:15:46.6805900
	} {
		if r := seen[i]; r.Arrival != want.Arrival || r.Tokens != want.Tokens || r.Output != want.Output || r.MaxTokens != want.Output {
			t.Errorf("request %d: %+v", i, r)
		}
	}
	tr = readFile(t, "azure_code_no_newline.csv")
	seen = replayed(t, tr)
	last := seen[len(seen)-1]
	if len(seen) != 13 || last.Tokens != 549 || last.Output != 173 || last.Arrival != 3_435_948_056_000 {
		t.Errorf("%d requests, the last %+v", len(seen), last)
	}
}

func TestLineEndsDoNotMatter(t *testing.T) {
	b, err := os.ReadFile("testdata/azure_conv.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := rows(replayed(t, readText(t, "crlf", string(b))))
	lf := strings.ReplaceAll(string(b), "\r\n", "\n")
	for name, text := range map[string]string{ // order does not matter: independent cases
		"lf": lf, "no last newline": strings.TrimSuffix(lf, "\n"), "blank lines": lf + "\n\n", "byte order mark": "\ufeff" + lf,
	} {
		if got := rows(replayed(t, readText(t, name, text))); got != want {
			t.Errorf("%s: other requests", name)
		}
	}
}

func TestAzureColumnsAreFoundByName(t *testing.T) {
	tr := readText(t, "2025", `TIMESTAMP,NumImages,GeneratedTokens,ContextTokens
"2024-05-10 00:00:00.009930+00:00",3,5,100
2024-05-10T01:00:01.009930+01:00,0,7,200
`)
	seen := replayed(t, tr)
	if len(seen) != 2 || seen[0].Tokens != 100 || seen[0].Output != 5 || seen[1].Arrival != 1e9 {
		t.Errorf("%+v", seen)
	}
}

func TestDatesAreNanosecondsSince1970(t *testing.T) {
	for _, s := range []string{
		"1970-01-01 00:00:00", "2023-11-16 18:17:03.9799600", "2024-02-29 23:59:59.999999999", "2000-03-01 12:00:00Z",
		"2024-12-31T00:00:00.5+05:30", "2199-01-31 00:00:00-08:00",
	} {
		layout := strings.Replace(s, " ", "T", 1)
		if n := len(layout); layout[n-1] != 'Z' && layout[n-3] != ':' || n == 19 {
			layout += "Z"
		}
		want, err := time.Parse(time.RFC3339Nano, layout)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := date([]byte(s)); !ok || got != want.UnixNano() {
			t.Errorf("%s: %d, want %d", s, got, want.UnixNano())
		}
	}
	for _, s := range []string{"", "2023-11-16", "2023-13-16 18:17:03", "2023-11-16 24:17:03", "2023-11-16 18:17:03x", "2023-11-16 18:17:03+1"} {
		if _, ok := date([]byte(s)); ok {
			t.Errorf("%q is not a date", s)
		}
	}
}

func TestMooncakeBlocksBecomeSharedRuns(t *testing.T) {
	tr := readFile(t, "mooncake_conversation.jsonl")
	seen := replayed(t, tr)
	if tr.Format != "mooncake" || len(seen) != 12 {
		t.Fatalf("%s: %d requests", tr.Format, len(seen))
	}
	a, b := seen[0], seen[1]
	if a.Tokens != 6758 || len(a.Prompt) != 2 || a.Prompt[1].Len != 6758-512 || a.Prompt.Tokens() != 6758 {
		t.Errorf("the first request: %+v", a)
	}
	if a.Prompt[0] != b.Prompt[0] || a.Prompt[1].Label == b.Prompt[1].Label {
		t.Errorf("the first two share block 0 and nothing else, got %v and %v", a.Prompt[:2], b.Prompt[:2])
	}
	if a.Prompt[0].Label&kvcache.Private != 0 || a.Prompt[1].Label&b.Prompt[1].Label&kvcache.Private == 0 {
		t.Errorf("block 0 is shared and the others are private, got %v and %v", a.Prompt[:2], b.Prompt[:2])
	}
	if cap(a.Prompt) != len(a.Prompt) {
		t.Error("appending to a prompt would overwrite the next one")
	}
	if seen := replayed(t, readFile(t, "mooncake_synthetic.jsonl")); len(seen) != 3 || len(seen[0].Prompt) != 1 {
		t.Errorf("synthetic: %d requests, the first prompt in %d runs, none of which is shared", len(seen), len(seen[0].Prompt))
	}
}

func TestMooncakeRowsMayHaveOtherMembersAndFewerHashes(t *testing.T) {
	tr := readText(t, "x", `{"a": {"b": [1, {"c": "}\""}], "d": null}, "hash_ids": [5], "timestamp": 27482.5, "output_length":52,"input_length":700}
{"timestamp":1e3,"input_length":10,"output_length":1,"hash_ids":[]}
`)
	seen := replayed(t, tr)
	if len(seen) != 2 || seen[1].Arrival != 27_482_500_000 || seen[0].Arrival != 1e9 {
		t.Fatalf("%+v", seen)
	}
	if p := seen[1].Prompt; len(p) != 1 || p[0].Len != 700 {
		t.Errorf("prompt %v: what follows the only block is as private as that", p)
	}
	if w := tr.Warnings(); len(w) != 1 || !strings.Contains(w[0], "go backwards") {
		t.Errorf("warnings %q", w)
	}
}

func TestMooncakeBlocksAreSharedWhateverTheirNumbers(t *testing.T) {
	const far = 1 << 59
	for _, c := range []struct{ common, own, other int }{{0, 1, 2}, {far, far + 1, far + 2}, {0, far, 1}, {far, 0, 1}} {
		tr := readText(t, "x", fmt.Sprintf(`{"timestamp":0,"input_length":1024,"output_length":1,"hash_ids":[%d,%d]}
{"timestamp":0,"input_length":1024,"output_length":1,"hash_ids":[%d,%d]}
`, c.common, c.own, c.common, c.other))
		seen := replayed(t, tr)
		a, b := seen[0].Prompt, seen[1].Prompt
		if len(a) != 2 || len(b) != 2 || a[0] != b[0] || a[0].Label&kvcache.Private != 0 || a[1].Label&b[1].Label&kvcache.Private == 0 {
			t.Errorf("%+v: prompts %v and %v, want the first blocks shared and the second ones private", c, a, b)
		}
	}
}

func TestRowsOfOneInstantKeepTheirOrder(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		b.WriteString(`{"timestamp": 3000, "output_length": 5, "input_length": ` + string(rune('1'+i%9)) + "}\n")
	}
	for i, r := range replayed(t, readText(t, "x", b.String())) {
		if r.Tokens != int32(1+i%9) || r.ID != int64(i) || r.Arrival != 3e9 {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
}

func TestRowsThatCannotBeServedAreSkippedAndCounted(t *testing.T) {
	tr := readText(t, "x.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n1,10,5\n2,10,0\n3,0,5\n4,-9999999999,5\n5,20,6\n")
	if want := (Skipped{3, 3, "0 output tokens"}); tr.Skipped != want || tr.Len() != 2 || tr.Span() != 5e9 {
		t.Errorf("%+v, %d rows", tr.Skipped, tr.Len())
	}
	want := "x.csv: skipped 3 of 5 rows that cannot be served, the first in line 3: 0 output tokens"
	if w := tr.Warnings(); len(w) != 1 || w[0] != want {
		t.Errorf("warnings %q", w)
	}
}

func TestEpochTimesAreShiftedToZero(t *testing.T) {
	for _, text := range []string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\n1700000000.25,10,5\n1700000001.75,10,5\n",
		"arrival_s,prompt_tokens,output_tokens\n1700000000.25,10,5\n1700000001.75,10,5\n",
		`{"timestamp":1700000000250,"input_length":10,"output_length":5}` + "\n" + `{"timestamp":1700000001750,"input_length":10,"output_length":5}`,
	} {
		tr := readText(t, "x", text)
		if seen := replayed(t, tr); seen[0].Arrival != 0 || seen[1].Arrival != 1.5e9 {
			t.Errorf("%s: arrivals at %v and %v", tr.Format, seen[0].Arrival, seen[1].Arrival)
		}
		if w := tr.Warnings(); len(w) != 1 || !strings.Contains(w[0], "shifted by 1700000000.25") {
			t.Errorf("warnings %q", w)
		}
	}
}

func TestBadFilesAreLocatedErrors(t *testing.T) {
	const azure, own = "TIMESTAMP,ContextTokens,GeneratedTokens\n", "arrival_s,prompt_tokens,output_tokens,prompt\n"
	for _, c := range []struct{ text, want string }{
		{"", "f: no request to serve: the file is empty"},
		{"\r\n \n", "f: no request to serve: the file is empty"},
		{azure, "f: no request to serve: the file has no rows"},
		{azure + "1,1,0\n", "f: no request to serve: all 1 rows were skipped, the first in line 2: 0 output tokens"},
		{"hello\n", "f:1: unknown trace format: expected the header"},
		{"[{\"id\": 1}]", "f:1: unknown trace format: expected the header"},
		{"\x1f\x8b\x08\x00", "f: the file is compressed"},
		{"ContextTokens,GeneratedTokens\n1,1\n", `f:1: column TIMESTAMP: is missing from the header "ContextTokens,GeneratedTokens"`},
		{azure + "1,5,5\n2,5\n", "f:3: column GeneratedTokens: the row has 2 fields and the header 3: is the file truncated?"},
		{azure + "1,5,5,5\n", "f:2: the row has 4 fields"},
		{azure + "yesterday,5,5\n", `f:2: column TIMESTAMP: "yesterday" is neither a date`},
		{azure + "NaN,5,5\n", `f:2: column TIMESTAMP: "NaN" is neither a date`},
		{azure + "-1,5,5\n", `f:2: column TIMESTAMP: "-1" is neither a date`},
		{azure + "1e30,5,5\n", `f:2: column TIMESTAMP: "1e30" is neither a date`},
		{azure + "99999999999999,5,5\n", `f:2: column TIMESTAMP: "99999999999999" is neither`},
		{azure + "1,5.5,5\n", `f:2: column ContextTokens: "5.5" is not a whole number`},
		{azure + "1,5,\n", `f:2: column GeneratedTokens: "" is not a whole number`},
		{azure + "1,5,99999999\n", "f:2: column GeneratedTokens: 99999999 tokens are more than the context of any model"},
		{azure + "1,\"5,5\n", "f:2: a quote is not closed"},
		{`{"timestamp": 0, "input_length": 5, "output_length": 5}` + "\n" + `{"timestamp": 1, "input_len`, "f:2: not a JSON object: it is wrong or ends after"},
		{`{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [1, 2`, "is the file truncated?"},
		{`{"timestamp": 0, "input_length": 5, "output_length": 5`, "is the file truncated?"},
		{`{"timestamp": 0, "input_length": 5}`, "f:1: column output_length: is missing"},
		{`{"input_length": 5, "output_length": 5}`, "f:1: column timestamp: is missing"},
		{`{"timestamp": "now", "input_length": 5, "output_length": 5}`, `f:1: column timestamp: "now" is not a number of milliseconds`},
		{`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2, 3]}`, "f:1: column hash_ids: 3 ids for 600 tokens: a block has 512 tokens, so there should be 2"},
		{`{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, -2]}`, `f:1: column hash_ids: "-2" is not a block's id`},
		{`{"timestamp": 0, "input_length": 5, "output_length": 5} x`, "f:1: not a JSON object"},
		{own + "0.5,10,5,1:9\n", "f:2: column prompt: its runs have 9 tokens, but prompt_tokens is 10"},
		{own + "0.5,10,5,g:10\n", `f:2: column prompt: "g:10" is not label:length`},
		{own + "0.5,10,5,1:20 2:-10\n", `f:2: column prompt: "2:-10" is not label:length`},
		{"arrival_s,prompt_tokens\n", "f:1: column output_tokens: is missing"},
		{strings.Repeat("x", maxLine+1), "f:1: the line is longer than"},
		{azure + "1,5,5\n" + strings.Repeat("x", maxLine+1), "f:3: the line is longer than"},
	} {
		tr, err := ReadTrace("f", strings.NewReader(c.text), "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v, %v, want an error with %q", c.text, tr, err, c.want)
		}
	}
	if _, err := ReadTrace("f", strings.NewReader("x"), "burst"); err == nil || !strings.Contains(err.Error(), `unknown trace format "burst"`) {
		t.Errorf("unknown format: %v", err)
	}
	broken := errors.New("broken pipe")
	in := io.MultiReader(strings.NewReader(azure), brokenReader{broken})
	if _, err := ReadTrace("f", in, ""); !errors.Is(err, broken) {
		t.Errorf("read error: %v", err)
	}
}

type brokenReader struct{ err error }

func (e brokenReader) Read([]byte) (int, error) { return 0, e.err }

func TestATraceCanBeCutAndStretched(t *testing.T) {
	tr := readText(t, "x", "TIMESTAMP,ContextTokens,GeneratedTokens\n0,10,5\n1,11,5\n3,12,5\n8,13,5\n")
	for _, c := range []struct {
		s    Spec
		want []sim.Time
	}{
		{Spec{}, []sim.Time{0, 1e9, 3e9, 8e9}},
		{Spec{Requests: 3}, []sim.Time{0, 1e9, 3e9}},
		{Spec{Requests: 9}, []sim.Time{0, 1e9, 3e9, 8e9}},
		{Spec{Speed: 2}, []sim.Time{0, 0.5e9, 1.5e9, 4e9}},
		{Spec{Rate: 1}, []sim.Time{0, 0.5e9, 1.5e9, 4e9}},
		{Spec{Rate: 3, Requests: 3}, []sim.Time{0, 333333333, 1e9}},
		{Spec{Rate: math.Inf(1)}, []sim.Time{0, 0, 0, 0}},
		{Spec{Duration: 3 * time.Second}, []sim.Time{0, 1e9, 3e9}},
		{Spec{MaxConcurrency: 1}, []sim.Time{0, 1e9, 3e9, 8e9}},
	} {
		c.s.Trace = tr
		var got []sim.Time
		for _, r := range play(t, c.s) {
			got = append(got, r.Arrival)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: arrivals at %v, want %v", c.s, got, c.want)
		}
	}
}

func TestAskingForMoreThanTheTraceHasIsNoted(t *testing.T) {
	s := Spec{Trace: readFile(t, "azure_conv.csv"), Requests: 1000}
	if n := s.Notes(); len(n) != 1 || !strings.Contains(n[0], "has only 19 of the 1000 requests") {
		t.Errorf("notes %q", n)
	}
}

func TestFaultsOfAReplayNameTheirField(t *testing.T) {
	tr := readText(t, "x", "TIMESTAMP,ContextTokens,GeneratedTokens\n0,10,5\n0,11,5\n")
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Rate: 5}, "workload.rate: cannot stretch the trace"},
		{Spec{Rate: -5}, "workload.rate: must be positive, got -5"},
		{Spec{Rate: math.NaN()}, "workload.rate: must be positive, got NaN"},
		{Spec{Speed: math.NaN()}, "workload.arrivals.speed: must lie between"},
		{Spec{Rate: math.Inf(1), Speed: 3}, "workload.arrivals.speed: does not go with workload.rate"},
		{Spec{Prefix: Prefix{Groups: 1, Tokens: 5}}, "workload.prefix: does not go with a trace"},
	} {
		c.s.Trace = tr
		if _, err := New(c.s, streams(1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestTheRequestsOfARunReplayToTheSameRows(t *testing.T) {
	own := basic()
	own.MaxTokens, own.Timeout = 220, 90*time.Second
	own.Prefix = Prefix{Groups: 3, Tokens: 64}
	own.Classes = []Class{{Name: "chat", Share: 1, Priority: -1}, {Name: "batch", Share: 3, Priority: 9}}
	loop := basic()
	loop.Arrivals, loop.MaxConcurrency = Closed{Clients: 8, Think: 3}, 5
	for name, s := range map[string]Spec{ // order does not matter: independent cases
		"drawn":    own,
		"closed":   loop,
		"azure":    {Trace: readFile(t, "azure_conv.csv"), Rate: 7},
		"mooncake": {Trace: readFile(t, "mooncake_conversation.jsonl")},
	} {
		want := rows(play(t, s))
		lines := strings.SplitAfter(want, "\n")
		slices.Reverse(lines) // the file may have them in any order
		tr := readText(t, name, RequestColumns+",more\n"+strings.ReplaceAll(strings.Join(lines, ""), "\n", ",\"a, b\"\n"))
		if got := rows(replayed(t, tr)); got != want {
			t.Errorf("%s: the replay differs:\n%.300s\nwant\n%.300s", name, got, want)
		}
	}
}

func TestALabelThatTwoRowsHaveIsNotPrivate(t *testing.T) {
	seen := replayed(t, readText(t, "x", "arrival_s,prompt_tokens,output_tokens,answer,prompt\n"+
		"0,30,5,8000000000000002,8000000000000009:10 8000000000000011:20\n"+
		"1,40,5,800000000000000a,8000000000000009:40\n"+
		"2,50,5,,8000000000000021:50\n"+
		"3,50,5,8000000000000012,8000000000000021:50\n"))
	want := [][]uint64{
		{0x8000000000000002, 9, 0x8000000000000011},
		{0x800000000000000a, 9},
		{0x8000000000000012, 0x21},
		{0x12, 0x21}, // the third answer has the label that the reader gave it
	}
	for i, r := range seen {
		got := []uint64{r.Answer}
		for _, run := range r.Prompt {
			got = append(got, run.Label)
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("request %d: labels %x, want %x", i, got, want[i])
		}
	}
}

func TestARequestIsWrittenWithEveryNanosecond(t *testing.T) {
	r := Request{
		ID: 12, Arrival: 12_000_000_345, Tokens: 600, Output: 7, MaxTokens: 9, Priority: -2, Class: 1, Client: 3, Session: 4,
		Answer: 0xab, Timeout: 1500 * time.Millisecond, Prompt: kvcache.Prompt{{Label: 0x1f, Len: 512}, {Label: math.MaxUint64, Len: 88}},
	}
	want := "12,12.000000345,600,7,9,-2,1,3,4,1.500000000,ab,1f:512 ffffffffffffffff:88"
	if got := string(AppendRequest(nil, &r)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(AppendSeconds(nil, math.MinInt64)); got != "-9223372036.854775808," {
		t.Errorf("the shortest span is written %s", got)
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, name := range []string{"azure_conv.csv", "azure_code_no_newline.csv", "mooncake_conversation.jsonl", "mooncake_synthetic.jsonl"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "")
	}
	f.Add([]byte(RequestColumns+"\n0,0.5,10,5,5,0,0,0,0,0.0,3,1:10\n1,0.25,10,5,5,-1,0,0,0,2.0,b,1:4 9:6\n"), "servesim")
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n\"1\",5,\"5\"\"\"\n"), "azure")
	f.Add([]byte(`{"timestamp":1e3,"x":[{}],"input_length":513,"output_length":1,"hash_ids":[7]}`), "mooncake")
	f.Fuzz(func(t *testing.T, b []byte, format string) {
		tr, err := ReadTrace("f", bytes.NewReader(b), format)
		if err != nil {
			if tr != nil {
				t.Fatal("a trace and an error")
			}
			return
		}
		s := Spec{Trace: tr}
		if tr.Span() == sim.Never {
			return
		}
		first := rows(sentBy(t, s))
		again := readText(t, "again", RequestColumns+"\n"+first)
		if second := rows(sentBy(t, Spec{Trace: again})); tr.rows[0].at < epoch && first != second {
			t.Fatalf("replay differs:\n%s\n%s", first, second)
		}
	})
}

// sentBy returns the requests of a trace without playing them, and checks each.
func sentBy(t *testing.T, s Spec) []Request {
	t.Helper()
	var all []Request
	content := s.content(streams(1))
	last := sim.Time(0)
	for r := new(sent); content.next(r); r = new(sent) {
		if r.Tokens < 1 || r.Output < 1 || r.Output > r.MaxTokens || r.Prompt.Tokens() != int(r.Tokens) || r.Arrival < last {
			t.Fatalf("request %+v after %v", r.Request, last)
		}
		last = r.Arrival
		all = append(all, r.Request)
	}
	if len(all) != s.Trace.Len() {
		t.Fatalf("%d of %d rows", len(all), s.Trace.Len())
	}
	return all
}

func BenchmarkReadTrace(b *testing.B) {
	for _, name := range []string{"azure_conv.csv", "mooncake_conversation.jsonl"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			b.Fatal(err)
		}
		var long []byte
		for i, line := range bytes.SplitAfter(text, []byte("\n")) {
			long = append(long, line...)
			if i > 0 {
				long = append(long, bytes.Repeat(line, 999)...)
			}
		}
		text = long
		rows := 0
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tr, err := ReadTrace(name, bytes.NewReader(text), "")
				if err != nil {
					b.Fatal(err)
				}
				rows = tr.Len()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	r := Request{ID: 123456, Arrival: 12_345_678_901_234, Tokens: 512, Output: 200, MaxTokens: 200, Answer: 987654, Prompt: kvcache.Prompt{{Label: 987653, Len: 512}}}
	buf := AppendRequest(nil, &r)
	for b.Loop() {
		buf = AppendRequest(buf[:0], &r)
	}
}
