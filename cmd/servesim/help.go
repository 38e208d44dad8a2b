package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A chapter is a heading in the help of commands with many flags, and the flags below it.
type chapter struct {
	title string
	flags string // their names, separated by blanks, in the order in which they are shown
}

// chapters divide the flags that change a scenario. A flag that no chapter names is the command's own and comes first.
func chapters() []chapter {
	return []chapter{
		{"Model and GPUs", "model gpu dtype quantization kv-cache-dtype tensor-parallel-size pipeline-parallel-size data-parallel-size " +
			"enable-expert-parallel engine-profile profile"},
		{"Load, by default the scenario's", "request-rate num-prompts max-concurrency burstiness dataset-name dataset-path random-input-len " +
			"random-output-len random-range-ratio random-prefix-len input-len output-len duration timeout warmup seed goodput slo"},
		{"Steps and their order", "max-num-seqs max-num-batched-tokens max-num-scheduled-tokens max-model-len long-prefill-token-threshold " +
			"enable-chunked-prefill scheduler scheduling-policy async-scheduling enforce-eager cudagraph-capture-sizes speculative-config"},
		{"KV memory", "gpu-memory-utilization kv-cache-memory-bytes num-gpu-blocks-override block-size watermark scheduler-reserve-full-isl " +
			"enable-prefix-caching kv-offloading-size kv-offloading-backend"},
		{"Front end", "api-server-count stream-interval"},
		{"Several engines", "replicas router prefill-replicas decode-replicas"},
		{"vLLM V0, with --scheduler continuous", "preemption-mode swap-space"},
		{"SGLang, with --scheduler sglang", "chunked-prefill-size max-prefill-tokens schedule-policy schedule-conservativeness enable-mixed-chunk"},
		{"Everything else in a scenario", "set"},
	}
}

// help shows what a command does: one list of flags, or chapters where the flags are those of a scenario.
func help(w io.Writer, c *cobra.Command) {
	usage := c.UsageString()
	if c.Flags().Lookup("set") != nil {
		plain := strings.TrimRight(c.LocalFlags().FlagUsages(), " \n")
		usage = strings.Replace(usage, plain, strings.TrimRight(inChapters(c.LocalFlags()), "\n"), 1)
	}
	fmt.Fprintf(w, "%s\n\n%s", orElse(c.Long, c.Short), unmarked(usage))
}

// unmarked blanks pflag's mark of a switch: that --steps=false is possible goes without saying.
func unmarked(usage string) string {
	const mark = "[=true|false]"
	return strings.ReplaceAll(usage, mark, strings.Repeat(" ", len(mark)))
}

// inChapters lists the command's own flags, then the others by chapter, in one column for all.
func inChapters(f *pflag.FlagSet) string {
	lines := flagLines(f)
	var later strings.Builder
	for _, c := range chapters() {
		fmt.Fprintf(&later, "\n%s:\n", c.title)
		for name := range strings.FieldsSeq(c.flags) {
			later.WriteString(lines[name])
			delete(lines, name)
		}
	}
	var own strings.Builder
	f.VisitAll(func(flag *pflag.Flag) { own.WriteString(lines[flag.Name]) })
	return own.String() + later.String()
}

// flagLines returns pflag's text on each flag that is shown, folded: pflag writes a line each, in the order of its visits.
func flagLines(f *pflag.FlagSet) map[string]string {
	text := strings.Split(f.FlagUsages(), "\n")
	lines := map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			_, usage := pflag.UnquoteUsage(flag)
			lines[flag.Name], text = fold(unmarked(text[0]), usage), text[1:]
		}
	})
	return lines
}

// fold breaks a line between words, before 120 columns, and indents what follows to the column where its usage begins.
func fold(line, usage string) string {
	const width = 120
	column := strings.Index(line, usage)
	var b strings.Builder
	for len(line) > width {
		at := strings.LastIndexByte(line[:width], ' ')
		if at <= column {
			break
		}
		b.WriteString(line[:at] + "\n")
		line = strings.Repeat(" ", column) + line[at+1:]
	}
	return b.String() + line + "\n"
}
