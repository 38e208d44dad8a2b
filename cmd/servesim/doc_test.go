package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servesim/servesim/scenarios"
)

// Every command in the README is run, in an empty directory, and must print what the README shows: a document that is
// not executed is a document that lies.
func TestTheREADMEShowsWhatTheProgramPrints(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	path, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, commands := replay(t, string(want))
	if commands == 0 {
		t.Fatal("README.md shows no command: no line begins with \"$ servesim \" within a fence")
	}
	if update() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("README.md (-shown +printed); go test ./cmd/servesim -update rewrites it:\n%s", d)
	}
}

// replay rewrites the output below each command of a document and counts the commands.
func replay(t *testing.T, document string) (rewritten string, commands int) {
	var out strings.Builder
	fenced, skipping := false, false
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "```") {
			fenced, skipping = !fenced, false
		}
		args, isCommand := commandOf(line)
		if strings.HasPrefix(line, "$ ") {
			skipping = false
		}
		if !skipping {
			out.WriteString(line)
		}
		if fenced && isCommand {
			commands++
			out.WriteString(output(t, args))
			skipping = true
		}
	}
	return out.String(), commands
}

// commandOf takes the arguments out of "$ servesim …" or "$ go run ./cmd/servesim …". Quotes hold blanks together.
func commandOf(line string) ([]string, bool) {
	for _, prompt := range []string{"$ servesim ", "$ go run ./cmd/servesim "} {
		if rest, ok := strings.CutPrefix(line, prompt); ok {
			var args []string
			for i, part := range strings.Split(strings.TrimSpace(rest), "'") {
				if i%2 == 1 {
					args = append(args, part)
				} else {
					args = append(args, strings.Fields(part)...)
				}
			}
			return args, true
		}
	}
	return nil, false
}

// output is what a command prints: on standard output, then on standard error.
func output(t *testing.T, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := &env{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
	code := execute(context.Background(), e, args)
	if code == 2 {
		t.Errorf("servesim %s is wrong usage: %s", strings.Join(args, " "), stderr.String())
	}
	return stdout.String() + stderr.String()
}

func TestTheREADMENamesEveryScenario(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios.Names() {
		if !bytes.Contains(text, []byte("`"+s.Name+"`")) {
			t.Errorf("README.md does not name the scenario `%s`: say what it is about", s.Name)
		}
	}
}

func TestReplayRewritesOutputsAndNothingElse(t *testing.T) {
	document := "text\n```\n$ servesim scenarios --format json\nold\n$ go test ./...\nkept\n```\n$ servesim version\n"
	got, commands := replay(t, document)
	if commands != 1 || strings.Contains(got, "old") || !strings.Contains(got, "kept") || !strings.Contains(got, `"name": "chat"`) {
		t.Errorf("%d commands, want 1:\n%s", commands, got)
	}
	args, _ := commandOf("$ servesim run --assert 'ttft.p99 < 1s' chat\n")
	if d := cmp.Diff([]string{"run", "--assert", "ttft.p99 < 1s", "chat"}, args); d != "" {
		t.Errorf("quotes (-want +got):\n%s", d)
	}
}
