package measured

import (
	_ "embed"
	"strings"
)

//go:embed measured.csv
var embeddedRuns string

//go:embed vllm019_requests.csv
var embeddedRequests string

//go:embed vllm019_summary.csv
var embeddedSettings string

// Embedded returns the table that ships with the program: 141 published runs of vLLM 0.11 to 0.21. Each row names its
// source.
func Embedded() (*Table, error) {
	t, err := ReadTable("measured.csv", strings.NewReader(embeddedRuns))
	if t != nil {
		t.embedded = true
	}
	return t, err
}

// EmbeddedLogs returns the logs that ship with the program: two runs of vLLM 0.19, request by request, published with
// LLMServingSim.
func EmbeddedLogs() (*Logs, error) {
	l, err := ReadLogs("vllm019_requests.csv", strings.NewReader(embeddedRequests), "vllm019_summary.csv", strings.NewReader(embeddedSettings))
	if l != nil {
		l.embedded = true
	}
	return l, err
}
