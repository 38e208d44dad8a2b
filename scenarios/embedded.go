package scenarios

import (
	"embed"
	"strings"
)

// embeddedNames are the experiments that ship with the program, in the order in which to try them.
var embeddedNames = []string{
	"chat", "summarize", "conversation", "agent", "multiturn", "burst", "orders", "replicas",
	"policies-saturated", "policies-stalls",
	"quantization-fp16", "quantization-int8", "quantization-awq", "quantization-awq-fp8kv", "quantization-fp8",
	"speculation", "speculation-busy",
	"apart-1p1d", "apart-2-mixed", "apart-2p2d", "apart-4-mixed",
}

//go:embed *.yaml
var embeddedFiles embed.FS

//go:embed azure-2023-conversation.csv.gz
var azureConversation []byte

// An Entry names an embedded scenario.
type Entry struct {
	Name    string `json:"name"`
	Summary string `json:"summary"` // one line
}

// Names returns the embedded scenarios, in the order in which to try them.
func Names() []Entry {
	entries := make([]Entry, 0, len(embeddedNames))
	for _, name := range embeddedNames {
		src, _ := embedded(name)
		entries = append(entries, Entry{name, summaryOf(src)})
	}
	return entries
}

// Source returns the text of an embedded scenario, comments and all.
func Source(name string) ([]byte, bool) { return embedded(name) }

func embedded(name string) ([]byte, bool) {
	for _, n := range embeddedNames {
		if n == name {
			src, err := embeddedFiles.ReadFile(n + ".yaml")
			return src, err == nil
		}
	}
	return nil, false
}

// summaryOf reads the one line without reading the rest.
func summaryOf(src []byte) string {
	for line := range strings.Lines(string(src)) {
		if s, ok := strings.CutPrefix(line, "summary: "); ok {
			return strings.TrimSpace(s)
		}
	}
	return ""
}
