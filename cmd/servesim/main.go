// Command servesim simulates an LLM serving engine: what TTFT, throughput and KV use would be under a load, on
// hardware that you need not own.
//
// Start with `servesim run`; `servesim help` lists the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/servesim/servesim/scenarios"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	e := &env{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
		getenv:   os.Getenv,
	}
	code := execute(ctx, e, os.Args[1:])
	stop()
	os.Exit(code)
}

// env is the world as a command sees it, so that tests can be one.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool                // stderr is one: a progress bar may be drawn
	warnings       []string            // about the command line itself
	getenv         func(string) string // may be nil: an empty environment
}

// warn prints a warning at once, with the program's name before it as in an error.
func (e *env) warn(text string) {
	fmt.Fprintf(e.stderr, "servesim: warning: %s\n", text)
}

// A usageError is a mistake in the command line: exit status 2 instead of 1.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// execute runs one command line and returns the exit status: 0 done, 1 or 2 as blamed says.
func execute(ctx context.Context, e *env, args []string) int {
	root := newRoot(e)
	if c := named(root, args); c != nil {
		plain, warnings := respell(args[1:], c.Flags())
		args = append([]string{args[0]}, plain...)
		e.warnings = warnings
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(e.stderr, "servesim: %s\n", message(root, args, err))
	var usage usageError
	if errors.As(err, &usage) || isUnknownCommand(err) {
		return 2
	}
	return 1
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "servesim",
		Short: "Simulate an LLM serving engine",
		Long: "servesim simulates an LLM serving engine (vLLM's scheduler, paged KV cache, a GPU's roofline):\n" +
			"what happens under this load, and why.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentPreRunE = wantValues
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.Version = scenarios.Version
	root.SetVersionTemplate("servesim {{.Version}}\n")
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { help(e.stdout, c) })
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{flagMistake(c, err)} })
	for _, c := range []*cobra.Command{
		newRun(e), newRuns(e), newMerge(e), newBench(e), newRoofline(e), newValidate(e), newCalibrate(e), newModels(e), newGPUs(e), newScenarios(e), newSchema(e), newVersion(e),
	} {
		c.Flags().SortFlags = false
		root.AddCommand(c)
	}
	return root
}

// named finds the command that args name: the verb comes first.
func named(root *cobra.Command, args []string) *cobra.Command {
	if len(args) == 0 {
		return nil
	}
	for _, c := range root.Commands() {
		if c.Name() == args[0] {
			return c
		}
	}
	return nil
}

// arguments checks the number of positional arguments, as wrong usage.
func arguments(most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		if most == 0 {
			return usagef("%s takes no argument, got %q", c.Name(), args[0])
		}
		return usagef("%s takes one scenario, got %s", c.Name(), strings.Join(quoted(args), " and "))
	}
}

// message words an error for the user; cobra's own for an unknown command speaks too much.
func message(root *cobra.Command, args []string, err error) string {
	if !isUnknownCommand(err) {
		return err.Error()
	}
	names := []string{"help", "completion"}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := scenarios.Nearest(args[0], names); len(near) > 0 {
		return fmt.Sprintf("unknown command %q; did you mean %s?", args[0], strings.Join(quoted(near), " or "))
	}
	return fmt.Sprintf("unknown command %q; see `servesim help`", args[0])
}

func isUnknownCommand(err error) bool { return strings.HasPrefix(err.Error(), "unknown command ") }

// flagMistake adds the nearest flag to pflag's message.
func flagMistake(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name := unknown.GetSpecifiedName()
	if len(name) == 1 {
		return fmt.Errorf("unknown flag -%s; see `servesim %s --help`", name, c.Name())
	}
	near := scenarios.Nearest(name, names)
	if len(near) == 0 {
		return fmt.Errorf("unknown flag --%s; see `servesim %s --help`", name, c.Name())
	}
	return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, strings.Join(near, " or --"))
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return out
}
