package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bytes is an amount of memory; written as a number of bytes or with a unit, "10GiB" or "10GB".
type Bytes int64

// Bandwidth is bytes per second; written with a unit, "50GB/s".
type Bandwidth float64

// Switch is a setting that is on, off, or left to the engine.
type Switch uint8

const (
	Auto Switch = iota // as the engine profile says
	On
	Off
)

// Or returns the setting, or the profile's where it was left to it.
func (s Switch) Or(profile bool) bool {
	if s == Auto {
		return profile
	}
	return s == On
}

// switchTo returns the explicit setting of a boolean.
func switchTo(on bool) Switch {
	if on {
		return On
	}
	return Off
}

// readScalar puts text into the variable that into points at, which a mistake leaves as it was. The error says what is
// allowed and what was found.
func (f *field) readScalar(into any, n *node) error {
	if v, ok := f.word(n.text); ok {
		return assign(into, v)
	}
	switch into := into.(type) {
	case *string:
		return f.readString(into, n.text)
	case *bool:
		b, err := readBool(n)
		if err == nil {
			*into = b
		}
		return err
	case *Switch:
		b, err := readBool(n)
		if err == nil {
			*into = switchTo(b)
		}
		return err
	}
	v, err := f.readNumber(into, n)
	if err != nil {
		return err
	}
	if err := f.limit.check(v, n.text); err != nil {
		return err
	}
	return assign(into, v)
}

func (f *field) readString(into *string, text string) error {
	if len(f.choices) == 0 {
		*into = text
		return nil
	}
	for _, c := range f.choices {
		if strings.EqualFold(c, text) {
			*into = c
			return nil
		}
	}
	if slices.ContainsFunc(f.planned, func(w string) bool { return strings.EqualFold(w, text) }) {
		return fmt.Errorf("%s is not supported yet by this version, it must be one of %s", text, strings.Join(f.choices, ", "))
	}
	return fmt.Errorf("must be one of %s, got %q%s", strings.Join(f.choices, ", "), text, didYouMean(text, f.choices))
}

func readBool(n *node) (bool, error) {
	switch {
	case n.quoted:
	case strings.EqualFold(n.text, "true"):
		return true, nil
	case strings.EqualFold(n.text, "false"):
		return false, nil
	}
	return false, fmt.Errorf("must be true or false, got %q", n.text)
}

// readNumber reads the number that a variable of this type holds, in its base unit: nanoseconds, bytes, bytes/second.
func (f *field) readNumber(into any, n *node) (float64, error) {
	switch into.(type) {
	case *time.Duration:
		d, err := ParseDuration(n.text)
		if err != nil {
			return 0, f.hint(err)
		}
		return float64(d), nil
	case *Bytes:
		v, err := parseAmount(n.text, false)
		return v, f.hint(err)
	case *Bandwidth:
		v, err := parseAmount(n.text, true)
		return v, f.hint(err)
	}
	if n.quoted {
		return 0, f.hint(fmt.Errorf("must be a number, got the text %q", n.text))
	}
	v, err := parseNumber(n.text)
	if err != nil {
		return 0, f.hint(err)
	}
	if _, real := into.(*float64); !real && v != math.Trunc(v) {
		return 0, fmt.Errorf("must be a whole number, got %s", n.text)
	}
	return v, nil
}

// hint completes "must be …, got …" with the words that would have been understood too.
func (f *field) hint(err error) error {
	if err == nil || len(f.words) == 0 {
		return err
	}
	var words []string
	for _, w := range f.words {
		words = append(words, w.word)
	}
	return fmt.Errorf("%w (or %s)", err, strings.Join(words, ", "))
}

// assign stores a number, which has been checked, in a variable of any of the kinds that the table uses.
func assign(into any, v float64) error {
	const most = 1 << 53 // beyond it a float64 skips whole numbers
	_, real := into.(*float64)
	if _, rate := into.(*Bandwidth); !real && !rate && math.Abs(v) > most {
		if d, ok := into.(*time.Duration); ok && v > 0 && v <= math.MaxInt64 {
			*d = time.Duration(v)
			return nil
		}
		return fmt.Errorf("is too large, at most %d", int64(most))
	}
	switch into := into.(type) {
	case *float64:
		*into = v
	case *Bandwidth:
		*into = Bandwidth(v)
	case *int:
		*into = int(v)
	case *uint64:
		*into = uint64(v)
	case *Bytes:
		*into = Bytes(v)
	case *time.Duration:
		*into = time.Duration(v)
	case *Switch:
		*into = Switch(v)
	default:
		panic(fmt.Sprintf("scenarios: the table of fields points at a %T", into))
	}
	return nil
}

