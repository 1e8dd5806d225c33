#include "cli/service/serve.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "cli/service/boot.h"
#include "base/clock.h"
#include "cli/service/files.h"
#include "cli/service/home.h"
#include "cli/mountpoint.h"
#include "cli/service/requests.h"
#include "cli/retry.h"
#include "cli/service/service.h"
#include "cli/spec.h"
#include "tree/tree.h"

#define NS_PER_MS     1000000ull
#define LAST_WORDS_NS (1000 * NS_PER_MS)

static const char *name_of(const struct service *s)
{
	return hv_guest_info(s->guest)->name;
}

/* Takes ERR. */
static void end_with(struct service *s, struct hv_err *err)
{
	hv_err_free(s->end);
	s->end = err;
	s->state = SERVE_DONE;
}

/* Detaching. The tree goes first: what handles hold is not published any more, and a session that
 * could not be detached starts over with a fresh tree, which shows no tracer, as it is. */

void serve_begin_detach(struct service *s, struct peer *peer)
{
	uint64_t now = hv_now_ns();

	dumps_finish(&s->dumps, s->tree, &s->dir, &s->audit);
	hv_tree_end(s->tree);
	for (size_t i = 0; i < s->nr_peers; i++) {
		uint32_t tag = s->peers[i]->tag;

		files_end_waits(s->peers[i], NULL);
		files_abandon_all(s->peers[i]);
		s->peers[i]->tag = tag; /* of the detach, if it asked for that */
	}
	hv_tree_free(s->tree);
	s->tree = NULL;
	hv_text_deinit(&s->detach.report);
	s->detach = (struct serve_detach){
		.peer = peer,
		.who = peer ? peer->who : audit_actor_self(),
		.must_end = !peer,
		.next_ns = now,
		.until_ns = now + RETRY_FOR_NS,
		.delay_ns = RETRY_FIRST_NS,
	};
	s->state = SERVE_DETACHING;
}

/* Each line of TEXT, which may be NULL, as a line of the log. */
static void log_lines(struct service *s, const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		audit_log(&s->audit, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void detached(struct service *s)
{
	struct hv_session_stat stat;

	hv_session_stat(s->session, &stat);
	audit_line(&s->audit, &s->detach.who, "detach",
		   "events=%llu lost=%llu holds=%llu hold_max_us=%llu",
		   (unsigned long long)stat.nr_events, (unsigned long long)stat.nr_lost,
		   (unsigned long long)stat.nr_holds,
		   (unsigned long long)(stat.hold_max_ns / 1000));
	log_lines(s, s->detach.report.data);
	s->state = SERVE_DONE;
	if (!s->fell_asleep)
		return;
	s->stays_known = true;
	end_with(s, hv_err_new(ENODEV,
			       "domain '%s': detached, since the guest went to sleep (S3): its "
			       "ivshmem device is not there when it wakes up",
			       name_of(s)));
}

/* Takes ERR. */
static void detach_failed(struct service *s, struct hv_err *err)
{
	struct peer *peer = s->detach.peer;
	struct hv_err *tree_err;

	err = hv_err_in(err, "domain '%s': not detached", name_of(s));
	if (s->detach.must_end) {
		s->stays_known = true;
		end_with(s, hv_err_new(err->code, "%s: run `hvtrace recover %s`", err->message,
				       name_of(s)));
		hv_err_free(err);
		return;
	}
	audit_log(&s->audit, "%s", err->message);
	s->fell_asleep = false;
	s->detach.peer = NULL;
	s->state = SERVE_RUNS;
	tree_err = hv_tree_new(s->session, &s->tree);
	if (peer)
		peer_answer_error(peer, err);
	else
		hv_err_free(err);
	if (tree_err)
		end_with(s, tree_err);
}

static void try_detach(struct service *s, uint64_t now_ns)
{
	struct hv_err *err;

	if (s->state != SERVE_DETACHING || now_ns < s->detach.next_ns)
		return;
	hv_text_clear(&s->detach.report);
	err = hv_session_detach(s->session, &s->detach.report);
	if (!err) {
		detached(s);
		return;
	}
	if (!retry_may_succeed(err) || now_ns >= s->detach.until_ns) {
		detach_failed(s, err);
		return;
	}
	if (err->code != s->detach.waits_for) {
		s->detach.waits_for = err->code;
		err = hv_err_in(err, "domain '%s': detach waits", name_of(s));
		audit_log(&s->audit, "%s", err->message);
		if (s->detach.peer)
			peer_note(s->detach.peer, err->message);
	}
	hv_err_free(err);
	s->detach.next_ns = hv_now_ns() + s->detach.delay_ns;
	s->detach.delay_ns = retry_next_ns(s->detach.delay_ns);
}

/* Clients. */

/* A mount whose process died in a way that left it: who looks into it would only get errors. */
static void unmount_of(struct service *s, const struct peer *p)
{
	if (!p->mount_dir)
		return;
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != p && s->peers[i]->mount_dir &&
		    strcmp(s->peers[i]->mount_dir, p->mount_dir) == 0)
			return;
	hv_err_free(mountpoint_umount(p->mount_dir, MOUNTPOINT_LAZY));
}

static size_t nr_regular_peers(const struct service *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_peers; i++)
		nr += !s->peers[i]->is_extra;
	return nr;
}

