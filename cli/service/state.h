/* The service of one attached guest: what it has, who is connected, and how far its end has come.
 * One thread.
 * Leaves to others: attaching (service.h), the loop (serve.h), its end (ending.h), its clients
 * (clients.h). */
#pragma once

#include "cli/audit.h"
#include "cli/rundir.h"
#include "cli/service/config.h"
#include "cli/service/dumps.h"
#include "cli/service/peer.h"
#include "tracer/session.h"

#define SERVE_PEERS_MAX	  64
#define SERVE_PEERS_EXTRA 4 /* more may detach, and hear else that they are too many */

enum serve_state {
	SERVE_RUNS,
	SERVE_DETACHING, /* no tree, no files; hv_session_detach is tried again and again */
	SERVE_DONE,
};

struct serve_detach {
	struct peer *peer; /* who waits for it; NULL: a signal, or an owner that went */
	struct audit_actor who;
	bool must_end; /* the service goes even when it could not detach */
	uint64_t next_ns;
	uint64_t until_ns;
	uint64_t delay_ns;
	int waits_for; /* errno of the reason that was said last; 0: none */
	struct hv_text report;
};

struct service {
	const struct service_config *config; /* borrowed */
	struct hv_guest *guest;
	struct hv_kernel *kernel;
	struct hv_session *session;
	struct hv_tree *tree; /* NULL unless SERVE_RUNS */
	struct rundir dir;
	struct audit audit;
	struct dumps dumps;
	int listen_fd;
	int signal_fd;
	uint64_t attached_ns; /* monotonic */
	uint64_t attach_hold_ns;

	enum serve_state state;
	struct peer *peers[SERVE_PEERS_MAX + SERVE_PEERS_EXTRA];
	size_t nr_peers;
	struct serve_detach detach;
	struct hv_err *end;  /* why, when it is not a detach */
	bool fell_asleep;    /* and is detached for that */
	bool stays_known;    /* the reason is left for who asks later */
	char *alive_message; /* last one that was logged */
	bool stepped_aside;  /* a livepatch was seen waiting, and that was logged */
};

static inline const char *service_name(const struct service *s)
{
	return hv_guest_info(s->guest)->name;
}
