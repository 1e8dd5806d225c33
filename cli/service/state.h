/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the service of one guest: what it owns, its clients, and how far its end has come.
 * One thread.
 * Leaves to others: attaching (service.h), the loop (serve.h), its end (ending.h), its clients
 * (serve.h). */
#pragma once

#include "base/retry.h"
#include "cli/audit.h"
#include "cli/rundir.h"
#include "cli/service/access.h"
#include "cli/service/config.h"
#include "cli/service/dumps.h"
#include "cli/service/limits.h"
#include "cli/service/peer.h"
#include "tracer/session.h"
#include "vmm/helper.h"

#define SERVE_PEERS_MAX	  64
#define SERVE_PEERS_EXTRA 4 /* clients above the limit, which may only detach */

enum serve_state {
	SERVE_RUNS,
	SERVE_DETACHING, /* no tree, no files; hv_session_detach is tried until it succeeds */
	SERVE_DONE,
};

/* A directory of instances/ that a client made for itself. It goes when the client's connection
 * ends, however that happens, and its settings with it. */
struct made_dir {
	char *path;		 /* owned */
	const struct peer *peer; /* borrowed; NULL: it has gone, and the directory shall go */
	struct audit_actor who;
	struct hv_rights may; /* of PEER */
};

struct made_dirs {
	struct made_dir *list; /* owned */
	size_t nr;
};

struct serve_detach {
	struct peer *peer; /* the client that waits for it; NULL: a signal asked, or the owner has
			      gone */
	struct audit_actor who;
	uint64_t began_ns;
	uint64_t bytes_before; /* changed in the guest until then */
	bool must_end;	       /* the service ends even if it cannot detach */
	struct hv_retry retry;
	int waits_for; /* errno of the reason that was reported last; 0: none */
	struct hv_text report;
};

struct service {
	const struct service_config *config; /* borrowed */
	pid_t pid;			     /* of the process that serves */
	uid_t owner;			     /* who attached: root but in tests */
	struct hv_helper warden;	     /* control -1: this process is it */
	struct hv_guest *guest;
	struct hv_kernel *kernel;
	struct hv_session *session;
	struct hv_tree *tree; /* NULL unless SERVE_RUNS */
	struct rundir dir;
	struct audit audit;
	struct access access;
	struct limits limits;
	struct dumps dumps;
	struct made_dirs made;
	struct hv_shared_texts texts; /* of the guest's /proc that clients have open */
	int listen_fd;
	int signal_fd;
	int vmlinux_fd; /* the user's file, open since before the rights were given up; -1: none */
	uint64_t attached_ns; /* monotonic */
	uint64_t attach_hold_ns;
	uint64_t nr_long_holds; /* that were audited */

	enum serve_state state;
	struct peer *peers[SERVE_PEERS_MAX + SERVE_PEERS_EXTRA];
	uint64_t nr_admitted;
	size_t nr_peers;
	struct serve_detach detach;
	struct hv_err *end;  /* why the session ended, unless by a detach */
	bool fell_asleep;    /* the guest did, so the session is being detached */
	bool hibernates;     /* likewise: the guest is about to */
	bool lost_region;    /* likewise: memory of the region is gone */
	bool stays_known;    /* the reason stays in the run directory for those who ask later */
	char *alive_message; /* the last one that was logged */
	bool stepped_aside;  /* a livepatch waited, and this was logged */
};

static inline const char *service_name(const struct service *s)
{
	return hv_guest_info(s->guest)->name;
}