/* Those who were too many are not any more when others have gone. */
static void admit_extra_peers(struct service *s)
{
	size_t nr = nr_regular_peers(s);

	for (size_t i = 0; i < s->nr_peers && nr < SERVE_PEERS_MAX; i++) {
		nr += s->peers[i]->is_extra;
		s->peers[i]->is_extra = false;
	}
}

static void drop_peer(struct service *s, size_t index)
{
	struct peer *p = s->peers[index];
	bool owner = p->owns_session;

	s->peers[index] = s->peers[--s->nr_peers];
	admit_extra_peers(s);
	unmount_of(s, p);
	if (s->state == SERVE_RUNS)
		files_abandon_all(p);
	if (s->detach.peer == p)
		s->detach.peer = NULL;
	peer_free(p);
	if (owner && s->state == SERVE_RUNS) {
		audit_log(&s->audit, "the client this session was made for has gone");
		serve_begin_detach(s, NULL);
	}
}

static void drop_gone_peers(struct service *s)
{
	for (size_t i = s->nr_peers; i-- > 0;)
		if (s->peers[i]->gone)
			drop_peer(s, i);
}

/* Of those who are too many, one who does not wait for a detach. */
static void drop_an_extra_peer(struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++) {
		if (!s->peers[i]->is_extra || s->detach.peer == s->peers[i])
			continue;
		drop_peer(s, i);
		return;
	}
}

/* Always: somebody may want to detach. */
static void accept_peer(struct service *s)
{
	struct peer *p = peer_accept(s->listen_fd);

	if (!p)
		return;
	if (s->nr_peers == HV_ARRAY_LEN(s->peers))
		drop_an_extra_peer(s);
	p->is_extra = nr_regular_peers(s) >= SERVE_PEERS_MAX;
	s->peers[s->nr_peers++] = p;
}

static void serve_peer(struct service *s, struct peer *p, short events)
{
	struct wire_frame frame;
	size_t used;

	if (events & POLLOUT)
		peer_send(p);
	if (events & POLLIN)
		peer_receive(p);
	/* Whoever closed its end while it waits for us has died or been interrupted. */
	if (events & (POLLHUP | POLLERR | POLLRDHUP))
		p->gone = true;
	if (s->detach.peer == p || !peer_next(p, &frame, &used))
		return;
	request_handle(s, p, &frame);
	peer_next_done(p, used);
}

static bool has_ready_request(const struct service *s)
{
	struct wire_frame frame;
	size_t used;

	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i] != s->detach.peer && peer_next(s->peers[i], &frame, &used))
			return true;
	return false;
}

/* The loop. */

struct ticks {
	uint64_t alive_ns;
	uint64_t second_ns;
	unsigned nr_other_boot; /* looks in a row that found another boot */
};

static bool somebody_waits(const struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->nr_waits)
			return true;
	return false;
}

