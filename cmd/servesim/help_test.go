package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag of a scenario that no chapter names would be shown among the command's own.
func TestEveryFlagOfAScenarioStandsInOneChapter(t *testing.T) {
	c := &cobra.Command{Use: "try"}
	addScenarioFlags(c)
	var named []string
	for _, chapter := range chapters() {
		for name := range strings.FieldsSeq(chapter.flags) {
			if slices.Contains(named, name) {
				t.Errorf("--%s stands in two chapters", name)
			}
			if c.Flags().Lookup(name) == nil {
				t.Errorf("there is no --%s", name)
			}
			named = append(named, name)
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.Contains(named, f.Name) {
			t.Errorf("--%s stands in no chapter of the help: name it in chapters", f.Name)
		}
	})
}

func TestHelpFoldsLongLinesAndLosesNoFlag(t *testing.T) {
	c := &cobra.Command{Use: "try"}
	c.Flags().String("mine", "", "a flag of its own")
	addScenarioFlags(c)
	c.Flags().SortFlags = false
	text := inChapters(c.Flags())
	for line := range strings.Lines(text) {
		if n := len([]rune(line)); n > 121 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(text, "  --"+f.Name+" "); n != 1 && !f.Hidden {
			t.Errorf("--%s is shown %d times", f.Name, n)
		}
	})
	if own := strings.Index(text, "--mine"); own < 0 || own > strings.Index(text, "--model") {
		t.Errorf("the command's own flag does not come first:\n%s", text)
	}
}
