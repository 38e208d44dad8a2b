package scenarios

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatFlagsLeadToNamesThem(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{"hardware.gpu=v100-sxm2-32g"}, "--set hardware.gpu: engine: "},
		{[]string{"engine.num_gpu_blocks_override=1"}, "--set engine.num_gpu_blocks_override: engine: "},
		{[]string{"engine.kv_cache_memory_bytes=1"}, "--set engine.kv_cache_memory_bytes: engine: "},
		{[]string{"engine.quantization=mxfp4"}, "--set engine.quantization: engine: "},
		{[]string{"model=llama-3.1-70b"}, "--set model: engine: "},
		{[]string{"model=llama-3.1-70b", "hardware.gpu=l40s"}, "--set model, --set hardware.gpu: engine: "},
		{[]string{"workload.rate=3", "model=llama-3.1-70b"}, "--set model: engine: "},
	} {
		_, err := build("chat", c.settings...)
		var m Mistakes
		if !errors.As(err, &m) || !strings.HasPrefix(err.Error(), c.want) || m[0].FromFlag() {
			t.Errorf("%q: got %v, want %s… and no flag that is wrong in itself", c.settings, err, c.want)
		}
	}
	if got := mistakesOf(t, "model: llama-3.1-70b", "workload.rate=3"); len(got) != 1 || !strings.HasPrefix(got[0], "test.yaml: engine: ") {
		t.Errorf("a flag that has nothing to do with it is named: %q", got)
	}
}

func TestOnlyAValueOnTheCommandLineIsTheFaultOfAFlag(t *testing.T) {
	dir := t.TempDir()
	config, trace := filepath.Join(dir, "config.json"), filepath.Join(dir, "empty.csv")
	for _, file := range []string{config, trace} {
		if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		setting string
		want    bool
	}{
		{"workload.rate=-1", true},
		{"hardware.gpu=h1000", true},
		{"model=nosuch", true},
		{"model=nosuch.json", true},
		{"model=" + config, false},
		{"workload.arrivals={name: trace, file: nosuch.csv}", true},
		{"workload.arrivals={name: trace, file: " + trace + "}", false},
	} {
		_, err := build("chat", c.setting)
		var m Mistakes
		if !errors.As(err, &m) || m[0].FromFlag() != c.want {
			t.Errorf("--set %s: from a flag must be %t: %v", c.setting, c.want, err)
		}
	}
}

func TestAnotherModelOrATraceIsNotBoundByAShippedScenario(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		want     int
	}{
		{"chat", nil, 16384},
		{"chat", []string{"hardware.gpu=l40s"}, 16384},
		{"chat", []string{"model=Llama-2-7b"}, 4096},
		{"chat", []string{"model=Qwen/Qwen2.5-7B-Instruct"}, 32768},
		{"chat", []string{"model=Qwen/Qwen2.5-7B-Instruct", "engine.max_model_len=8192"}, 8192},
		{"chat", []string{"workload.arrivals={name: trace, file: azure-2023-conversation}"}, 131072},
		{"engine: {max_model_len: 16384}", []string{"model=Qwen/Qwen2.5-7B-Instruct"}, 16384},
	} {
		if got := mustBuild(t, c.name, c.settings...).Deployment.MaxModelLen; got != c.want {
			t.Errorf("%s with %q: max_model_len %d, want %d", c.name, c.settings, got, c.want)
		}
	}
}

func TestAModelIsNamedAfterItsFolderAndFile(t *testing.T) {
	for path, want := range map[string]string{ // order does not matter: each stands alone
		"/models/llama-9/config.json": "llama-9",
		"/models/llama-9/small.json":  "llama-9/small",
		"/small.json":                 "small",
	} {
		if got := configName(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestTextThatEditorsAndAttackersWriteIsReadOrRefused(t *testing.T) {
	if _, err := Parse("bom.yaml", []byte("\xef\xbb\xbfmodel: llama-3.1-8b\n")); err != nil {
		t.Errorf("a byte-order mark: %v", err)
	}
	_, err := Parse("deep.yaml", []byte("workload:\n  "+strings.Repeat("[", 20_000)))
	if err == nil || err.Error() != "deep.yaml:2:103: brackets nest more than 100 deep" {
		t.Errorf("nested lists: %v", err)
	}
	if got := mistakesOf(t, "workload: {timeout: -5}"); len(got) != 1 || !strings.Contains(got[0], "must not be negative, got -5") {
		t.Errorf("a negative span without a unit: %q", got)
	}
	if got := mistakesOf(t, "", "engine.max_num_seqs="); len(got) != 1 || !strings.HasPrefix(got[0], "--set engine.max_num_seqs: engine.max_num_seqs: needs a value") {
		t.Errorf("an empty setting: %q", got)
	}
}
