package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/servesim/servesim/hardware"
)

// The picture: intensity to the right and arithmetic rate upwards, both logarithmic.
const (
	pictureWidth  = 64
	pictureHeight = 16
)

// A picture is a grid of characters with logarithmic axes.
type picture struct {
	cells      [pictureHeight][pictureWidth]rune // the first row is the top
	xMin, xMax float64                           // log10 FLOP/B
	yMin, yMax float64                           // log10 FLOP/s
}

// drawRoofline draws the roof, the ridge and every point at the rate that is predicted for it.
func drawRoofline(p hardware.Placement) string {
	g := newPicture(p)
	for col := range pictureWidth {
		x := g.xMin + (g.xMax-g.xMin)*(float64(col)+0.5)/pictureWidth
		roof := math.Log10(math.Min(p.Peak, math.Pow(10, x)*p.Bandwidth))
		g.line(col, roof)
	}
	for i, x := range p.Points {
		g.mark(math.Log10(x.Intensity), math.Log10(x.Achieved), []rune(pointMark(i, x))[0])
	}
	return g.text(p)
}

// newPicture chooses axes that hold the roof and all points.
func newPicture(p hardware.Placement) *picture {
	low, high, floor := 1.0, p.Ridge*8, p.Peak
	for _, x := range p.Points {
		low, high, floor = math.Min(low, x.Intensity), math.Max(high, x.Intensity*1.5), math.Min(floor, x.Achieved)
	}
	g := &picture{xMin: math.Log10(low / 2), xMax: math.Log10(high), yMax: math.Log10(p.Peak * 1.3)}
	g.yMin = math.Min(math.Log10(floor/1.5), math.Log10(low/2*p.Bandwidth))
	for r := range g.cells {
		for c := range g.cells[r] {
			g.cells[r][c] = ' '
		}
	}
	return g
}

// row returns the row of a height and the fraction of the row that lies below it.
func (g *picture) row(y float64) (int, float64) {
	up := (y - g.yMin) / (g.yMax - g.yMin) * pictureHeight
	whole := min(max(int(up), 0), pictureHeight-1)
	return pictureHeight - 1 - whole, up - float64(whole)
}

func (g *picture) column(x float64) int {
	return min(max(int((x-g.xMin)/(g.xMax-g.xMin)*pictureWidth), 0), pictureWidth-1)
}

// line draws one column of the roof: one of three heights within its cell.
func (g *picture) line(col int, y float64) {
	row, part := g.row(y)
	c := '-'
	switch {
	case part < 1.0/3:
		c = '.'
	case part > 2.0/3:
		c = '\''
	}
	g.cells[row][col] = c
}

func (g *picture) mark(x, y float64, c rune) {
	row, _ := g.row(y)
	g.cells[row][g.column(x)] = c
}

// text puts the axes around the picture: decades on the left, decades and the ridge below.
func (g *picture) text(p hardware.Placement) string {
	var b strings.Builder
	left := map[int]string{}
	for e := math.Ceil(g.yMin); e <= g.yMax; e++ {
		row, _ := g.row(e)
		left[row] = fmt.Sprintf("%g", math.Pow(10, e-12))
	}
	b.WriteString("TFLOP/s\n")
	for r := range g.cells {
		tick := '│'
		if left[r] != "" {
			tick = '┤'
		}
		fmt.Fprintf(&b, "%7s %c%s\n", left[r], tick, strings.TrimRight(string(g.cells[r][:]), " "))
	}
	axis, labels := []rune(strings.Repeat("─", pictureWidth)), []rune(strings.Repeat(" ", pictureWidth+12))
	put := func(x float64, text string) {
		col := g.column(x)
		axis[col] = '┬'
		copy(labels[col:], []rune(text))
	}
	for e := math.Ceil(g.xMin); e <= g.xMax; e++ {
		put(e, fmt.Sprintf("%g", math.Pow(10, e)))
	}
	copy(labels[pictureWidth-2:], []rune("  FLOP/B"))
	fmt.Fprintf(&b, "%7s └%s\n", "", string(axis))
	fmt.Fprintf(&b, "%7s  %s\n", "", strings.TrimRight(string(labels), " "))
	ridge := g.column(math.Log10(p.Ridge))
	fmt.Fprintf(&b, "%7s  %s^ ridge %.0f\n", "", strings.Repeat(" ", ridge), p.Ridge)
	return b.String()
}
