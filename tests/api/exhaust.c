/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Uses a session while the first, the second, ... allocation fails, until all succeed: `exhaust
 * RUN_DIR NAME`. Each time, all functions succeed or one fails with ENOMEM, and nothing is left in
 * the session's tree. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hvtrace/hvtrace.h"
#include "tests/unit/lib/failing_alloc.h"

#define TRIES_MAX 1000
#define WAIT_MS	  10000

struct use {
	struct hvt_machine *machine;
	struct hvt_machine **list;
	size_t nr;
	struct hvt_session *session;
	struct hvt_instance *instance;
	struct hvt_file *file;
	struct hvt_ops *ops, *graph, *events;
	struct hvt_symbols *symbols;
	struct hvt_type *type;
	struct hvt_probe *probe;
	char *text, *names;
	unsigned nr_calls;
	int dispatch_failed;
};

static void count(const struct hvt_call *call, void *data)
{
	struct use *u = data;

	u->nr_calls += call->ip != 0;
}

static struct hvt_error *use_parts(struct use *u)
{
	struct hvt_error *error =
		hvt_file_open(u->session, "set_ftrace_filter", O_WRONLY | O_TRUNC, &u->file);
	const void *data;
	size_t len_bytes;

	if (!error)
		error = hvt_file_write_part(u->file, "vfs_read ", 9);
	hvt_error_free(hvt_file_abandon(u->file));
	u->file = NULL;
	if (!error)
		error = hvt_file_open(u->session, "trace", O_RDONLY, &u->file);
	if (!error)
		error = hvt_file_read_part(u->file, 0, &data, &len_bytes);
	if (!error)
		error = hvt_dir_make(u->session, "instances/exhaust");
	if (!error)
		hvt_error_free(hvt_dir_remove(u->session, "instances/exhaust"));
	return error;
}

static struct hvt_error *use_files(struct use *u)
{
	struct hvt_error *error = hvt_file_read(u->session, "current_tracer", &u->text, NULL);

	if (!error)
		error = hvt_file_write(u->session, "control", HVT_WRITE_APPEND, "raw 3");
	if (!error)
		error = hvt_file_list(u->session, "instances", &u->names);
	if (!error)
		error = hvt_instance_new(u->session, NULL, &u->instance);
	if (!error)
		error = hvt_probe_new(u->session, "p vfs_read", &u->probe);
	if (!error)
		error = use_parts(u);
	return error ? error : hvt_symbols_read(u->session, &u->symbols);
}

static struct hvt_error *use_memory(struct use *u)
{
	struct hvt_error *error = hvt_type_find(u->session, "task_struct", &u->type);
	uint64_t at = 0xffffffff82000000u; /* tests/unit/cli/fake_types.c */
	uint64_t of_cpu, pid = 1;
	uint8_t task[1024];

	if (!error)
		error = hvt_memory_read(u->session, at, task, hvt_type_bytes(u->type), NULL);
	if (!error && (!hvt_member_number(hvt_type_member(u->type, "pid"), 0, task, &pid) || pid))
		abort();
	return error ? error : hvt_memory_of_cpu(u->session, 0, 0, &of_cpu);
}

/* Makes events, and waits until there is something to dispatch. */
static struct hvt_error *make_events(struct use *u, int *ret_ready)
{
	struct pollfd fd = {hvt_session_fd(u->session), POLLIN, 0};
	struct hvt_error *error = hvt_file_write(u->session, "control", HVT_WRITE_APPEND, "raw 3");

	*ret_ready = !error && poll(&fd, 1, WAIT_MS) == 1;
	return error;
}

static struct hvt_error *use_ops(struct use *u)
{
	struct hvt_error *error = hvt_ops_new(count, NULL, u, &u->ops);
	char name[16];
	int ready;

	if (!error)
		error = hvt_ops_set_filter(u->ops, "vfs_read");
	if (!error)
		error = hvt_ops_register(u->ops, u->session);
	if (!error)
		error = make_events(u, &ready);
	for (unsigned i = 0; i < 3 && !error; i++) {
		error = hvt_session_dispatch(u->session, 0, NULL);
		u->dispatch_failed = error != NULL;
	}
	return error ? error : hvt_session_task_name(u->session, 61, name);
}

