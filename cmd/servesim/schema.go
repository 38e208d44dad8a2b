package main

import (
	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios"
)

func newSchema(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenario files",
		Long:  "Print the JSON schema of scenario files, for editors: in VS Code, yaml.schemas; elsewhere, the YAML language server.",
		Args:  arguments(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := e.stdout.Write(scenarios.Schema())
			return err
		},
	}
	takesVerbose(c)
	return c
}

// takesVerbose accepts the flag of the lists on a command that has no more to say.
func takesVerbose(c *cobra.Command) {
	c.Flags().Bool("verbose", false, "accepted; there is no more to show")
}
