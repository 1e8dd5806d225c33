/* See fake_layers.c. */
#pragma once

/* Order of the fake tree's files. */
enum {
	FAKE_CONTROL,
	FAKE_TRACER,
	FAKE_FILTER,
	FAKE_NOTRACE,
	FAKE_GRAPH,
	FAKE_PIDS,
	FAKE_TRACING_ON,
	FAKE_TRACE_PIPE,
};
