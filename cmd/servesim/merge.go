package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/servesim/servesim/scenarios/study"
)

func newMerge(e *env) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Put the shards of a study together",
		Long: "Put the shards of a study together: the files that `servesim runs --shard` wrote, in any order. The result has the\n" +
			"bytes of the study played on one machine. Runs that are missing or there twice are named, and files of different\n" +
			"studies refused; nothing is written then.",
		Example: "  servesim merge part-*.jsonl -o results.jsonl",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("merge wants the files of all shards: servesim merge part-*.jsonl -o results.jsonl")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			parts, done, err := openParts(args)
			defer done()
			if err != nil {
				return usageError{err}
			}
			if output == "" || output == "-" {
				return merge(e, parts)
			}
			return mergeTo(output, parts)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	return c
}

// openParts opens the files. They stay open until done is called.
func openParts(names []string) (parts []study.Part, done func(), err error) {
	var files []*os.File
	done = func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, done, err
		}
		files = append(files, f)
		status, err := f.Stat()
		if err != nil {
			return nil, done, err
		}
		parts = append(parts, study.Part{Name: name, File: f, Size: status.Size()})
	}
	return parts, done, nil
}

func merge(e *env, parts []study.Part) error {
	failed, err := study.Merge(e.stdout, parts)
	if err != nil {
		return err
	}
	return failures(failed)
}

// mergeTo writes beside the file and puts it in place when it is complete: it may be one of the parts.
func mergeTo(name string, parts []study.Part) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing to remove once it has its name
	failed, err := study.Merge(f, parts)
	if err == nil {
		err = f.Chmod(0o644) // temporary files are private
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return err
	}
	return failures(failed)
}
