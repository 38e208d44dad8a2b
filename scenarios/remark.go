package scenarios

import "strings"

// A remark is on settings of one section that do nothing for the same reason.
type remark struct {
	section, why string
	names        []string
}

// remarkOn adds a setting to the last remark if that fits, or else one of its own.
func remarkOn(remarks []remark, path, why string) []remark {
	section, _ := parent(path)
	if n := len(remarks); n == 0 || remarks[n-1].section != section || remarks[n-1].why != why {
		remarks = append(remarks, remark{section: section, why: why})
	}
	last := &remarks[len(remarks)-1]
	last.names = append(last.names, strings.TrimPrefix(path, "engine."))
	return remarks
}

// String words the remark: "a, b and c have no effect with a trace".
func (r remark) String() string {
	last := len(r.names) - 1
	if last == 0 {
		return r.names[0] + " has no effect " + r.why
	}
	return strings.Join(r.names[:last], ", ") + " and " + r.names[last] + " have no effect " + r.why
}
