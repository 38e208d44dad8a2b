package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// update rewrites the expectations in scripts and documents: go test ./cmd/servesim -update
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations in testdata/script and README.md")
	testscript.Main(m, map[string]func(){"servesim": main})
}

// Each script is a session at the command line, as its user sees it.
func TestScripts(t *testing.T) {
	deploy, err := filepath.Abs("deploy")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               func(e *testscript.Env) error { e.Setenv("DEPLOY", deploy); return nil },
		UpdateScripts:       update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}
