/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files, functions and cgroups of the guest's programs for `hvtrace profile`. A process is
 * looked up in the session when its first sample arrives, and again when an address is in none of
 * its mappings or its name has changed. Functions are looked up at the end. A file of the user
 * (--symfs) or of the host (/usr/lib/debug) with the same build id names functions that the
 * guest's memory does not.
 *
 * The guest chooses the tasks, and the service's answers are untrusted: the numbers of tasks,
 * files and mappings and the lengths of names are bounded, and names are only displayed. The
 * service does nothing else while it answers, so the lookups take at most a quarter of the time. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "cli/client.h"
#include "kernel/programs/elf_symbols.h"
#include "profile/profile.h"

#define PROGRAMS_TASKS_MAX 65536 /* all are looked up again when there are more */
#define PROGRAMS_FILES_MAX 4096
#define PROGRAMS_MAPS_MAX  262144

struct program_map {
	uint64_t start, end, off;
	uint32_t file; /* from 1 */
};

/* The code that a task has mapped. */
struct program {
	char comm[16];
	uint64_t asked_ns;	  /* when it was last looked up */
	uint64_t again_ns;	  /* for how long it is not looked up again; 0: it never was */
	char *cgroup;		  /* owned, untrusted path; NULL: unknown */
	struct program_map *maps; /* owned; sorted by address */
	size_t nr;
};

struct program_file {
	uint64_t mapping, ino, len_bytes;
	char *build_id; /* owned, hexadecimal; "-": unknown */
	char *path;	/* owned, untrusted */
};

/* Zero-initialised is empty. */
struct programs {
	struct client *client; /* borrowed */
	const char *symfs;     /* directory; NULL: none */
	bool is_off;	       /* the session does not answer such requests */
	struct hv_map by_pid;  /* struct program, owned */
	struct program **list; /* owned */
	size_t nr, cap;
	struct program_file *files; /* owned */
	size_t nr_files, files_cap, nr_maps;
	struct hv_map by_mapping; /* the first file of each address_space */
	uint64_t period_ns;	  /* start of the period in which requests are counted */
	uint64_t spent_ns;	  /* time spent on requests in the period */
	unsigned nr_asked;
	uint64_t names_until_ns; /* when programs_name() stops looking for names */
};

/* Returns "" if it is not known. */
const char *programs_build_id(const struct program_file *f);
/* Opens the file of the host below --symfs that F is. Returns -1 without such a file with F's build
 * id. */
int programs_open_symfs(const struct programs *p, const struct program_file *f);
/* Returns the open file *FD. Borrows FD. */
struct hv_elf_file programs_host_elf(const int *fd);
void programs_deinit(struct programs *p);
/* These are for struct hv_profile_files; CTX is a struct programs. */
enum hv_profile_place programs_find(void *ctx, uint32_t pid, const char *comm, uint64_t address,
				    uint32_t *ret_file, uint64_t *ret_off);
const char *programs_cgroup(void *ctx, uint32_t pid, const char *comm);
/* Names the frames of programs in C, from frame FIRST on, that have no name. Looks for names for
 * LIMIT_NS, and for at most one request more; the rest are named by their offsets in the file. */
#define PROGRAMS_NAMES_NS (30 * HV_NS_PER_S)
struct hv_err *programs_name(struct programs *p, struct hv_chains *c, uint32_t first,
			     uint64_t limit_ns) hv_must_use;
