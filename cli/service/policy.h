/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of hvtrace.conf(5), which let users other than root use sessions of some domains, and
 * limit their rights. Rules only grant rights; everything else is reserved for root. access.h maps
 * requests to rights; peer.h identifies clients. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

#define POLICY_BYTES_MAX 65536 /* of the file */

/* The guest's trace events, in addition to the bits 1u << HV_TRACER_*. */
#define POLICY_EVENTS (1u << 31)

/* The word of a rule, and the name of the right in audit lines. */
#define POLICY_MEMORY "memory"

enum policy_who { POLICY_USER, POLICY_GROUP };

struct policy_rule {
	enum policy_who who;
	uint32_t id;	   /* uid or gid */
	bool controls;	   /* may also change settings; otherwise read only */
	bool memory;	   /* may also read the memory of the guest's kernel */
	unsigned tracers;  /* tracers it may control: 1u << HV_TRACER_*, POLICY_EVENTS */
	char *domains;	   /* owned; globs, each with its NUL */
	size_t nr_domains; /* number of globs */
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

/* Parses the file's text and looks up users and groups on this host. Errors name PATH and the line,
 * and include a remedy. */
struct hv_err *policy_parse(const char *text, size_t len_bytes, const char *path,
			    struct policy **ret) hv_must_use;

/* Reads the file at PATH. A missing file means no rules. Refuses a file that anyone except this
 * process's user (root) could have written. Sets RET_SEEN to the stat of the file, all zero if it
 * is missing, on errors, too. */
struct hv_err *policy_read(const char *path, struct policy **ret,
			   struct stat *ret_seen) hv_must_use;

/* Serialises the rules for another process of the session; NULL serialises no rules. The caller
 * frees the result. */
uint8_t *policy_pack(const struct policy *p, size_t *ret_len_bytes) hv_must_use;
/* Returns NULL if BYTES are not from policy_pack(). */
struct policy *policy_unpack(const uint8_t *bytes, size_t len_bytes) hv_must_use;

struct policy_person {
	uid_t uid;
	const gid_t *groups;
	size_t nr_groups;
};

struct policy_rights {
	bool reads;
	bool memory;
	bool controls;
	unsigned tracers;
};

/* Returns PERSON's rights for the domain with this NAME and ID (UUID): the union of all rules that
 * match both. */
struct policy_rights policy_rights(const struct policy *p, const struct policy_person *person,
				   const char *name, const char *id);
/* Returns whether RULE applies to the domain. */
bool policy_rule_covers(const struct policy_rule *rule, const char *name, const char *id);
