/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads, for clients, the broker's files about a session in the run directory (cli/rundir.h):
 * RUN/ID/info, whether a process holds the lock, and whether the socket exists.
 *
 * Names of files, ids and processes come from here and not from the service, whose replies are
 * untrusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/guard.h"

struct json_object;

#define SESSION_INFO_BYTES_MAX (64u << 10)

struct rundir_info {
	char *path; /* of the directory */
	char *id;
	char *name;
	char *spec; /* as the user wrote it for attach */
	char *uri;  /* NULL: libvirt's default */
	char *btf;  /* path of the BTF file that RUN/ID/btf is a copy of; NULL: there is no copy */
	char *btf_release;  /* of the kernel whose types are in the copy; NULL: there is no copy */
	uint64_t btf_bytes; /* length of the copy */
	bool btf_proved;    /* the session proved that the file is of the guest's build */
	char *ended;	    /* why the service left; NULL: it did not */
	pid_t vmm_pid;
	uint64_t vmm_start; /* start time of the VMM's process, by proc(5); 0: unknown */
	pid_t service_pid;  /* or the process that recovers */
	bool recovers;	    /* the process recovers; it does not attach */
	bool has_left;	    /* changes of a dead session may be in the guest */
	bool live;	    /* a process holds the lock */
	bool listens;	    /* the socket exists */
};

/* Reads the info in DIR, a path whose last part is the session's id. Returns 0; ENOENT if there is
 * no info or the broker cannot have written it; ENOMEM. */
int session_info_read(const char *dir, struct rundir_info *ret) hv_must_use;
/* Whether SPEC names the session: by name, id, the name given to attach, or "pid:N" of the VMM. URI
 * NULL matches every URI. */
bool session_info_names(const struct rundir_info *info, const char *spec, const char *uri);
void rundir_info_deinit(struct rundir_info *info);
#define AUTO_RUNDIR_INFO hv_cleanup(rundir_info_deinit)

/* Returns the parsed file; the caller owns it. NULL as for ENOENT above. */
struct json_object *session_info_object(const char *dir);
/* Returns the start time of process PID, by proc(5); 0: it has ended. */
uint64_t session_info_start_of(pid_t pid);

bool rundir_vmm_has_ended(const struct rundir_info *info);

/* cli/domain_state.h explains the states. */
enum domain_state {
	DOMAIN_FREE, /* no session is attached */
	DOMAIN_ATTACHING,
	DOMAIN_ATTACHED,
	DOMAIN_RECOVERING,
	DOMAIN_LEFT, /* a session died; its changes may be in the guest */
	DOMAIN_GONE, /* a session died, and then the VMM ended: nothing to recover */
};

/* INFO describes the domain's directory. NULL: there is no directory. */
enum domain_state domain_state(const struct rundir_info *info);