static int poll_timeout_ms(const struct service *s, const struct ticks *t, uint64_t now_ns)
{
	uint64_t next = t->alive_ns;

	if (has_ready_request(s) || dumps_has_work(&s->dumps))
		return 0;
	if (s->state == SERVE_DETACHING && s->detach.next_ns < next)
		next = s->detach.next_ns;
	if (somebody_waits(s) && now_ns + SERVE_WAIT_NS < next)
		next = now_ns + SERVE_WAIT_NS;
	if (s->state == SERVE_RUNS && hv_tree_drains(s->tree) && now_ns + HV_DRAIN_NS < next)
		next = now_ns + HV_DRAIN_NS;
	return next <= now_ns ? 0 : (int)((next - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void check_alive(struct service *s)
{
	struct hv_err *err = hv_session_alive(s->session);

	if (!err)
		return;
	err = in_domain(err, name_of(s));
	if (err->code == ECONNRESET) {
		s->stays_known = true;
		end_with(s, err);
		return;
	}
	if (!s->alive_message || strcmp(s->alive_message, err->message) != 0) {
		audit_log(&s->audit, "%s", err->message);
		free(s->alive_message);
		s->alive_message = hv_strdup(err->message);
	}
	hv_err_free(err);
}

static void check_sleep(struct service *s)
{
	bool sleeps = false;

	hv_err_free(hv_guest_sleeps(s->guest, &sleeps));
	if (!sleeps)
		return;
	s->fell_asleep = true;
	audit_log(&s->audit, "the guest sleeps (S3): detaching");
	serve_begin_detach(s, NULL);
	s->detach.must_end = false;
}

static void watch_livepatch(struct service *s)
{
	struct hv_err *err = hv_tree_step_aside(s->tree);

	if (err && !s->stepped_aside)
		audit_log(&s->audit, "function_graph steps aside: %s", err->message);
	if (!err && s->stepped_aside)
		audit_log(&s->audit, "no livepatch waits for function_graph any more");
	s->stepped_aside = err != NULL;
	hv_err_free(err);
}

/* Registers of running vCPUs are of some moment: one odd look is no reboot. */
static void check_boot(struct service *s, struct ticks *t)
{
	enum boot_state boot = boot_look(s->kernel);

	t->nr_other_boot = boot == BOOT_OTHER ? t->nr_other_boot + 1 : 0;
	if (t->nr_other_boot < SERVE_OTHER_BOOTS)
		return;
	s->stays_known = true;
	end_with(s, hv_err_new(ECONNRESET, "domain '%s': the guest was rebooted", name_of(s)));
}

static void tick(struct service *s, struct ticks *t)
{
	uint64_t now = hv_now_ns();

	if (now >= t->alive_ns) {
		t->alive_ns = now + SERVE_ALIVE_NS;
		check_alive(s);
		if (s->state == SERVE_RUNS)
			check_sleep(s);
	}
	if (s->state == SERVE_RUNS && (now >= t->second_ns || t->nr_other_boot)) {
		t->second_ns = now + SERVE_SECOND_NS;
		home_keep(s);
		check_boot(s, t);
		if (!t->nr_other_boot) {
			hv_session_refresh_clock(s->session);
			hv_session_sweep(s->session);
			hv_tree_refresh(s->tree);
			hv_tree_retire(s->tree);
			watch_livepatch(s);
		}
	}
	if (s->state == SERVE_DONE)
		return;
	if (s->state == SERVE_RUNS) {
		hv_tree_drain(s->tree);
		dumps_write(&s->dumps, s->tree, &s->dir, &s->audit);
	}
	for (size_t i = 0; i < s->nr_peers; i++)
		files_retry(s, s->peers[i], now);
	try_detach(s, now);
}

static void guest_stands(struct service *s)
{
	if (s->tree)
		hv_tree_refresh(s->tree);
	else
		hv_session_refresh(s->session);
	/* Whatever it was made to stand for: it goes on. */
	hv_guest_end_stop(s->guest);
}

static void take_signal(struct service *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	audit_log(&s->audit, "signal %u from pid %u: detaching", info.ssi_signo, info.ssi_pid);
	if (s->state == SERVE_RUNS)
		serve_begin_detach(s, NULL);
	s->detach.must_end = true;
}

enum { POLL_GUEST, POLL_SIGNAL, POLL_LISTEN, POLL_STOP, POLL_PEERS };

static void serve_once(struct service *s, struct ticks *t)
{
	struct pollfd fds[POLL_PEERS + SERVE_PEERS_MAX + SERVE_PEERS_EXTRA] = {
		[POLL_GUEST] = {hv_guest_exit_fd(s->guest), POLLIN, 0},
		[POLL_SIGNAL] = {s->signal_fd, POLLIN, 0},
		[POLL_LISTEN] = {s->listen_fd, POLLIN, 0},
		[POLL_STOP] = {hv_guest_stop_fd(s->guest), POLLIN, 0},
	};
	size_t nr = s->nr_peers;

	for (size_t i = 0; i < nr; i++)
		fds[POLL_PEERS + i] = (struct pollfd){s->peers[i]->fd, peer_events(s->peers[i]), 0};
	if (poll(fds, POLL_PEERS + nr, poll_timeout_ms(s, t, hv_now_ns())) < 0)
		return;
	if (fds[POLL_GUEST].revents) {
		end_with(s, hv_err_new(ECONNRESET, "domain '%s': has ended", name_of(s)));
		return;
	}
	if (fds[POLL_STOP].revents)
		guest_stands(s);
	if (fds[POLL_SIGNAL].revents)
		take_signal(s);
	for (size_t i = 0; i < nr && s->state != SERVE_DONE; i++)
		serve_peer(s, s->peers[i], fds[POLL_PEERS + i].revents);
	if (fds[POLL_LISTEN].revents)
		accept_peer(s);
	drop_gone_peers(s);
	if (s->state != SERVE_DONE)
		tick(s, t);
}

static void audit_end(struct service *s)
{
	struct audit_actor who = audit_actor_self();

	audit_line(&s->audit, &who, "end", "reason='%s'", s->end->message);
}

/* Peers get what is still on its way to them, for a moment. */
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

static void tell_the_end(struct service *s)
{
	if (s->detach.peer && !s->end)
		peer_answer_bytes(s->detach.peer, s->detach.report.data,
				  s->detach.report.len_bytes);
	else if (s->detach.peer)
		peer_answer_error(s->detach.peer, hv_err_new(s->end->code, "%s", s->end->message));
	for (size_t i = 0; i < s->nr_peers; i++) {
		struct peer *p = s->peers[i];

		if (s->end)
			files_end_waits(p, s->end);
	}
}

/* Once nothing of ours is in it. A pin that stays is taken over by the next attach or recover: a
 * guest whose vCPUs run guests of their own looks like another boot and has all of it. */
static void unpin_rebooted(struct service *s)
{
	struct hv_err *gone = hv_session_alive(s->session);

	if (gone && gone->code == ECONNRESET)
		hv_err_free(hv_guest_unpin(s->guest));
	hv_err_free(gone);
}

void serve(struct service *s)
{
	struct ticks t = {0};

	while (s->state != SERVE_DONE)
		serve_once(s, &t);
	/* A guest that died of what was looked for has left it in the rings. */
	if (s->tree)
		dumps_finish(&s->dumps, s->tree, &s->dir, &s->audit);
	if (s->end)
		audit_end(s);
	if (s->end && s->end->code == ECONNRESET)
		unpin_rebooted(s);
	/* An ended guest is not written to any more: closing what is open would publish. */
	hv_session_free(s->session);
	hv_kernel_free(s->kernel);
	hv_guest_free(s->guest);
	close(s->listen_fd);
	if (s->stays_known)
		rundir_leave(&s->dir, s->end->message);
	else
		rundir_remove(&s->dir);
	for (size_t i = 0; i < s->nr_peers; i++)
		if (s->peers[i]->mount_dir)
			hv_err_free(mountpoint_umount(s->peers[i]->mount_dir, MOUNTPOINT_LAZY));
	tell_the_end(s);
	last_words(s);
	/* Who still waits must not wait for a process that lives on (service_here). */
	while (s->nr_peers)
		peer_free(s->peers[--s->nr_peers]);
	hv_text_deinit(&s->detach.report);
	audit_close(&s->audit);
}
