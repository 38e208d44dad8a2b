package report

import (
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A Table is a header and rows of finished cells. This file is the only one that knows the library behind it.
type Table struct {
	Header []string
	Rows   [][]string
	Left   []int // columns of text, aligned left; all others are numbers, aligned right
}

// Text writes the table with blanks between the columns and nothing else.
func (t Table) Text(w io.Writer) error {
	return t.render(w,
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off},
			},
		}),
		tablewriter.WithPadding(tw.Padding{Left: tw.Empty, Right: "  ", Overwrite: true}))
}

// Markdown writes the table as GitHub's Markdown.
func (t Table) Markdown(w io.Writer) error {
	return t.render(w, tablewriter.WithRenderer(renderer.NewMarkdown()))
}

func (t Table) render(w io.Writer, options ...tablewriter.Option) error {
	columns := make([]tw.Align, len(t.Header))
	for i := range columns {
		columns[i] = tw.AlignRight
	}
	for _, i := range t.Left {
		if i < len(columns) {
			columns[i] = tw.AlignLeft
		}
	}
	align := tw.CellAlignment{Global: tw.AlignRight, PerColumn: columns}
	var text strings.Builder
	// Header formatting would turn "p50" into "P 50"; wrapping would break names.
	table := tablewriter.NewTable(&text, append([]tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(align),
		tablewriter.WithRowAlignmentConfig(align),
	}, options...)...)
	table.Header(t.Header)
	if err := table.Bulk(t.Rows); err != nil {
		return err
	}
	if err := table.Render(); err != nil {
		return err
	}
	_, err := io.WriteString(w, trimLines(text.String()))
	return err
}

// trimLines cuts the blanks at the ends of lines, which borderless rows are full of.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
