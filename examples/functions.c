/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the calls of functions of a guest's kernel: `functions DOMAIN FUNCTIONS SECONDS`. A line
 * has the contents of a line of the guest's file `trace`. */
#include <errno.h>
#include <hvtrace/hvtrace.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct printer {
	struct hvt_session *session;
	struct hvt_symbols *symbols;
	uint64_t nr_lost;
};

static void print_call(const struct hvt_call *call, void *data)
{
	struct printer *p = data;
	const char *name = hvt_symbols_name(p->symbols, call->ip, NULL, NULL);
	const char *parent = hvt_symbols_name(p->symbols, call->parent_ip, NULL, NULL);
	uint64_t us = (call->time_ns + 500) / 1000; /* rounded, as in `trace` */
	char task[16] = "<...>";

	hvt_error_free(hvt_session_task_name(p->session, call->pid, task));
	printf("%s-%" PRIu32 " [%03" PRIu32 "] %" PRIu64 ".%06" PRIu64 ": %s <-%s\n", task,
	       call->pid, call->cpu, us / 1000000, us % 1000000, name ? name : "?",
	       parent ? parent : "?");
}

static void count_lost(uint32_t cpu, uint64_t nr, void *data)
{
	struct printer *p = data;

	(void)cpu;
	p->nr_lost += nr;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct hvt_error *deliver_until(struct hvt_session *session, double end_s)
{
	struct hvt_error *error;
	double left_s;

	do {
		struct pollfd fd = {hvt_session_fd(session), POLLIN, 0};

		error = hvt_session_dispatch(session, 0, NULL);
		left_s = end_s - now_s();
		if (!error && left_s > 0)
			poll(&fd, 1, (int)(left_s * 1000) + 1);
	} while (!error && left_s > 0);
	return error;
}

/* Delivers calls for SECONDS, then those that were recorded before the pause. */
static struct hvt_error *trace(struct hvt_session *session, struct hvt_ops *ops, double seconds)
{
	struct hvt_error *error = hvt_ops_register(ops, session);

	if (!error)
		error = deliver_until(session, now_s() + seconds);
	if (!error)
		error = hvt_ops_pause(ops);
	if (!error)
		error = deliver_until(session, now_s() + 0.5);
	return error ? error : hvt_ops_unregister(ops);
}

static struct hvt_error *run(const char *domain, const char *functions, double seconds)
{
	struct hvt_machine *machine = NULL;
	struct hvt_ops *ops = NULL;
	struct printer p = {0};
	struct hvt_error *error = hvt_machine_find(NULL, domain, &machine);

	if (!error)
		error = hvt_session_join(machine, &p.session);
	if (!error)
		error = hvt_symbols_read(p.session, &p.symbols);
	if (!error)
		error = hvt_ops_new(print_call, count_lost, &p, &ops);
	if (!error)
		error = hvt_ops_set_filter(ops, functions);
	if (!error)
		error = trace(p.session, ops, seconds);
	if (p.nr_lost)
		fprintf(stderr, "%" PRIu64 " calls were lost\n", p.nr_lost);
	hvt_ops_free(ops);
	hvt_symbols_free(p.symbols);
	hvt_session_close(p.session);
	hvt_machine_free(machine);
	return error;
}

int main(int argc, char **argv)
{
	struct hvt_error *error;

	if (argc != 4) {
		fprintf(stderr, "usage: functions DOMAIN FUNCTIONS SECONDS\n");
		return 2;
	}
	error = run(argv[1], argv[2], atof(argv[3]));
	if (!error)
		return 0;
	fprintf(stderr, "functions: %s\n", hvt_error_message(error));
	hvt_error_free(error);
	return 1;
}