// parseNumber reads a number as people write it in a terminal: 1000, 1_000, 1e3, and vLLM's 8k (thousands) and 8K
// (1024s).
func parseNumber(text string) (float64, error) {
	digits, scale := text, 1.0
	if n := len(text); n > 1 && text[n-1] > '9' {
		if s, ok := suffixScale(text[n-1]); ok && text[n-2] <= '9' {
			digits, scale = text[:n-1], s
		}
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
	if w := strings.ToLower(strings.TrimLeft(text, "+-.")); w == "nan" || w == "inf" {
		v, err = math.NaN(), nil // YAML's spellings
	}
	switch {
	case err != nil || strings.ContainsAny(digits, "xXpP"):
		return 0, fmt.Errorf("must be a number, got %q", text)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("must be a finite number, got %s", text)
	}
	return v * scale, nil
}

// suffixScale is what vLLM multiplies by for a trailing letter.
func suffixScale(letter byte) (float64, bool) {
	switch letter {
	case 'k':
		return 1e3, true
	case 'm':
		return 1e6, true
	case 'g':
		return 1e9, true
	case 'K':
		return 1 << 10, true
	case 'M':
		return 1 << 20, true
	case 'G':
		return 1 << 30, true
	}
	return 0, false
}

// ParseDuration reads a span of time with its unit: 500us, 50ms, 1.5s, 2m, 1h. Zero needs none.
func ParseDuration(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, bare := strconv.ParseFloat(text, 64); bare == nil {
		if strings.HasPrefix(text, "-") {
			return 0, fmt.Errorf("must not be negative, got %s", text)
		}
		return 0, fmt.Errorf("needs a unit, e.g. %ss or %sms, got %s", text, text, text)
	}
	return 0, fmt.Errorf("must be a span of time such as 500ms, 1.5s or 10m, got %q", text)
}

// parseAmount reads bytes, or bytes per second, with a decimal (GB) or binary (GiB) unit.
func parseAmount(text string, perSecond bool) (float64, error) {
	body, example := text, "10GiB"
	if perSecond {
		example = "50GB/s"
		var ok bool
		if body, ok = strings.CutSuffix(text, "/s"); !ok {
			return 0, fmt.Errorf("must be a bandwidth in bytes such as %s, got %q", example, text)
		}
	}
	cut := strings.LastIndexFunc(body, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }) + 1
	v, err := strconv.ParseFloat(strings.TrimSpace(body[:cut]), 64)
	if err == nil && !math.IsInf(v, 0) {
		unit := strings.TrimSpace(body[cut:])
		if unit == "" {
			return v, nil
		}
		if s, ok := suffixScale(unit[0]); ok && len(unit) == 1 {
			return v * s, nil
		}
		if s, ok := byteUnit(unit); ok {
			return v * s, nil
		}
	}
	if v, err := parseNumber(body); err == nil && cut == len(body) {
		return v, nil
	}
	return 0, fmt.Errorf("must be an amount in bytes such as %s, got %q", example, text)
}

func byteUnit(unit string) (float64, bool) {
	for i, prefix := range []string{"", "k", "M", "G", "T"} {
		switch {
		case strings.EqualFold(unit, prefix+"B"):
			return math.Pow(1000, float64(i)), true
		case strings.EqualFold(unit, prefix+"iB"):
			return math.Pow(1024, float64(i)), true
		}
	}
	return 0, false
}

// show returns the value of a field as it stands in a resolved configuration: a string, a number, a boolean or a list.
// Reading it again gives the same value.
func (f *field) show(from any) any {
	switch v := from.(type) {
	case *string:
		return *v
	case *bool:
		return *v
	case *Switch:
		if *v == Auto {
			return "auto"
		}
		return *v == On
	case *[]int:
		return *v
	case *Rates:
		return v.show()
	case *[]BatchTier:
		return showTiers(*v)
	case *uint64:
		return *v
	case *int:
		return f.named(float64(*v), *v)
	case *float64:
		return f.named(*v, *v)
	case *time.Duration:
		return f.named(float64(*v), v.String())
	case *Bytes:
		return f.named(float64(*v), int64(*v))
	case *Bandwidth:
		return f.named(float64(*v), strconv.FormatFloat(float64(*v), 'g', -1, 64)+"B/s")
	}
	panic(fmt.Sprintf("scenarios: the table of fields points at a %T", from))
}

func (f *field) named(v float64, plain any) any {
	if f.def == fmt.Sprint(plain) {
		return plain
	}
	for _, w := range f.words {
		if w.value == v || math.IsInf(v, 1) && math.IsInf(w.value, 1) {
			return w.word
		}
	}
	return plain
}
