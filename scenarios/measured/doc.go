// Package measured compares the simulator with runs of real engines. It holds a table of published measurements, facts
// with their sources, reads tables of the same layout, runs each row again, and says how far off the prediction is.
//
// The path of a table through this package:
//
//	Embedded or ReadTable, ParseFilter → Table.Validate → Report
//	EmbeddedLogs or ReadLogs           → Logs.Validate  → Report
//	ReadBenchmarks                     → Calibrate      → Calibration
//
// Validating fits nothing: what a prediction rests on lies in the packages hardware and scenarios. Only
// Calibrate does, for whoever has measured a machine of their own.
package measured
