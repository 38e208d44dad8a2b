package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/scenarios"
)

// An item is something built in: its name, one line on it, and (with --verbose) where its numbers come from.
type item struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	ID      string `json:"id,omitempty"`
	Status  string `json:"status,omitempty"`
	Source  string `json:"source,omitempty"`
	Note    string `json:"note,omitempty"`
}

func newModels(e *env) *cobra.Command { return newList(e, "models", "List the models", models) }

func newGPUs(e *env) *cobra.Command { return newList(e, "gpus", "List the GPUs", gpus) }

// newScenarios lists the embedded scenarios, or prints one: what to look at and to try stands in its header.
func newScenarios(e *env) *cobra.Command {
	c := newList(e, "scenarios", "List the embedded scenarios, or print one", embedded)
	c.Use = "scenarios [NAME]"
	c.Long = "List the embedded scenarios. With a NAME, print that one: its header says what to look at and what to try, and it is a\n" +
		"file to begin one's own with."
	c.Example = "  servesim scenarios\n" +
		"  servesim scenarios chat >mine.yaml"
	c.Args = arguments(1)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return described(embedded()), cobra.ShellCompDirectiveNoFileComp
	}
	list := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return list(c, args)
		}
		return e.printScenario(args[0])
	}
	return c
}

func (e *env) printScenario(name string) error {
	text, ok := scenarios.Source(name)
	if !ok {
		var names []string
		for _, s := range scenarios.Names() {
			names = append(names, s.Name)
		}
		if near := scenarios.Nearest(name, names); len(near) > 0 {
			return usagef("there is no scenario %q; did you mean %s?", name, strings.Join(near, " or "))
		}
		return usagef("there is no scenario %q; servesim scenarios lists them", name)
	}
	_, err := e.stdout.Write(text)
	return err
}

// newList is a command that shows what is built in.
func newList(e *env, name, short string, items func() []item) *cobra.Command {
	var format string
	var verbose bool
	c := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  arguments(0),
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			list := items()
			if !verbose {
				for i := range list {
					list[i].Source, list[i].Note = "", ""
				}
			}
			if format == "json" {
				out := json.NewEncoder(e.stdout)
				out.SetIndent("", "  ")
				return out.Encode(list)
			}
			return listTable(list, verbose).Text(e.stdout)
		},
	}
	c.Flags().StringVar(&format, "format", "table", "`table` or json")
	c.Flags().BoolVar(&verbose, "verbose", false, "with the source of each number")
	return c
}

func listTable(list []item, verbose bool) report.Table {
	t := report.Table{Header: []string{"name", "summary"}, Left: []int{0, 1, 2, 3, 4, 5}}
	status := slices.ContainsFunc(list, func(i item) bool { return i.Status != "" })
	if status {
		t.Header = append(t.Header, "kernels")
	}
	named := verbose && slices.ContainsFunc(list, func(i item) bool { return i.ID != "" })
	if named {
		t.Header = append(t.Header, "Hugging Face id")
	}
	if verbose {
		t.Header = append(t.Header, "source", "note")
	}
	for _, i := range list {
		row := []string{i.Name, i.Summary}
		if status {
			row = append(row, strings.Replace(i.Status, hardware.DatasheetOnly, hardware.DatasheetOnly+": cannot run", 1))
		}
		if named {
			row = append(row, i.ID)
		}
		if verbose {
			row = append(row, i.Source, i.Note)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func models() []item {
	var list []item
	for _, m := range hardware.Models() {
		list = append(list, item{Name: m.Name, ID: m.ID, Summary: modelSummary(m), Source: m.Source, Note: m.Note})
	}
	return list
}

func modelSummary(m hardware.Model) string {
	total, active := m.Params()
	size := billions(total)
	if m.MoE.Experts > 0 {
		size += fmt.Sprintf(" (%s active)", billions(active))
	}
	words := []string{size, fmt.Sprintf("%d layers", m.Layers)}
	switch {
	case m.MLA.KVRank > 0:
		words = append(words, "MLA")
	case m.KVHeads == m.Heads:
		words = append(words, fmt.Sprintf("%d heads", m.Heads))
	default:
		words = append(words, fmt.Sprintf("%d heads on %d KV heads", m.Heads, m.KVHeads))
	}
	if m.MoE.Experts > 0 {
		words = append(words, fmt.Sprintf("%d of %d experts", m.MoE.TopK, m.MoE.Experts))
	}
	if m.Window > 0 {
		words = append(words, fmt.Sprintf("window %d", m.Window))
	}
	return strings.Join(append(words, string(m.Dtype)), ", ")
}

func billions(params int64) string {
	if params >= 1e12 {
		return fmt.Sprintf("%.3gT", float64(params)/1e12)
	}
	return fmt.Sprintf("%.3gB", float64(params)/1e9)
}

func gpus() []item {
	var list []item
	for _, d := range hardware.Devices() {
		source := d.Source
		if d.Kernels.Source != "" {
			source += "; kernels: " + d.Kernels.Source
		}
		list = append(list, item{Name: d.Name, Summary: gpuSummary(d), Status: d.Status, Source: source, Note: d.Note})
	}
	return list
}

func gpuSummary(d hardware.Device) string {
	words := []string{
		d.Vendor + " " + d.Arch,
		fmt.Sprintf("%.4g TFLOP/s BF16", d.BF16/1e12),
		fmt.Sprintf("%.3g TB/s", d.Bandwidth/1e12),
		fmt.Sprintf("%.3g GiB", float64(d.Memory)/(1<<30)),
		fmt.Sprintf("ridge %.0f FLOP/B", d.BF16/d.Bandwidth),
	}
	if d.Link.Bandwidth > 0 {
		words = append(words, fmt.Sprintf("%s %.3g GB/s", d.Link.Name, d.Link.Bandwidth/1e9))
	}
	return strings.Join(append(words, fmt.Sprintf("%.0f W", d.TDP)), ", ")
}

func embedded() []item {
	var list []item
	for _, s := range scenarios.Names() {
		list = append(list, item{Name: s.Name, Summary: s.Summary})
	}
	return list
}

// checkFormat refuses a format that a command does not have.
func checkFormat(format string, allowed ...string) error {
	if slices.Contains(allowed, format) {
		return nil
	}
	return usagef("--format %s is unknown; allowed: %s", format, strings.Join(allowed, ", "))
}
