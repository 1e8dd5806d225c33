/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the service of one guest: the objects it owns, its clients, and the progress of its
 * end. One thread. service.h attaches, serve.h has the loop and the clients, ending.h ends the
 * session. */
#pragma once

#include "base/retry.h"
#include "cli/audit.h"
#include "cli/rundir.h"
#include "cli/service/access.h"
#include "cli/service/btf_files.h"
#include "cli/service/kept_facts.h"
#include "cli/service/config.h"
#include "cli/service/dumps.h"
#include "cli/service/limits.h"
#include "cli/service/peer.h"
#include "tracer/session.h"
#include "vmm/helper.h"

#define SERVE_PEERS_MAX	  64
#define SERVE_PEERS_EXTRA 4 /* additional clients, which may only detach */

enum serve_state {
	SERVE_RUNS,
	SERVE_DETACHING, /* no tree, no files; hv_session_detach is retried until it succeeds */
	SERVE_DONE,
};

enum made_kind { MADE_DIR, MADE_EVENT };

/* A directory of instances/, or an event of dynamic_events, that belongs to a client's connection.
 * When the connection ends for any reason, the service removes it, and a directory's settings. */
struct made_thing {
	enum made_kind kind;
	char *name;		 /* owned; a path, or GROUP/NAME */
	const struct peer *peer; /* borrowed; NULL: it has disconnected, so remove the thing */
	struct audit_actor who;
	struct hv_rights may; /* rights of PEER */
};

struct made_things {
	struct made_thing *list; /* owned */
	size_t nr;
};

struct serve_detach {
	struct peer *peer; /* the client that waits for the detach; NULL: a signal requested it, or
			      the owner has disconnected */
	struct audit_actor who;
	uint64_t began_ns;
	uint64_t bytes_before; /* bytes changed in the guest before the detach */
	bool must_end;	       /* the service ends even if it cannot detach */
	struct hv_retry retry;
	int waits_for; /* errno of the last reported reason; 0: not reported */
	struct hv_text report;
};

struct service {
	const struct service_config *config; /* borrowed */
	pid_t pid;			     /* the serving process */
	uid_t owner;			     /* the user who attached: root except in tests */
	struct hv_helper broker;	     /* control -1: this process is the broker */
	struct btf_files btf;		     /* the broker's */
	struct kept_facts facts;	     /* the broker's */
	struct hv_guest *guest;
	struct hv_kernel *kernel;
	struct hv_session *session;
	struct hv_tree *tree; /* NULL unless SERVE_RUNS */
	struct rundir dir;
	struct audit audit;
	struct access access;
	struct limits limits;
	struct dumps dumps;
	struct made_things made;
	struct hv_shared_texts texts; /* files of the guest's /proc that clients have open */
	int listen_fd;
	int signal_fd;
	int vmlinux_fd; /* the user's file, opened before the process gave up its rights; -1: no
			   file */
	uint64_t attached_ns; /* monotonic */
	uint64_t attach_hold_ns;
	uint64_t nr_long_holds; /* number already audited */

	enum serve_state state;
	struct peer *peers[SERVE_PEERS_MAX + SERVE_PEERS_EXTRA];
	uint64_t nr_admitted;
	size_t nr_peers;
	struct serve_detach detach;
	struct hv_err *end;  /* why the session ended; NULL after a detach */
	bool fell_asleep;    /* detaching because the guest fell asleep */
	bool hibernates;     /* detaching because the guest is about to hibernate */
	bool lost_region;    /* detaching because memory of the region is gone */
	bool stays_known;    /* the reason remains in the run directory for later clients */
	char *alive_message; /* the last one that was logged */
	bool stepped_aside;  /* logged that function_graph steps aside for a livepatch */
};

static inline const char *service_name(const struct service *s)
{
	return hv_guest_info(s->guest)->name;
}
