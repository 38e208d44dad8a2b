package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/cmd/internal/report"
	"github.com/servesim/servesim/scenarios/measured"
)

// validateFlags say what to compare and how to show it.
type validateFlags struct {
	kind, format, filter, output string
	summary                      bool
}

func newValidate(e *env) *cobra.Command {
	var v validateFlags
	c := &cobra.Command{
		Use:   "validate [MEASURED.csv]",
		Short: "Run measured runs of real engines again and say how far off the predictions are",
		Long: "Run measured runs of real engines again and say how far off the predictions are. Without a file it takes the table that is\n" +
			"built in: published runs of vLLM, each with its source. A file of your own has the same columns;\n" +
			"rows that cannot be run are reported with the reason.\n\n" +
			"Where clients gave up, the notes of a row say so, as in \"client gave up after 300 s\", and they do so again.\n\n" +
			"With --kind requests the file holds one row a request, and the settings of the server stand in a file beside it whose\n" +
			"name ends in _summary.csv in place of _requests.csv.",
		Example: "  servesim validate\n" +
			"  servesim validate --filter 'gpu=H100*,compare=all' --format markdown\n" +
			"  servesim validate mine.csv --format json\n" +
			"  servesim validate --kind requests",
		Args: arguments(1),
		RunE: func(c *cobra.Command, args []string) error {
			file := ""
			if len(args) == 1 {
				file = args[0]
			}
			return v.run(c.Context(), e, file)
		},
	}
	f := c.Flags()
	f.StringVar(&v.kind, "kind", "runs", "what the file holds: `runs`, one a row, or requests")
	f.StringVar(&v.format, "format", "table", "`table`, json or markdown")
	f.StringVar(&v.filter, "filter", "", "compare only rows whose columns match the `LIST`, e.g. 'gpu=H100*,compare=all'")
	f.BoolVar(&v.summary, "summary", false, "leave out single rows and ratios between them")
	f.StringVarP(&v.output, "output", "o", "", "write the report to `FILE` instead of standard output")
	return c
}

func (v *validateFlags) run(ctx context.Context, e *env, file string) error {
	if err := checkFormat(v.format, "table", "json", "markdown"); err != nil {
		return err
	}
	if v.summary && v.format == "json" {
		return usagef("--summary has no effect on --format json: take the keys summary and by")
	}
	r, err := v.validate(ctx, file)
	if err != nil {
		return err
	}
	if v.filter != "" && len(r.Rows)+len(r.Skipped) == 0 {
		return fmt.Errorf("--filter %s: no row matches", v.filter)
	}
	var text bytes.Buffer
	if err := v.write(&text, r); err != nil {
		return err
	}
	if v.output != "" {
		return os.WriteFile(v.output, text.Bytes(), 0o644)
	}
	_, err = e.stdout.Write(text.Bytes())
	return err
}

func (v *validateFlags) validate(ctx context.Context, file string) (*measured.Report, error) {
	switch v.kind {
	case "runs":
		keep, err := measured.ParseFilter(v.filter)
		if err != nil {
			return nil, usagef("--filter %w", err)
		}
		table, err := openTable(file)
		if err != nil {
			return nil, err
		}
		return table.Validate(ctx, keep)
	case "requests":
		if v.filter != "" {
			return nil, usagef("--filter has no effect on --kind requests: leave it out")
		}
		logs, err := openLogs(file)
		if err != nil {
			return nil, err
		}
		return logs.Validate(ctx)
	}
	return nil, usagef("--kind %s is unknown; allowed: runs, requests", v.kind)
}

func (v *validateFlags) write(w io.Writer, r *measured.Report) error {
	switch v.format {
	case "json":
		return report.ValidationJSON(w, r)
	case "markdown":
		return report.ValidationMarkdown(w, r, v.summary)
	}
	return report.Validation(w, r, v.summary)
}

func openTable(file string) (*measured.Table, error) {
	if file == "" {
		return measured.Embedded()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", file, unwrapped(err))
	}
	return measured.ReadTable(file, bytes.NewReader(text))
}

// openLogs reads the requests and, beside them, the settings.
func openLogs(file string) (*measured.Logs, error) {
	if file == "" {
		return measured.EmbeddedLogs()
	}
	stem, ok := strings.CutSuffix(file, "_requests.csv")
	if !ok {
		return nil, usagef("%s: the name must end in _requests.csv, so that the settings can be found in a file that ends in _summary.csv", filepath.Base(file))
	}
	settings := stem + "_summary.csv"
	requests, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", file, unwrapped(err))
	}
	text, err := os.ReadFile(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w: it should hold the settings of the server", settings, unwrapped(err))
	}
	return measured.ReadLogs(file, bytes.NewReader(requests), settings, bytes.NewReader(text))
}

// unwrapped drops the path that package os puts in front: the message begins with it.
func unwrapped(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