static void count_graph(const struct hvt_graph *graph, void *data)
{
	struct use *u = data;

	u->nr_calls += graph->ip != 0;
}

static struct hvt_error *use_graph(struct use *u)
{
	struct hvt_error *error = hvt_ops_new_graph(count_graph, NULL, NULL, u, &u->graph);

	if (!error)
		error = hvt_ops_set_file(u->graph, "options/funcgraph-retval", "0");
	if (!error)
		error = hvt_ops_set_file(u->graph, "options/funcgraph-retval", "1");
	if (!error)
		error = hvt_ops_register(u->graph, u->session);
	return error ? error : hvt_session_dispatch(u->session, 0, NULL);
}

static void count_event(const struct hvt_event *event, void *data)
{
	struct use *u = data;

	u->nr_calls += event->entry_bytes != 0;
}

static struct hvt_error *use_events(struct use *u)
{
	struct hvt_error *error =
		hvt_ops_new_events("sched:sched_waking", count_event, NULL, u, &u->events);

	if (!error)
		error = hvt_ops_register(u->events, u->session);
	return error ? error : hvt_session_dispatch(u->session, 0, NULL);
}

static struct hvt_error *use_all(const struct hvt_config *config, const char *name, struct use *u)
{
	struct hvt_error *error = hvt_machine_list(config, &u->list, &u->nr);

	if (!error)
		error = hvt_machine_find(config, name, &u->machine);
	if (!error)
		error = hvt_session_join(u->machine, &u->session);
	if (!error)
		error = use_files(u);
	if (!error)
		error = use_memory(u);
	if (!error)
		error = use_ops(u);
	if (!error)
		error = use_graph(u);
	return error ? error : use_events(u);
}

/* Returns whether events are reported after a dispatch that failed. */
static int goes_on(struct use *u)
{
	int ready;

	hvt_error_free(make_events(u, &ready));
	return ready;
}

static void release(struct use *u)
{
	hvt_ops_free(u->ops);
	hvt_ops_free(u->graph);
	hvt_ops_free(u->events);
	hvt_symbols_free(u->symbols);
	hvt_type_free(u->type);
	hvt_instance_free(u->instance);
	hvt_error_free(hvt_file_close(u->file));
	hvt_probe_free(u->probe);
	hvt_session_close(u->session);
	hvt_machine_free(u->machine);
	hvt_machine_list_free(u->list, u->nr);
	hvt_free(u->text);
	hvt_free(u->names);
}

/* Prints the instances that are left. Returns true if there are none. */
static int is_clean(const struct hvt_config *config, const char *name)
{
	struct use u = {0};
	struct hvt_error *error = hvt_machine_find(config, name, &u.machine);
	int is_clean;

	if (!error)
		error = hvt_session_join(u.machine, &u.session);
	if (!error)
		error = hvt_file_list(u.session, "instances", &u.names);
	is_clean = !error && !*u.names;
	if (!is_clean)
		fprintf(stderr, "left: %s%s\n", hvt_error_message(error), u.names ? u.names : "");
	hvt_error_free(error);
	release(&u);
	return is_clean;
}

int main(int argc, char **argv)
{
	struct hvt_config config = {.size_bytes = sizeof(config)};
	unsigned nr = 0;
	int code;

	if (argc != 3)
		return 2;
	config.run_dir = argv[1];
	do {
		struct use u = {0};
		struct hvt_error *error;

		failing_alloc_after(nr);
		error = use_all(&config, argv[2], &u);
		code = hvt_error_errno(error);
		if (failing_alloc_has_failed() ? code != ENOMEM : code != 0) {
			fprintf(stderr, "allocation %u: %d: %s\n", nr, code,
				hvt_error_message(error));
			return 1;
		}
		hvt_error_free(error);
		failing_alloc_after(TRIES_MAX);
		if (u.dispatch_failed && !goes_on(&u)) {
			fprintf(stderr, "allocation %u: later events are not reported\n", nr);
			return 1;
		}
		release(&u);
		if (!is_clean(&config, argv[2]))
			return 1;
	} while (code && ++nr < TRIES_MAX);
	printf("%u allocations\n", nr);
	return nr < 20 || nr == TRIES_MAX;
}
