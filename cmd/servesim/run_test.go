package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// session runs one command line.
func session(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, diag bytes.Buffer
	e := &env{stdin: strings.NewReader(""), stdout: &out, stderr: &diag}
	code = execute(ctx, e, args)
	return code, out.String(), diag.String()
}

func TestInterruptEndsTheRunWithAMessage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := session(ctx, "run", "conversation")
	if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "servesim: interrupted: ") {
		t.Errorf("status %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestExitStatusTellsMistakesFromFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{ // order does not matter: the files stand alone
		"syntax.yaml":  "workload: [",
		"unknown.yaml": "modle: llama-3.1-8b",
		"value.yaml":   "workload: {rate: fast}",
		"trace.yaml":   "workload: {arrivals: {name: trace, file: nosuch.csv}}",
		"empty.csv":    "TIMESTAMP,ContextTokens,GeneratedTokens\n",
		"config.json":  "{}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line string
		want int
	}{
		{"run burst --num-prompts 2", 0},
		{"run burst --num-prompts 2 --assert completed>2", 1},
		{"run --model llama-3.1-70b", 1},
		{"run --gpu v100", 1},
		{"run --num-gpu-blocks-override 1", 1},
		{"run syntax.yaml", 1},
		{"run unknown.yaml", 1},
		{"run value.yaml", 1},
		{"run trace.yaml", 1},
		{"run --dataset-path empty.csv", 1},
		{"run --model config.json", 1},
		{"run value.yaml --max-num-seqs many", 1},
		{"run burst --num-prompts 2 -o nosuch/report.txt", 1},
		{"runs syntax.yaml", 1},
		{"run --dataset-path nosuch.csv", 2},
		{"run --model nosuch.json", 2},
		{"run --model nosuch", 2},
		{"run --gpu nosuch", 2},
		{"run --max-num-seqs many", 2},
		{"run --set workload.rate=-1", 2},
		{"run --set workload.rate=", 2},
		{"run nosuch", 2},
		{"run nosuch.yaml", 2},
		{"runs nosuch.yaml", 2},
		{"run --unknown", 2},
		{"nonsense", 2},
		{"gpus --format yaml", 2},
		{"version", 0},
		{"help", 0},
		{"", 0},
	} {
		if code, _, stderr := session(t.Context(), strings.Fields(c.line)...); code != c.want {
			t.Errorf("servesim %s: status %d, want %d (%s)", c.line, code, c.want, stderr)
		}
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	_, first, _ := session(t.Context(), "run", "chat", "--num-prompts", "50", "--format", "json")
	_, second, _ := session(t.Context(), "run", "chat", "--num-prompts", "50", "--format", "json")
	_, other, _ := session(t.Context(), "run", "chat", "--num-prompts", "50", "--format", "json", "--seed", "2")
	if first != second {
		t.Error("two runs with one seed differ")
	}
	if first == other {
		t.Error("another seed changes nothing")
	}
}

func TestTheBarAppearsOnlyOnATerminalAndOnlyAfterAWhile(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		running  time.Duration
		want     bool
	}{
		{"a long run on a terminal", true, time.Minute, true},
		{"a short run on a terminal", true, 0, false},
		{"a long run into a file", false, time.Minute, false},
	} {
		var diag bytes.Buffer
		p := newProgress(&env{stderr: &diag, terminal: c.terminal})
		p.begun = p.begun.Add(-c.running)
		p.show(10, 100)
		p.close()
		if drawn := diag.Len() > 0; drawn != c.want {
			t.Errorf("%s: a bar is %t, want %t: %q", c.name, drawn, c.want, diag.String())
		}
		if got := p.so(); got != "10 of 100 requests had ended; nothing was reported" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
