/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints trace events of a guest with all their fields: `events DOMAIN EVENTS SECONDS`, such as
 * `events web1 'sched:sched_process_exec irq:*' 5`. */
#include <hvtrace/hvtrace.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct hvt_session *session;

/* A guest chooses the text: it could contain control characters of the terminal. */
static void print_text(const struct hvt_event *event, const struct hvt_field *field)
{
	char text[256];

	if (hvt_event_string(event, field, text, sizeof(text)) < 0)
		strcpy(text, "?");
	for (char *c = text; *c; c++)
		putchar((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c);
}

static void print_array(const struct hvt_event *event, const struct hvt_field *field)
{
	uint64_t number;

	for (size_t i = 0; hvt_event_element(event, field, i, &number); i++)
		printf("%s%#" PRIx64, i ? "," : "", number);
}

static void print_number(const struct hvt_event *event, const struct hvt_field *field)
{
	uint64_t number = 0;

	if (!hvt_event_number(event, field, &number))
		putchar('?');
	else if (hvt_field_is_signed(field))
		printf("%" PRId64, (int64_t)number);
	else
		printf("%" PRIu64, number);
}

static void print_field(const struct hvt_event *event, const struct hvt_field *field)
{
	printf(" %s=", hvt_field_name(field));
	switch (hvt_field_kind(field)) {
	case HVT_FIELD_NUMBER:
		print_number(event, field);
		break;
	case HVT_FIELD_STRING:
		print_text(event, field);
		break;
	case HVT_FIELD_ARRAY:
		print_array(event, field);
	}
}

static void print_event(const struct hvt_event *event, void *data)
{
	uint64_t us = (event->time_ns + 500) / 1000; /* rounded, as in `trace` */
	char task[16] = "<...>";
	const struct hvt_field *field;

	(void)data;
	hvt_error_free(hvt_session_task_name(session, event->pid, task));
	printf("%s-%" PRIu32 " [%03" PRIu32 "] %" PRIu64 ".%06" PRIu64 ": %s:", task, event->pid,
	       event->cpu, us / 1000000, us % 1000000, hvt_event_type_name(event->type));
	for (size_t i = 0; (field = hvt_event_type_field(event->type, i)); i++)
		if (strncmp(hvt_field_name(field), "common_", 7) != 0)
			print_field(event, field);
	putchar('\n');
}

static void print_lost(uint32_t cpu, uint64_t nr, void *data)
{
	(void)data;
	fprintf(stderr, "vCPU %" PRIu32 ": %" PRIu64 " events were lost\n", cpu, nr);
}

static struct hvt_error *deliver(double seconds)
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

static struct hvt_error *trace(const char *events, double seconds)
{
	struct hvt_ops *ops = NULL;
	struct hvt_error *error = hvt_ops_new_events(events, print_event, print_lost, NULL, &ops);

	if (!error)
		error = hvt_ops_register(ops, session);
	if (!error)
		error = deliver(seconds);
	if (!error)
		error = hvt_ops_pause(ops);
	if (!error)
		error = deliver(1);
	hvt_ops_free(ops);
	return error;
}

int main(int argc, char **argv)
{
	struct hvt_machine *machine = NULL;
	struct hvt_error *error;

	if (argc != 4) {
		fprintf(stderr, "usage: events DOMAIN EVENTS SECONDS\n");
		return 2;
	}
	error = hvt_machine_find(NULL, argv[1], &machine);
	if (!error)
		error = hvt_session_join(machine, &session);
	if (!error)
		error = trace(argv[2], atof(argv[3]));
	hvt_session_close(session);
	hvt_machine_free(machine);
	if (!error)
		return 0;
	fprintf(stderr, "events: %s\n", hvt_error_message(error));
	hvt_error_free(error);
	return 1;
}
