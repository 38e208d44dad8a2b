package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// loadFlags replace the scenario's whole workload by the one that `vllm bench serve` would generate.
type loadFlags struct {
	dataset, path       word
	input, output       word
	rangeRatio, prefix  word
	burstiness          word
	inputLen, outputLen word
	names               []string // of the flags that replace the workload
}

func (l *loadFlags) add(f *pflag.FlagSet) {
	flag := func(w *word, name, value, usage string, replaces bool) {
		w.kind = value
		f.Var(w, name, usage)
		if replaces {
			l.names = append(l.names, name)
		}
	}
	flag(&l.burstiness, "burstiness", "SHAPE", "gamma arrivals of this shape: 1 is Poisson, below 1 burstier", false)
	flag(&l.dataset, "dataset-name", "NAME", "workload of vllm bench serve: random, or trace with --dataset-path", true)
	flag(&l.path, "dataset-path", "FILE", "replay a trace file: Azure (CSV) or Mooncake (JSONL), recognised by itself", true)
	flag(&l.input, "random-input-len", "N", "mean prompt length (1024)", true)
	flag(&l.output, "random-output-len", "N", "mean answer length (128)", true)
	flag(&l.rangeRatio, "random-range-ratio", "R", "lengths spread uniformly over L(1±R) (0); or {\"input\": R, \"output\": R}", true)
	flag(&l.prefix, "random-prefix-len", "N", "tokens that all prompts share, on top of their length (0)", true)
	flag(&l.inputLen, "input-len", "N", "the same as --random-input-len", true)
	flag(&l.outputLen, "output-len", "N", "the same as --random-output-len", true)
}

// settings returns what the flags set: the whole workload if one of those that replace it was given, upon which --set
// may change single fields, and the fields that the flags give and --set must not change.
func (l *loadFlags) settings(f *pflag.FlagSet) (whole, fields []setting, err error) {
	origin := ""
	for _, name := range l.names {
		if f.Changed(name) {
			origin = "--" + name
			break
		}
	}
	switch {
	case origin == "":
	case l.path.text != "":
		whole, fields, err = l.trace(f)
	default:
		whole, fields, err = l.random(origin)
	}
	if err != nil {
		return nil, nil, err
	}
	if f.Changed("burstiness") {
		if l.path.text != "" {
			return nil, nil, usagef("--burstiness has no meaning for a trace, which brings its own times: leave it out")
		}
		fields = append(fields, setting{"workload.arrivals", "{name: gamma, burstiness: " + l.burstiness.text + "}", "--burstiness"})
	}
	return whole, fields, nil
}

// trace replays a file.
func (l *loadFlags) trace(f *pflag.FlagSet) (whole, fields []setting, err error) {
	for _, name := range l.names {
		if f.Changed(name) && name != "dataset-path" && name != "dataset-name" {
			return nil, nil, usagef("--%s and --dataset-path exclude each other: the file brings its own lengths", name)
		}
	}
	switch l.dataset.text {
	case "", "trace", "timed_trace", "azure", "mooncake":
	case "random":
		return nil, nil, usagef("--dataset-name random takes no --dataset-path: leave one of them out")
	default:
		return nil, nil, unknownDataset(l.dataset.text)
	}
	file, _ := json.Marshal(l.path.text)
	whole = []setting{{"workload", fmt.Sprintf("{arrivals: {name: trace, file: %s}}", file), "--dataset-path"}}
	fields = []setting{
		{"workload.arrivals.name", "trace", "--dataset-path"},
		{"workload.arrivals.file", l.path.text, "--dataset-path"},
	}
	return whole, fields, nil
}

// random is vLLM's default data set: prompts of 1024 tokens and answers of 128, all at once, gamma arrivals rescaled so
// that the mean rate is exact when a rate is given.
func (l *loadFlags) random(origin string) (whole, fields []setting, err error) {
	switch l.dataset.text {
	case "", "random":
	case "trace", "timed_trace", "azure", "mooncake":
		return nil, nil, usagef("--dataset-name %s needs --dataset-path FILE", l.dataset.text)
	default:
		return nil, nil, unknownDataset(l.dataset.text)
	}
	ratioIn, ratioOut, err := l.ratios()
	if err != nil {
		return nil, nil, err
	}
	const text = "{requests: 1000, rate: inf, arrivals: {name: gamma, burstiness: 1}, " +
		"prompt: {dist: uniform, mean: 1024, range_ratio: 0}, output: {dist: uniform, mean: 128, range_ratio: 0}}"
	whole = []setting{{"workload", text, origin}}
	for _, given := range []setting{
		{"workload.prompt.mean", orElse(l.input.text, l.inputLen.text), "--random-input-len"},
		{"workload.output.mean", orElse(l.output.text, l.outputLen.text), "--random-output-len"},
		{"workload.prompt.range_ratio", ratioIn, "--random-range-ratio"},
		{"workload.output.range_ratio", ratioOut, "--random-range-ratio"},
	} {
		if given.value != "" {
			fields = append(fields, given)
		}
	}
	if l.prefix.text != "" && l.prefix.text != "0" {
		fields = append(fields, setting{"workload.prefix.groups", "1", "--random-prefix-len"},
			setting{"workload.prefix.tokens", l.prefix.text, "--random-prefix-len"})
	}
	return whole, fields, nil
}

// ratios reads --random-range-ratio: one number for both lengths, or a JSON object with one for each.
func (l *loadFlags) ratios() (input, output string, err error) {
	text := l.rangeRatio.text
	if !strings.HasPrefix(text, "{") {
		return text, text, nil
	}
	var both struct{ Input, Output json.Number }
	if err := json.Unmarshal([]byte(text), &both); err != nil {
		return "", "", usagef("--random-range-ratio %s: want a number, or {\"input\": R, \"output\": R}: %v", text, err)
	}
	return orElse(both.Input.String(), "0"), orElse(both.Output.String(), "0"), nil
}

func unknownDataset(name string) error {
	switch name {
	case "sharegpt", "burstgpt", "sonnet", "random-mm", "random-rerank", "hf", "custom", "custom_audio", "custom_image", "prefix_repetition", "spec_bench", "speed_bench":
		return usagef("--dataset-name %s is not supported yet: use random, or --dataset-path with an Azure or Mooncake trace", name)
	}
	return usagef("--dataset-name %s is unknown; allowed: random, trace", name)
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
