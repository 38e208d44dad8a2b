package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// respell rewrites the spellings that users of vLLM type into the ones that pflag reads, and takes out the flags that
// vLLM has removed, with a warning for each. It knows of a flag only what pflag knows of it: whether it takes a value.
//
//	-tp 4                            --tensor-parallel-size 4
//	--max_num_seqs=64                --max-num-seqs=64
//	--no-enable-prefix-caching       --enable-prefix-caching=false
//	--goodput ttft:1000 tpot:50      --goodput ttft:1000 --goodput tpot:50
//	--cudagraph-capture-sizes 1 2 4  --cudagraph-capture-sizes 1 --cudagraph-capture-sizes 2 …
func respell(args []string, flags *pflag.FlagSet) (plain, warnings []string) {
	a := argv{rest: args, flags: flags, retired: retiredFlags()}
	for len(a.rest) > 0 {
		arg := a.next()
		if arg == "--" {
			a.plain = append(append(a.plain, arg), a.rest...)
			break
		}
		if name, value, hasValue, ok := split(arg); ok {
			a.flag(name, value, hasValue)
		} else {
			a.plain = append(a.plain, arg)
		}
	}
	return a.plain, a.warnings
}

// argv is a command line on its way from vLLM's spellings to pflag's.
type argv struct {
	rest, plain, warnings []string
	flags                 *pflag.FlagSet
	retired               map[string]retired
}

func (a *argv) next() string {
	arg := a.rest[0]
	a.rest = a.rest[1:]
	return arg
}

// split takes a flag apart: its canonical name, and its value where one is attached. Short flags that pflag knows
// itself (-o) are not for us.
func split(arg string) (name, value string, hasValue, ok bool) {
	head, value, hasValue := strings.Cut(arg, "=")
	switch head {
	case "-tp", "--tp":
		return "tensor-parallel-size", value, hasValue, true
	case "-pp", "--pp":
		return "pipeline-parallel-size", value, hasValue, true
	case "-dp", "--dp":
		return "data-parallel-size", value, hasValue, true
	case "-q":
		return "quantization", value, hasValue, true
	}
	name, long := strings.CutPrefix(head, "--")
	return strings.ReplaceAll(name, "_", "-"), value, hasValue, long && name != ""
}

// flag appends one flag and the values that belong to it.
func (a *argv) flag(name, value string, hasValue bool) {
	known := a.flags.Lookup(name)
	if known == nil {
		if r, ok := a.retired[strings.TrimPrefix(name, "no-")]; ok {
			a.retire(name, hasValue, r)
			return
		}
		if positive, ok := strings.CutPrefix(name, "no-"); ok && isSwitch(a.flags.Lookup(positive)) && !hasValue {
			a.plain = append(a.plain, "--"+positive+"=false")
			return
		}
	}
	if hasValue {
		a.plain = append(a.plain, "--"+name+"="+value)
	} else {
		a.plain = append(a.plain, "--"+name)
		if known != nil && known.NoOptDefVal == "" && len(a.rest) > 0 {
			a.plain = append(a.plain, a.next()) // whatever it looks like: `--max-model-len -1`
		}
	}
	for more := listFlag(name); more != nil && len(a.rest) > 0 && more(a.rest[0]); {
		a.plain = append(a.plain, "--"+name, a.next())
	}
}

func isSwitch(f *pflag.Flag) bool { return f != nil && f.NoOptDefVal != "" }

// listFlag says, for the flags that take several values in a row, whether a word goes on with the list; nil for all
// others.
func listFlag(name string) func(word string) bool {
	switch name {
	case "goodput", "slo":
		return regexp.MustCompile(`^[a-z][a-z0-9]+[:=]`).MatchString
	case "cudagraph-capture-sizes":
		return isNumber
	}
	return nil
}

// retire drops a flag that has no effect any more, together with its value. The scenario warns of vLLM's own, so that
// the report holds the warning too; here we warn of the others.
func (a *argv) retire(name string, hasValue bool, r retired) {
	if !hasValue && len(a.rest) > 0 && r.takes(a.rest[0]) {
		a.next()
	}
	switch {
	case r.key == "":
		a.warnings = append(a.warnings, "--"+name+" "+r.why)
	case a.flags.Lookup("set") != nil:
		a.plain = append(a.plain, "--set", r.key+"=true")
	}
}

func isNumber(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}
