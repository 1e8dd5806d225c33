/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/ending.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "cli/explain.h"
#include "cli/service/host_client.h"
#include "cli/service/files.h"
#include "cli/service/trail.h"
#include "kernel/kernel.h"

#define LAST_WORDS_NS HV_NS_PER_S

void ending_because(struct service *s, struct hv_err *err)
{
	hv_err_free(s->end);
	s->end = in_domain(err, service_name(s));
	s->state = SERVE_DONE;
}

/* Frees the tree first, so that open files no longer publish changes. If the detach fails, the
 * session continues with a new tree whose tracer is nop, which matches the guest. */
void ending_begin_detach(struct service *s, struct peer *peer)
{
	uint64_t now = hv_now_ns();
	struct hv_session_stat stat;

	hv_session_stat(s->session, &stat);
	dumps_finish(s);
	hv_tree_end(s->tree);
	for (size_t i = 0; i < s->nr_peers; i++) {
		uint32_t tag = s->peers[i]->tag;

		files_end_waits(s->peers[i], NULL);
		files_abandon_all(s->peers[i]);
		s->peers[i]->tag = tag; /* the tag of the detach request, if this peer sent it */
	}
	made_things_forget(&s->made);
	hv_tree_free(s->tree);
	s->tree = NULL;
	hv_text_deinit(&s->detach.report);
	s->detach = (struct serve_detach){
		.peer = peer,
		.who = peer ? peer->who : audit_actor_self(),
		.began_ns = now,
		.bytes_before = stat.bytes_changed,
		.must_end = !peer,
		.retry = hv_retry_begin(HV_RETRY_FOR_NS),
	};
	s->state = SERVE_DETACHING;
}

