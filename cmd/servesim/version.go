package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios"
)

func newVersion(e *env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(0),
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			if format == "json" {
				return json.NewEncoder(e.stdout).Encode(map[string]string{"version": scenarios.Version, "go": runtime.Version()})
			}
			_, err := fmt.Fprintf(e.stdout, "servesim %s, built with %s for %s/%s\n", scenarios.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	takesVerbose(c)
	c.Flags().StringVar(&format, "format", "table", "`table` or json")
	return c
}
