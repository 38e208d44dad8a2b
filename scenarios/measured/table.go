package measured

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// A Table is what was measured, row by row.
type Table struct {
	Name string // of the file, for messages
	Rows []Row

	embedded bool // the built-in table
}

// columns are those that mean something; any others are read over.
var columns = []column[Row]{
	{"id", true, func(r *Row) any { return &r.ID }},
	{"group", false, func(r *Row) any { return &r.Group }},
	{"phase", false, func(r *Row) any { return &r.Phase }},
	{"source", false, func(r *Row) any { return &r.Source }},
	{"engine", false, func(r *Row) any { return &r.Engine }},
	{"engine_version", true, func(r *Row) any { return &r.EngineVersion }},
	{"model", true, func(r *Row) any { return &r.Model }},
	{"weight_dtype", false, func(r *Row) any { return &r.WeightDtype }},
	{"kv_cache_dtype", false, func(r *Row) any { return &r.KVCacheDtype }},
	{"gpu", true, func(r *Row) any { return &r.GPU }},
	{"tp", true, func(r *Row) any { return &r.TP }},
	{"pp", false, func(r *Row) any { return &r.PP }},
	{"dp", false, func(r *Row) any { return &r.DP }},
	{"ep", false, func(r *Row) any { return &r.EP }},
	{"max_model_len", false, func(r *Row) any { return &r.MaxModelLen }},
	{"max_num_seqs", false, func(r *Row) any { return &r.MaxNumSeqs }},
	{"max_num_batched_tokens", false, func(r *Row) any { return &r.MaxNumBatchedTokens }},
	{"gpu_memory_utilization", false, func(r *Row) any { return &r.GPUMemoryUtilization }},
	{"kv_cache_tokens", false, func(r *Row) any { return &r.KVCacheTokens }},
	{"block_size", false, func(r *Row) any { return &r.BlockSize }},
	{"prefix_caching", false, func(r *Row) any { return &r.PrefixCaching }},
	{"chunked_prefill", false, func(r *Row) any { return &r.ChunkedPrefill }},
	{"async_scheduling", false, func(r *Row) any { return &r.AsyncScheduling }},
	{"cpu_offload_gib", false, func(r *Row) any { return &r.CPUOffloadGiB }},
	{"arrival", true, func(r *Row) any { return &r.Arrival }},
	{"rate_rps", false, func(r *Row) any { return &r.RatePerS }},
	{"num_requests", true, func(r *Row) any { return &r.Requests }},
	{"concurrency", false, func(r *Row) any { return &r.Concurrency }},
	{"prompt_tokens", true, func(r *Row) any { return &r.PromptTokens }},
	{"prompt_range_ratio", false, func(r *Row) any { return &r.PromptRange }},
	{"output_tokens", true, func(r *Row) any { return &r.OutputTokens }},
	{"output_range_ratio", false, func(r *Row) any { return &r.OutputRange }},
	{"lengths", false, func(r *Row) any { return &r.Lengths }},
	{"prefix_groups", false, func(r *Row) any { return &r.PrefixGroups }},
	{"prefix_tokens", false, func(r *Row) any { return &r.PrefixTokens }},
	{"distinct_prompts", false, func(r *Row) any { return &r.DistinctPrompts }},
	{"compare", false, func(r *Row) any { return &r.Compare }},
	{"notes", false, func(r *Row) any { return &r.Notes }},
}

// allColumns adds those of the metrics.
func allColumns() []column[Row] {
	all := slices.Clone(columns)
	for _, m := range Metrics() {
		all = append(all, column[Row]{m.column(), false, func(r *Row) any { return &r.Measured[m] }})
	}
	return all
}

// ReadTable reads a table; name is that of the file, for messages. The error joins one for each independent mistake,
// with its line and column.
func ReadTable(name string, r io.Reader) (*Table, error) {
	rows, err := readCSV(name, r, allColumns())
	if err != nil {
		return nil, err
	}
	t := &Table{Name: name}
	for _, one := range rows {
		one.value.line, one.value.cells = one.line, one.cells
		t.Rows = append(t.Rows, one.value)
	}
	return t, t.checkIDs()
}

// checkIDs refuses a row without a name of its own: reports could not be told apart.
func (t *Table) checkIDs() error {
	var faults []error
	first := make(map[string]int, len(t.Rows))
	for i := range t.Rows {
		r := &t.Rows[i]
		if before, twice := first[r.ID]; twice && r.ID != "" {
			faults = append(faults, fmt.Errorf("%s:%d: id: %q is also that of line %d; give each row its own", t.Name, r.line, r.ID, before))
		}
		if r.ID == "" {
			faults = append(faults, fmt.Errorf("%s:%d: id: must not be blank", t.Name, r.line))
		}
		first[r.ID] = r.line
		if r.Group == "" {
			r.Group = r.ID
		}
	}
	return errors.Join(faults...)
}
