/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/recovery.h"

#include <string.h>

#include "base/retry.h"
#include "cli/service/unprivileged.h"
#include "kernel/kernel.h"
#include "tracer/session.h"

#define LINES_MAX      64 /* limit for the user and the log; only a compromised child sends more */
#define LINE_BYTES_MAX 1024

/* Messages of the child in addition to its requests about the guest. */
enum {
	RECOVERY_WAITS = UNPRIVILEGED_FIRST, /* a line */
	RECOVERY_ENDS, /* whether changes were found, the error's code, its flags, and the offset of
			  its reason; the report and the error's message, each with its NUL */
};

/* The unprivileged child. */

static struct hv_err *recover_once(int socket, struct hv_guest *guest, struct recovery *r)
{
	const struct hv_btf_files btf = {unprivileged_open_btf, &socket,
					 .kept_facts = unprivileged_kept_facts};
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;
	bool was_stopped;
	struct hv_err *err = hv_guest_let_run(guest, &was_stopped);

	if (!err && was_stopped)
		hv_text_add(&r->report, "the guest was still stopped by a hold: it runs again\n");
	if (!err)
		err = hv_guest_refusal(guest);
	if (!err)
		err = hv_kernel_open_core(guest, &btf, &kernel);
	if (!err)
		err = hv_session_recover(guest, kernel, &r->report, &r->found);
	return err;
}

static void say_what_is_waited_for(int socket, const struct hv_guest *guest,
				   const struct hv_err *why)
{
	HV_AUTO_FREE char *line = hv_format("domain '%s': recover waits: %s",
					    hv_guest_info(guest)->name, why->message);
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	hv_err_free(hv_channel_ask(socket,
				   &(struct hv_message){.kind = RECOVERY_WAITS,
							.bytes = (uint8_t *)line,
							.len_bytes = strlen(line)},
				   &answer));
}

/* Reports why it waits, and each change of the reason. */
static struct hv_err *recover(int socket, struct hv_guest *guest, struct recovery *r)
{
	struct hv_retry retry = hv_retry_begin(HV_RETRY_FOR_NS);
	struct hv_err *err = recover_once(socket, guest, r);
	int said = 0;

	while (err && hv_retry_may_succeed(err) && hv_retry_again(&retry)) {
		struct recovery more = {0};

		if (err->code != said)
			say_what_is_waited_for(socket, guest, err);
		said = err->code;
		hv_err_free(err);
		hv_retry_wait(&retry);
		err = recover_once(socket, guest, &more);
		if ((!err || !hv_retry_may_succeed(err)) && more.report.data)
			hv_text_add(&r->report, more.report.data);
		r->found |= more.found;
		hv_text_deinit(&more.report);
	}
	return err;
}

static void work(struct hv_guest *guest, int socket, void *ctx hv_unused)
{
	struct recovery r = {0};
	struct hv_message end = {.kind = RECOVERY_ENDS};
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = recover(socket, guest, &r);

	end.args[0] = r.found;
	hv_text_add_bytes(&text, r.report.data ? r.report.data : "", r.report.len_bytes);
	hv_text_add_bytes(&text, "", 1);
	if (err) {
		end.args[1] = (uint64_t)err->code;
		end.args[2] = err->facts;
		end.args[3] = (uint64_t)(err->reason - err->message);
		hv_text_add_bytes(&text, err->message, strlen(err->message) + 1);
	}
	end.bytes = (uint8_t *)text.data;
	end.len_bytes = text.len_bytes;
	hv_err_free(hv_channel_send(socket, &end));
}

/* The privileged process. */

struct listener {
	struct recovery *r;
	struct hv_err *err; /* from the child */
	unsigned nr_lines;  /* received until now */
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

static struct hv_err *take_end(const struct hv_message *m, struct recovery *r)
{
	const char *report = (const char *)m->bytes;
	size_t len = strlen(report);

	hv_text_add_lines(&r->report, report);
	r->found |= m->args[0] != 0;
	if (!m->args[1])
		return NULL;
	return hv_err_received(&(struct hv_err_sent){
		.code = m->args[1],
		.facts = m->args[2],
		.reason_off = m->args[3],
		.text = report + len + 1,
		.len_bytes = len < m->len_bytes ? m->len_bytes - len - 1 : 0,
	});
}

static bool heard(const struct hv_message *m, void *ctx)
{
	struct listener *l = ctx;
	HV_AUTO_TEXT struct hv_text line = {0};

	if (m->kind == RECOVERY_ENDS) {
		l->err = take_end(m, l->r);
		return true;
	}
	if (l->nr_lines++ >= LINES_MAX)
		return false;
	hv_text_add_utf8(&line, (const char *)m->bytes, LINE_BYTES_MAX);
	hv_text_add(&line, "");
	if (l->say)
		l->say(l->ctx, line.data);
	return false;
}

struct hv_err *recovery_run(struct hv_guest *guest, struct hv_broker_server *known,
			    struct recovery *r, void (*say)(void *ctx, const char *line), void *ctx)
{
	struct listener l = {.r = r, .say = say, .ctx = ctx};
	const struct unprivileged d = {
		"hvtrace:recover", HV_ADOPTS_EARLIER, work, heard, &l, r->btf, r->facts};
	struct hv_err *err = unprivileged_run(guest, known, &d);

	return err ? err : l.err;
}
