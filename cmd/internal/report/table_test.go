package report

import (
	"strings"
	"testing"
)

func TestTablesAreAlignedAndEndWithoutBlanks(t *testing.T) {
	table := Table{
		Header: []string{"latency", "mean", "p99.9"},
		Rows:   [][]string{{"TTFT", "52 ms", "1.31 s"}, {"queue", "", ""}},
		Left:   []int{0},
	}
	var text, markdown strings.Builder
	if err := table.Text(&text); err != nil {
		t.Fatal(err)
	}
	want := "latency   mean   p99.9\nTTFT     52 ms  1.31 s\nqueue\n"
	if text.String() != want {
		t.Errorf("text:\n%q\nwant:\n%q", text.String(), want)
	}
	if err := table.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	want = "| latency |  mean |  p99.9 |\n|:--------|------:|-------:|\n| TTFT    | 52 ms | 1.31 s |\n| queue   |       |        |\n"
	if markdown.String() != want {
		t.Errorf("markdown:\n%s\nwant:\n%s", markdown.String(), want)
	}
}
