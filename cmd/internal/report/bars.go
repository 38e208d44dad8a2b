package report

import (
	"fmt"
	"strings"

	"github.com/servesim/servesim/sim/metrics"
)

// A share is one part of a whole.
type share struct {
	name string
	of1  float64
}

// whereTimeWent draws the three attributions, one bar a part; parts that took nothing are left out.
func whereTimeWent(m *metrics.Report) section {
	wall, ttft, tpot := m.Attribution.WallTime, m.Attribution.TTFT, m.Attribution.TPOT
	t := &Table{Header: []string{"where the time went", "", "", ""}, Left: []int{0, 1, 2}}
	group := func(title string, shares []share) {
		for _, s := range shares {
			if s.of1 < 0.0005 {
				continue
			}
			t.Rows = append(t.Rows, []string{title, s.name, bar(s.of1, 30), fmt.Sprintf("%.1f%%", s.of1*100)})
			title = ""
		}
	}
	group("GPU, wall time", []share{
		{"compute", wall.Compute},
		{"weights", wall.Weights},
		{"KV read", wall.KVRead},
		{"network", wall.Network},
		{"overhead", wall.Overhead},
		{"idle", wall.Idle},
	})
	group("first token (TTFT)", []share{
		{"frontend", ttft.Frontend},
		{"queue", ttft.Queue},
		{"prefill", ttft.Prefill},
		{"interference", ttft.Interference},
		{"transfer", ttft.Transfer},
		{"overhead", ttft.Overhead},
	})
	group("each token (TPOT)", []share{
		{"compute", tpot.Compute},
		{"weights", tpot.Weights},
		{"KV read", tpot.KVRead},
		{"network", tpot.Network},
		{"overhead", tpot.Overhead},
		{"interference", tpot.Interference},
		{"preemption", tpot.Preemption},
		{"frontend", tpot.Frontend},
	})
	return section{table: t}
}

// bar draws a share of `width` cells, to the eighth of a cell.
func bar(of1 float64, width int) string {
	eighths := int(of1*float64(width)*8 + 0.5)
	full := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		full += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return full
}
