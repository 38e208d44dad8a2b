package workload

import (
	"math"
	"strconv"
)

// whole reads a decimal integer.
func whole(b []byte) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 { // 18 digits never overflow
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// decimal reads a decimal number in units of 10^-places, exactly; what is finer is cut off. A number with an exponent
// is rounded to the nearest unit instead.
func decimal(b []byte, places int) (int64, bool) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		i++
	}
	n, digits, point := int64(0), 0, false
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c == 'e' || c == 'E':
			return exponent(b, places)
		case c < '0' || c > '9':
			return 0, false
		}
		digits++
		if point && places == 0 {
			continue
		}
		if point {
			places--
		}
		if n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if digits == 0 {
		return 0, false
	}
	for ; places > 0; places-- {
		if n > math.MaxInt64/10 {
			return 0, false
		}
		n *= 10
	}
	if negative {
		n = -n
	}
	return n, true
}

func exponent(b []byte, places int) (int64, bool) {
	x, err := strconv.ParseFloat(string(b), 64)
	x = math.Round(x * math.Pow10(places))
	if err != nil || !(math.Abs(x) < 1<<63) {
		return 0, false
	}
	return int64(x), true
}

// hex reads a hexadecimal number.
func hex(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, true
}

// tokens reads a number of tokens. What is negative may be any size, since such a row is skipped.
func (l *lines) tokens(column string, b []byte) (int32, error) {
	n, ok := whole(b)
	switch {
	case !ok:
		return 0, l.fail(column, "%.40q is not a whole number", b)
	case n > Longest:
		return 0, l.fail(column, "%d tokens are more than the context of any model (%d)", n, Longest)
	}
	return int32(max(n, math.MinInt32)), nil
}
