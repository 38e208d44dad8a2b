package workload

import "github.com/servesim/servesim/sim"

// readAzure reads the CSV files of the Azure LLM inference traces: TIMESTAMP, ContextTokens, GeneratedTokens. Stamps are
// dates such as "2023-11-16 18:17:03.9799600" (2024: with six digits and +00:00), or seconds. The traces say nothing
// about what is in a prompt, so no prompt shares a prefix with another.
func readAzure(in *lines, b *builder) error {
	c, err := newCSV(in)
	if err != nil {
		return err
	}
	at, err := c.columns("TIMESTAMP", "ContextTokens", "GeneratedTokens")
	if err != nil {
		return err
	}
	for {
		if more, err := c.row(); !more {
			return err
		}
		var r row
		stamp := c.fields[at[0]]
		ns, ok := date(stamp)
		if ok {
			b.dated = true
		} else if ns, ok = decimal(stamp, 9); !ok || ns < 0 {
			return c.fail("TIMESTAMP", "%.40q is neither a date such as 2023-11-16 18:17:03.9799600 nor a number of seconds", stamp)
		}
		r.at = sim.Time(ns)
		if r.tokens, err = c.tokens("ContextTokens", c.fields[at[1]]); err != nil {
			return err
		}
		if r.output, err = c.tokens("GeneratedTokens", c.fields[at[2]]); err != nil {
			return err
		}
		b.add(in, r)
	}
}

// date reads YYYY-MM-DD hh:mm:ss[.fraction][Z|±hh:mm] as nanoseconds since 1970. A T may stand for the blank.
func date(b []byte) (int64, bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != ' ' && b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute := digits(b[11:13]), digits(b[14:16])
	end := 19
	for end < len(b) && (b[end] == '.' || '0' <= b[end] && b[end] <= '9') {
		end++
	}
	second, ok := decimal(b[17:end], 9)
	zone, fine := offset(b[end:])
	if !ok || !fine || year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31 ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second >= 61e9 {
		return 0, false
	}
	minutes := days(year, month, day)*24*60 + hour*60 + minute - zone
	return minutes*60e9 + second, true
}

// offset reads a time zone as minutes east of Greenwich.
func offset(b []byte) (minutes int64, ok bool) {
	if len(b) == 0 || len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != 6 || b[0] != '+' && b[0] != '-' || b[3] != ':' {
		return 0, false
	}
	h, m := digits(b[1:3]), digits(b[4:6])
	if h < 0 || h > 14 || m < 0 || m > 59 {
		return 0, false
	}
	if b[0] == '-' {
		return -h*60 - m, true
	}
	return h*60 + m, true
}

// digits reads a few decimal digits; -1 if there is anything else.
func digits(b []byte) int64 {
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// days returns the days from 1970-01-01 to a date of the Gregorian calendar. Counting years from March puts the leap
// day at the end of a year.
func days(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}
