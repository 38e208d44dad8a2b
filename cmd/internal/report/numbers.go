package report

import (
	"math"
	"strconv"
	"strings"
)

// Span prints milliseconds for people: three digits and the unit that fits.
func Span(ms float64) string {
	switch abs := math.Abs(ms); {
	case abs == 0:
		return "0 ms"
	case abs < 0.9995:
		return digits(ms*1e3) + " µs"
	case abs < 999.5:
		return digits(ms) + " ms"
	case abs < 599.5e3:
		return digits(ms/1e3) + " s"
	case abs < 36e6:
		return digits(ms/60e3) + " min"
	}
	return digits(ms/3600e3) + " h"
}

// digits prints three significant digits, and all of those before the point.
func digits(x float64) string {
	abs := math.Abs(x)
	decimals := 0
	for _, limit := range []float64{99.95, 9.995} {
		if abs < limit {
			decimals++
		}
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// count prints an integer with thin groups: 19,366.
func count[T ~int | ~int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// rate prints a number per second: three digits, groups in large ones.
func rate(x float64) string {
	if math.Abs(x) >= 999.5 {
		return count(int64(math.Round(x)))
	}
	if x != 0 && math.Abs(x) < 0.995 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return digits(x)
}

// percent prints a share of 1.
func percent(x float64) string {
	switch {
	case x == 0:
		return "0%"
	case x < 0.0995:
		return strconv.FormatFloat(x*100, 'f', 1, 64) + "%"
	case x > 0.995 && x < 1:
		return strconv.FormatFloat(math.Floor(x*1e4)/100, 'f', 2, 64) + "%"
	}
	return strconv.FormatFloat(x*100, 'f', 0, 64) + "%"
}

// size prints a size in binary units.
func size(n float64) string {
	for _, u := range []struct {
		name string
		unit float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit {
			return digits(n/u.unit) + " " + u.name
		}
	}
	return digits(n) + " B"
}
