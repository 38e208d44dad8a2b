package metrics

// A Class is a kind of request that the report shows by itself.
type Class struct {
	Name string
	SLO  SLO // what its requests must meet
}

// ClassReport is what became of the measured requests of one class.
type ClassReport struct {
	Name     string       `json:"name"`
	Requests Requests     `json:"requests"`
	Tokens   Tokens       `json:"tokens"`
	Goodput  Goodput      `json:"goodput"`
	Latency  ClassLatency `json:"latency_ms"`
}

// ClassLatency is Latency without ITL, whose gaps are pooled over all requests.
type ClassLatency struct {
	TTFT  Stats `json:"ttft"`
	TPOT  Stats `json:"tpot"`
	E2EL  Stats `json:"e2el"`
	Queue Stats `json:"queue"`
}

// A classBook keeps what a class's report needs.
type classBook struct {
	count   Requests
	tokens  Tokens
	score   scoreboard
	records records
}

// A classBooks keeps the books of all classes. It is empty where there are fewer than two: then the report as a whole is
// that of the class.
type classBooks []classBook

func newClassBooks(classes []Class) classBooks {
	if len(classes) < 2 {
		return nil
	}
	return make(classBooks, len(classes))
}

// of returns the book of a class, or nil. A trace may name a class that nobody described.
func (b classBooks) of(class int32) *classBook {
	if int(class) < len(b) {
		return &b[class]
	}
	return nil
}

func (b classBooks) report(c *Config, seconds float64) []ClassReport {
	var reports []ClassReport
	for i := range b {
		k := &b[i]
		count := settle(k.count)
		l := k.records.latency(newGaps(), c.Percentiles)
		reports = append(reports, ClassReport{
			Name: c.Classes[i].Name, Requests: count, Tokens: k.tokens,
			Goodput: k.score.goodput(c.Classes[i].SLO, count.Submitted, seconds),
			Latency: ClassLatency{TTFT: l.TTFT, TPOT: l.TPOT, E2EL: l.E2EL, Queue: l.Queue},
		})
	}
	return reports
}

// slo returns the targets of a class.
func (c *Config) slo(class int32) *SLO {
	if int(class) < len(c.Classes) {
		return &c.Classes[class].SLO
	}
	return &c.SLO
}

// asked returns, for each metric, the loosest target of any class: a metric without one was not asked for.
func (c *Config) asked() SLO {
	if len(c.Classes) == 0 {
		return c.SLO
	}
	var s SLO
	for i := range c.Classes {
		k := &c.Classes[i].SLO
		s.TTFT, s.TPOT = max(s.TTFT, k.TTFT), max(s.TPOT, k.TPOT)
		s.E2EL, s.ITL = max(s.E2EL, k.E2EL), max(s.ITL, k.ITL)
	}
	return s
}
