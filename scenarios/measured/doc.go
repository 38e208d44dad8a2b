// Package measured compares the simulator with runs of real engines. It holds a table of published measurements, facts
// with their sources, reads tables of the same layout, runs each row again, and says how far off the prediction is.
//
// The path of a table through this package:
//
//	Embedded or ReadTable → Table — Filter → Validate → Report
//	EmbeddedLogs or ReadLogs → Logs → Validate → LogReport
//
// Nothing in here fits anything: what a prediction rests on lies in the packages hardware and scenarios.
package measured
