/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who, besides root, may use the sessions of which domains, and for what: what hvtrace.conf(5)
 * says. A rule only allows; what no rule allows is root's.
 * Leaves to others: which request needs what (access.h), who connects (peer.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

#define POLICY_BYTES_MAX 65536 /* of the file */

/* Beside the bits 1u << HV_TRACER_*, for the trace events of the guest. */
#define POLICY_EVENTS (1u << 31)

enum policy_who { POLICY_USER, POLICY_GROUP };

struct policy_rule {
	enum policy_who who;
	uint32_t id;	   /* of the user or group */
	bool controls;	   /* may also change settings; else only read */
	unsigned tracers;  /* that it may control: 1u << HV_TRACER_*, POLICY_EVENTS */
	char *domains;	   /* owned; globs, each ends with NUL */
	size_t nr_domains; /* globs in it */
};

struct policy {
	struct policy_rule *rules; /* owned */
	size_t nr;
};

void policy_free(struct policy *p);
static inline void policy_free_at(struct policy **p)
{
	policy_free(*p);
}
#define AUTO_POLICY hv_cleanup(policy_free_at)

/* Parses the file's text. An error names PATH, the line and what to do. Looks up names of users
 * and groups on this host. */
struct hv_err *policy_parse(const char *text, size_t len_bytes, const char *path,
			    struct policy **ret) hv_must_use;

/* Reads the file at PATH. No file is a policy without rules. Refuses a file that others than the
 * user of this process, who is root, could have written. RET_SEEN is the file that was read, all
 * zero if there is none; it is set on errors, too. */
struct hv_err *policy_read(const char *path, struct policy **ret,
			   struct stat *ret_seen) hv_must_use;

/* The rules as bytes for another process of the session; NULL has none. The caller frees them. */
uint8_t *policy_pack(const struct policy *p, size_t *ret_len_bytes) hv_must_use;
/* NULL: they are not what policy_pack() made. */
struct policy *policy_unpack(const uint8_t *bytes, size_t len_bytes) hv_must_use;

struct policy_person {
	uid_t uid;
	const gid_t *groups;
	size_t nr_groups;
};

struct policy_rights {
	bool reads;
	bool controls;
	unsigned tracers;
};

/* What the rules allow PERSON for the domain of this NAME and ID (UUID): the sum of all that are
 * about both. */
struct policy_rights policy_rights(const struct policy *p, const struct policy_person *person,
				   const char *name, const char *id);
/* Whether RULE is about the domain. */
bool policy_rule_covers(const struct policy_rule *rule, const char *name, const char *id);