/* Logs each line of TEXT, which may be NULL. */
static void log_lines(struct service *s, const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		audit_log(&s->audit, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* BEFORE: stat from before the region, which has the rings, was cleared. */
static void detached(struct service *s, const struct hv_session_stat *before)
{
	struct hv_session_stat stat;
	struct audit_entry e;

	hv_session_stat(s->session, &stat);
	trail_holds(s, &s->detach.who);
	e = audit_begin(&s->audit, &s->detach.who, "detach");
	audit_number(&e, "events", before->nr_events);
	audit_number(&e, "lost", before->nr_lost);
	audit_number(&e, "bytes", stat.bytes_changed - s->detach.bytes_before);
	audit_number(&e, "holds", stat.nr_holds);
	audit_number(&e, "held_us", stat.hold_total_ns / 1000);
	audit_number(&e, "longest_us", stat.hold_max_ns / 1000);
	audit_number(&e, "took_us", (hv_now_ns() - s->detach.began_ns) / 1000);
	audit_number(&e, "session_s", (hv_now_ns() - s->attached_ns) / HV_NS_PER_S);
	audit_end(&e);
	log_lines(s, s->detach.report.data);
	s->dir.has_left = false;
	s->state = SERVE_DONE;
	if (s->lost_region) {
		s->stays_known = true;
		ending_because(s,
			       hv_err_new(EIO, "detached, since memory that is shared with the "
					       "guest is gone: its file was truncated, or a page "
					       "of it is broken"));
	}
	if (s->fell_asleep) {
		s->stays_known = true;
		ending_because(s, hv_err_new(ENODEV, "detached, since the guest went to sleep "
						     "(S3): its ivshmem device is not there when "
						     "it wakes up"));
	}
	if (s->hibernates) {
		s->stays_known = true;
		ending_because(
			s, hv_err_new(ENODEV,
				      "detached, since the guest hibernates (S4): "
				      "the image on its disk must not contain changes of hvtrace"));
	}
}

/* Takes ERR. */
static void detach_failed(struct service *s, struct hv_err *err)
{
	struct peer *peer = s->detach.peer;
	struct hv_err *tree_err;
	bool is_there = err->code != ECONNRESET; /* the patched guest still exists */

	s->dir.has_left = is_there;
	err = hv_err_in(hv_err_in(err, "not detached"), "domain '%s'", service_name(s));
	err = hv_err_mark(err, HV_ERR_NAMES_DOMAIN);
	if (s->detach.must_end || !hv_session_is_whole(s->session)) {
		s->stays_known = true;
		err = hv_err_mark(err, is_there ? HV_ERR_NEEDS_RECOVERY : 0);
		ending_because(s, advise(err, service_name(s)));
		return;
	}
	err = advise_in_session(err, service_name(s));
	audit_log(&s->audit, "%s", err->message);
	s->fell_asleep = false;
	s->hibernates = false;
	s->detach.peer = NULL;
	s->state = SERVE_RUNS;
	tree_err = hv_tree_new(s->session, &s->tree);
	if (peer)
		peer_answer_error(peer, err);
	else
		hv_err_free(err);
	if (tree_err)
		ending_because(s, tree_err);
}

void ending_try_detach(struct service *s, uint64_t now_ns)
{
	struct hv_session_stat before;
	struct hv_err *err;

	if (s->state != SERVE_DETACHING || now_ns < s->detach.retry.next_ns)
		return;
	hv_session_stat(s->session, &before);
	hv_text_clear(&s->detach.report);
	err = hv_session_detach(s->session, &s->detach.report);
	if (!err) {
		detached(s, &before);
		return;
	}
	if (!hv_retry_may_succeed(err) || !hv_retry_again(&s->detach.retry)) {
		detach_failed(s, err);
		return;
	}
	if (err->code != s->detach.waits_for) {
		s->detach.waits_for = err->code;
		err = hv_err_in(err, "domain '%s': detach waits", service_name(s));
		audit_log(&s->audit, "%s", err->message);
		if (s->detach.peer)
			peer_note(s->detach.peer, err->message);
	}
	hv_err_free(err);
}

static void note_end(struct service *s)
{
	struct audit_actor who = audit_actor_self();
	struct audit_entry e = audit_begin(&s->audit, &who, "end");

	audit_text(&e, "reason", s->end->message);
	audit_end(&e);
}

/* Gives peers a moment to receive pending answers. */
static void last_words(struct service *s)
{
	uint64_t until = hv_now_ns() + LAST_WORDS_NS;

	for (size_t i = 0; i < s->nr_peers; i++) {
		struct peer *p = s->peers[i];
		struct pollfd fd = {p->fd, POLLOUT, 0};

		while (!p->gone && peer_has_output(p) && hv_now_ns() < until)
			if (poll(&fd, 1, 50) > 0)
				peer_send(p);
	}
}

static void report_the_end(struct service *s)
{
	if (s->detach.peer && !s->end)
		peer_answer_bytes(s->detach.peer, s->detach.report.data,
				  s->detach.report.len_bytes);
	else if (s->detach.peer)
		peer_answer_error(s->detach.peer, hv_err_copy(s->end));
	for (size_t i = 0; i < s->nr_peers; i++) {
		struct peer *p = s->peers[i];

		if (s->end)
			files_end_waits(p, s->end);
	}
}

/* Removes the pin if the guest contains nothing of the session. A guest whose vCPUs run nested
 * guests looks rebooted although its changes are intact; its pin stays for the next attach or
 * recover. */
static void unpin_rebooted(struct service *s)
{
	struct hv_err *gone = hv_session_alive(s->session);

	if (gone && gone->code == ECONNRESET)
		hv_err_free(hv_guest_unpin(s->guest));
	hv_err_free(gone);
}

void ending_finish(struct service *s)
{
	/* The rings hold the last events before a guest's crash, and these may request a dump. */
	if (s->tree)
		dumps_finish(s);
	if (s->end)
		note_end(s);
	if (s->end && s->end->code == ECONNRESET)
		unpin_rebooted(s);
	/* Does not close files: closing publishes, but nothing is written to a guest that has
	 * ended. */
	hv_session_free(s->session);
	hv_kernel_free(s->kernel);
	hv_guest_free(s->guest);
	hv_close_at(&s->listen_fd);
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->mount_dir)
			host_umount(s, s->peers[i]->mount_dir);
	host_leave_rundir(s, s->stays_known ? s->end->reason : NULL);
	hv_helper_end(&s->broker);
	report_the_end(s);
	last_words(s);
	while (s->nr_peers)
		peer_free(s->peers[--s->nr_peers]);
	hv_text_deinit(&s->detach.report);
	made_things_forget(&s->made);
	audit_close(&s->audit);
	access_deinit(&s->access);
	free(s->alive_message);
	hv_err_free(s->end);
}
