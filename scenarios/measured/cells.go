package measured

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A column says where the cells of a name go.
type column[T any] struct {
	name string
	need bool         // the table must have it, though a cell may be blank
	into func(*T) any // a *string, *int or *float64
}

// A record is one line of a table.
type record[T any] struct {
	value T
	line  int
	cells map[string]string // by column
}

// readCSV reads a table with a header; columns that mean nothing are read over. The error joins one for each
// independent mistake.
func readCSV[T any](name string, r io.Reader, columns []column[T]) ([]record[T], error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty: it needs a header that names the columns", name)
	}
	if err != nil {
		return nil, located(name, err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(strings.TrimPrefix(header[i], "\ufeff"))
	}
	if err := checkHeader(name, header, columns); err != nil {
		return nil, err
	}
	var all []record[T]
	var faults []error
	for {
		fields, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && len(faults) == 0 && len(all) == 0:
			return nil, fmt.Errorf("%s: has no rows below its header", name)
		case errors.Is(err, io.EOF):
			return all, errors.Join(faults...)
		case err != nil:
			return nil, errors.Join(append(faults, located(name, err))...)
		}
		line, _ := in.FieldPos(0)
		one := record[T]{line: line, cells: make(map[string]string, len(header))}
		for i, cell := range fields {
			one.cells[header[i]] = strings.TrimSpace(cell)
		}
		for _, c := range columns {
			if err := setCell(c.into(&one.value), one.cells[c.name]); err != nil {
				faults = append(faults, fmt.Errorf("%s:%d: %s: %w", name, line, c.name, err))
			}
		}
		all = append(all, one)
	}
}

// checkHeader reports columns that are missing or there twice.
func checkHeader[T any](name string, header []string, columns []column[T]) error {
	var faults []error
	for _, c := range columns {
		if c.need && !slices.Contains(header, c.name) {
			faults = append(faults, fmt.Errorf("%s:1: column %s is missing from the header", name, c.name))
		}
	}
	for i, h := range header {
		if h != "" && slices.Contains(header[:i], h) {
			faults = append(faults, fmt.Errorf("%s:1: column %s is there twice", name, h))
		}
	}
	return errors.Join(faults...)
}

// located puts the CSV reader's complaint in the usual form.
func located(name string, err error) error {
	var at *csv.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d:%d: %w: is the file truncated, or not comma-separated?", name, at.Line, at.Column, at.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// setCell reads a cell into what p points at. A blank cell leaves zero.
func setCell(p any, cell string) error {
	switch p := p.(type) {
	case *string:
		*p = cell
	case *int:
		v, err := number(cell)
		if err != nil || v != math.Trunc(v) || v > math.MaxInt32 {
			return fmt.Errorf("must be a whole number of at least 0, got %q", cell)
		}
		*p = int(v)
	case *float64:
		v, err := number(cell)
		*p = v
		return err
	}
	return nil
}

func number(cell string) (float64, error) {
	if cell == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("must be a number of at least 0, got %q", cell)
	}
	return v, nil
}
