// Package report turns the result of a run into what people and scripts read: a page of text, Markdown, CSV, JSON, and
// the table and the JSON of `vllm bench serve`. It also reads conditions on a result, such as "ttft.p99 < 500ms".
package report
