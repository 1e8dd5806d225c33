/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/reach.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/xattr.h>

#include "cli/service/access.h"
#include "cli/service/state.h"

#define ACL_NAME "system.posix_acl_access"

enum { RIGHT_EXECUTE = 1, RIGHT_WRITE = 2, RIGHT_READ = 4 };

struct acl {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[]; /* in the order of their tags */
};

static void add_entry(struct acl *acl, size_t *nr, unsigned tag, unsigned perm, uint32_t id)
{
	acl->entries[(*nr)++] = (struct posix_acl_xattr_entry){
		.e_tag = htole16((uint16_t)tag),
		.e_perm = htole16((uint16_t)perm),
		.e_id = htole32(id),
	};
}

/* Whether an earlier rule names the same one. */
static bool is_named_before(const struct policy *p, size_t index, const char *name, const char *id)
{
	for (size_t i = 0; i < index; i++)
		if (p->rules[i].who == p->rules[index].who &&
		    p->rules[i].id == p->rules[index].id &&
		    (!name || policy_rule_covers(&p->rules[i], name, id)))
			return true;
	return false;
}

/* NAME NULL: all that are in rules, for whatever domain. */
static void add_named(struct acl *acl, size_t *nr, const struct policy *p, enum policy_who who,
		      unsigned perm, const char *name, const char *id)
{
	for (size_t i = 0; p && i < p->nr; i++) {
		const struct policy_rule *rule = &p->rules[i];

		if (rule->who != who || (name && !policy_rule_covers(rule, name, id)) ||
		    is_named_before(p, i, name, id))
			continue;
		add_entry(acl, nr, who == POLICY_USER ? ACL_USER : ACL_GROUP, perm, rule->id);
	}
}

/* OWNER: root's rights; PERM: those of who is named. */
static int set_acl(const char *path, const struct policy *p, unsigned owner, unsigned perm,
		   const char *name, const char *id)
{
	size_t max = 4 + (p ? p->nr : 0);
	HV_AUTO_FREE struct acl *acl =
		hv_alloc(sizeof(*acl) + max * sizeof(struct posix_acl_xattr_entry));
	size_t nr = 0;

	acl->header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
	add_entry(acl, &nr, ACL_USER_OBJ, owner, ACL_UNDEFINED_ID);
	add_named(acl, &nr, p, POLICY_USER, perm, name, id);
	add_entry(acl, &nr, ACL_GROUP_OBJ, 0, ACL_UNDEFINED_ID);
	add_named(acl, &nr, p, POLICY_GROUP, perm, name, id);
	add_entry(acl, &nr, ACL_MASK, perm, ACL_UNDEFINED_ID);
	add_entry(acl, &nr, ACL_OTHER, 0, ACL_UNDEFINED_ID);
	if (nr == 4) /* nobody: the mode alone, without an access control list */
		return removexattr(path, ACL_NAME) == 0 || errno == ENODATA || errno == ENOTSUP
			       ? chmod(path, owner << 6)
			       : -1;
	return setxattr(path, ACL_NAME, acl,
			sizeof(*acl) + nr * sizeof(struct posix_acl_xattr_entry), 0);
}

void reach_allow(struct service *s)
{
	const struct policy *p = s->access.policy;
	const struct hv_guest_info *guest = hv_guest_info(s->guest);
	HV_AUTO_FREE char *sock = rundir_path(s->dir.path, "sock");
	HV_AUTO_FREE char *info = rundir_path(s->dir.path, "info");
	const unsigned all = RIGHT_READ | RIGHT_WRITE | RIGHT_EXECUTE;
	const unsigned file = RIGHT_READ | RIGHT_WRITE;

	if (set_acl(sock, p, file, file, guest->name, guest->id) == 0 &&
	    set_acl(info, p, file, RIGHT_READ, guest->name, guest->id) == 0 &&
	    set_acl(s->dir.path, p, all, RIGHT_EXECUTE, guest->name, guest->id) == 0 &&
	    set_acl(s->config->run_dir, p, all, RIGHT_READ | RIGHT_EXECUTE, NULL, NULL) == 0)
		return;
	audit_log(&s->audit, "%s: access for others than root cannot be set: %s", s->dir.path,
		  strerror(errno));
}
