/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints calls and returns of functions of a guest's kernel as a live graph: `graph DOMAIN
 * FUNCTIONS SECONDS`. A return has the duration and the return value. */
#include <hvtrace/hvtrace.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct hvt_symbols *symbols;

static void print_graph(const struct hvt_graph *graph, void *data)
{
	const char *name = hvt_symbols_name(symbols, graph->ip, NULL, NULL);
	int indent = graph->depth < 50 ? 2 * (int)graph->depth : 100;

	(void)data;
	printf("%3" PRIu32 ") %5" PRIu32 " | ", graph->cpu, graph->pid);
	if (graph->what & HVT_GRAPH_RETURN)
		printf("%8" PRIu64 ".%03" PRIu64 " us | %*s} %s = %#" PRIx64 "\n",
		       graph->duration_ns / 1000, graph->duration_ns % 1000, indent, "",
		       name ? name : "?", graph->return_value);
	else
		printf("%15s | %*s%s() {\n", "", indent, "", name ? name : "?");
}

static void print_lost(uint32_t cpu, uint64_t nr, void *data)
{
	(void)data;
	fprintf(stderr, "vCPU %" PRIu32 ": %" PRIu64 " calls and returns were lost\n", cpu, nr);
}

static struct hvt_error *deliver(struct hvt_session *session, double seconds)
{
	time_t end = time(NULL) + (time_t)seconds;
	struct hvt_error *error;

	do {
		struct pollfd fd = {hvt_session_fd(session), POLLIN, 0};

		poll(&fd, 1, 500);
		error = hvt_session_dispatch(session, 0, NULL);
	} while (!error && time(NULL) < end);
	return error;
}

static struct hvt_error *trace(struct hvt_session *session, const char *functions, double seconds)
{
	struct hvt_ops *ops = NULL;
	struct hvt_error *error = hvt_symbols_read(session, &symbols);

	if (!error)
		error = hvt_ops_new_graph(print_graph, print_graph, print_lost, NULL, &ops);
	if (!error)
		error = hvt_ops_set_filter(ops, functions);
	if (!error)
		error = hvt_ops_set_file(ops, "options/funcgraph-retval", "1");
	if (!error)
		error = hvt_ops_register(ops, session);
	if (!error)
		error = deliver(session, seconds);
	if (!error)
		error = hvt_ops_pause(ops);
	if (!error)
		error = deliver(session, 1);
	hvt_ops_free(ops);
	hvt_symbols_free(symbols);
	return error;
}

int main(int argc, char **argv)
{
	struct hvt_machine *machine = NULL;
	struct hvt_session *session = NULL;
	struct hvt_error *error;

	if (argc != 4) {
		fprintf(stderr, "usage: graph DOMAIN FUNCTIONS SECONDS\n");
		return 2;
	}
	error = hvt_machine_find(NULL, argv[1], &machine);
	if (!error)
		error = hvt_session_join(machine, &session);
	if (!error)
		error = trace(session, argv[2], atof(argv[3]));
	hvt_session_close(session);
	hvt_machine_free(machine);
	if (!error)
		return 0;
	fprintf(stderr, "graph: %s\n", hvt_error_message(error));
	hvt_error_free(error);
	return 1;
}
