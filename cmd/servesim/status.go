package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/servesim/servesim/scenarios"
)

// The exit status is 2 when the command line itself is wrong: an unknown command or flag, a value that a flag cannot have,
// a name of a scenario, model, GPU or file that does not exist. It is 1 when the run failed or a demand was missed, whatever
// stands on the command line: a mistake within a file (a scenario, a trace, a config.json, a profile), an engine that
// does not fit its GPU, a report that cannot be written, an assertion. A file that a scenario names and that is missing is a mistake within the scenario.

// blamed makes an error wrong usage where only values on the command line are at fault.
func blamed(err error) error {
	if name := (*scenarios.OpenError)(nil); errors.As(err, &name) {
		return usageError{err}
	}
	var mistakes scenarios.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) == 0 {
		return err
	}
	for _, m := range mistakes {
		if !m.FromFlag() {
			return err
		}
	}
	return usageError{err}
}

// wantValues refuses flags with an empty value, which would otherwise be as good as left out.
func wantValues(c *cobra.Command, _ []string) error {
	mayBeEmpty := make(map[string]bool)
	for _, l := range laterFlags() {
		mayBeEmpty[l.name] = len(l.neutral) > 0 && l.neutral[0] == ""
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.String() == "" && !mayBeEmpty[f.Name] {
			err = usagef("--%s needs a value, got nothing", f.Name)
		}
	})
	return err
}
