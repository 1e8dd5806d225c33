/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/error_log.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define COMMAND_LEN_MAX 256
#define COMMAND_PREFIX	"  Command: "

static void forget(struct hv_logged_error *e)
{
	free(e->where);
	free(e->why);
	free(e->command);
}

void hv_error_log_clear(struct hv_error_log *log)
{
	for (size_t i = 0; i < log->nr; i++)
		forget(&log->list[i]);
	log->nr = 0;
}

/* Returns the first nonempty line of COMMAND, without trailing white space. *RET_AT is the offset
 * of its first word. */
static char *line_of(const char *command, size_t len_bytes, unsigned *ret_at)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	size_t len = 0;

	while (len_bytes && *command == '\n') {
		command++;
		len_bytes--;
	}
	while (len < len_bytes && len < COMMAND_LEN_MAX && command[len] && command[len] != '\n')
		len++;
	while (len && isspace((unsigned char)command[len - 1]))
		len--;
	for (*ret_at = 0; *ret_at < len && isspace((unsigned char)command[*ret_at]);)
		++*ret_at;
	hv_text_add_guest(&line, command, len);
	return hv_text_take(&line);
}

/* Adds an error without a command. */
static struct hv_logged_error *add(struct hv_error_log *log, uint64_t time_ns, const char *where,
				   const char *why)
{
	HV_AUTO_TEXT struct hv_text safe_why = {0}; /* WHY may quote the written text */
	struct hv_logged_error *e;

	hv_text_add_guest(&safe_why, why, strlen(why));
	if (log->nr == HV_ERROR_LOG_MAX) {
		forget(&log->list[0]);
		memmove(log->list, log->list + 1, --log->nr * sizeof(*log->list));
	}
	e = &log->list[log->nr++];
	e->time_ns = time_ns;
	e->where = hv_strdup(where);
	e->why = hv_text_take(&safe_why);
	return e;
}

void hv_error_log_add(struct hv_error_log *log, uint64_t time_ns, const char *where,
		      const char *why, const char *command, size_t len_bytes)
{
	struct hv_logged_error *e = add(log, time_ns, where, why);

	e->command = line_of(command, len_bytes, &e->at);
}

void hv_error_log_mark(struct hv_error_log *log, size_t at)
{
	if (log->nr)
		log->list[log->nr - 1].at = (unsigned)at;
}

void hv_error_log_text(const struct hv_error_log *log, struct hv_text *ret)
{
	for (size_t i = 0; i < log->nr; i++) {
		const struct hv_logged_error *e = &log->list[i];

		hv_text_printf(ret, "[%5" PRIu64 ".%06" PRIu64 "] %s: error: %s\n",
			       e->time_ns / 1000000000, e->time_ns / 1000 % 1000000, e->where,
			       e->why);
		hv_text_printf(ret, COMMAND_PREFIX "%s\n", e->command);
		hv_text_printf(ret, "%*s^\n", (int)(sizeof(COMMAND_PREFIX) - 1 + e->at), "");
	}
}
