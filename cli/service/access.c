/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/access.h"

#include <assert.h>
#include <acl/libacl.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "cli/service/host_client.h"
#include "cli/service/state.h"

#define GROUPS_MAX	  65536 /* the kernel's NGROUPS_MAX */
#define REFUSALS_A_SECOND 10	/* refusals that get an audit line */

void access_deinit(struct access *a)
{
	policy_free(a->policy);
	a->policy = NULL;
}

/* Refusals. */

/* Audits each refusal, up to a rate that cannot fill the system's log. RIGHT: the missing right;
 * NULL: not a matter of rights. */
static void audit_refusal(struct service *s, const struct audit_actor *who, const char *what,
			  const char *right, const char *why)
{
	struct access *a = &s->access;
	uint64_t now = hv_now_ns();
	struct audit_entry e;

	if (now - a->refusals_ns >= HV_NS_PER_S) {
		a->refusals_ns = now;
		a->nr_refusals = 0;
	}
	if (a->nr_refusals++ >= REFUSALS_A_SECOND) {
		a->nr_not_audited++;
		return;
	}
	e = audit_begin(&s->audit, who, "refusal");
	audit_text(&e, "request", what);
	audit_text(&e, "reason", why);
	if (right)
		audit_text(&e, "right", right);
	if (a->nr_not_audited)
		audit_number(&e, "not_told_before", a->nr_not_audited);
	a->nr_not_audited = 0;
	audit_end(&e);
}

/* Connections. */

/* Returns the groups of the connecting process at that moment; NULL: unknown. The caller frees
 * them. */
static gid_t *peer_groups(const struct peer *p, size_t *ret_nr)
{
	gid_t *groups = hv_alloc((GROUPS_MAX + 1) * sizeof(*groups));
	socklen_t len = GROUPS_MAX * sizeof(*groups);

	if (getsockopt(p->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0) {
		free(groups);
		return NULL;
	}
	*ret_nr = len / sizeof(*groups);
	groups[(*ret_nr)++] = p->cred.gid;
	return groups;
}

static struct policy_rights rights_of(const struct service *s, const struct peer *p)
{
	const struct hv_guest_info *info = hv_guest_info(s->guest);
	size_t nr = 0;
	HV_AUTO_FREE gid_t *groups = peer_groups(p, &nr);
	const struct policy_person person = {p->cred.uid, groups, nr};

	return policy_rights(s->access.policy, &person, info->name, info->id);
}

/* Returns the rights of P in the form that the tree checks. */
static struct hv_rights may_of(const struct service *s, struct peer *p)
{
	const struct policy_rights *rights = &p->rights;
	struct hv_rights may = {.says = s->access.path};

	free(p->name);
	p->name = p->who.user[0] ? hv_format("user %s (uid %u)", p->who.user, (unsigned)p->cred.uid)
				 : hv_format("this user (uid %u)", (unsigned)p->cred.uid);
	may.who = p->name;
	if (rights->reads)
		may.may |= HV_RIGHT_READ;
	if (rights->controls)
		may.may |= HV_RIGHT_CONTROL | (rights->tracers & HV_RIGHT_TRACERS);
	if (rights->controls && rights->tracers & POLICY_EVENTS)
		may.may |= HV_RIGHT_EVENTS;
	return may;
}

static bool is_root(const struct service *s, const struct peer *p)
{
	return p->cred.uid == 0 || p->cred.uid == s->owner;
}

/* Whether NEW, a client that is not root, may connect, too. */
static bool has_room(const struct service *s, const struct peer *new)
{
	size_t nr = 0, nr_of_user = 0;

	for (size_t i = 0; i < s->nr_peers; i++) {
		const struct peer *p = s->peers[i];

		nr += !p->is_root;
		nr_of_user += p->cred.uid == new->cred.uid;
	}
	return nr < ACCESS_PEERS && nr_of_user < ACCESS_PEERS_OF_USER;
}

bool access_admits(struct service *s, struct peer *p)
{
	access_refresh(s);
	p->is_root = is_root(s, p);
	p->may = hv_root_rights;
	if (p->is_root)
		return true;
	p->rights = rights_of(s, p);
	p->may = may_of(s, p);
	p->files_max = ACCESS_FILES;
	p->waits_max = ACCESS_FILES;
	if (!p->rights.reads) {
		audit_refusal(s, &p->who, "connect", hv_right_name(HV_RIGHT_READ),
			      "no rule allows it");
		return false;
	}
	if (!has_room(s, p)) {
		audit_refusal(s, &p->who, "connect", NULL, "too many connections");
		return false;
	}
	return true;
}

/* The policy file. */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* File times have the resolution of a tick. */
static bool is_recent(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - st->st_ctim.tv_sec < 2;
}

static bool has_changed(const struct access *a)
{
	struct stat st;

	if (!a->was_read || a->is_fresh)
		return true;
	if (lstat(a->path, &st) != 0)
		st = (struct stat){0};
	return !is_same_file(&st, &a->seen);
}

/* Logs an unusable file once, until it changes. */
static void read_policy(struct service *s)
{
	struct access *a = &s->access;
	struct policy *policy = NULL;
	struct stat before = a->seen;
	bool was_read = a->was_read;
	struct hv_err *err = policy_read(a->path, &policy, &a->seen);

	policy_free(a->policy);
	a->policy = policy;
	a->number++;
	a->was_read = true;
	a->is_fresh = is_recent(&a->seen);
	if (err && !(was_read && is_same_file(&before, &a->seen))) {
		struct audit_actor self = audit_actor_self();

		audit_refusal(s, &self, "policy", NULL, err->message);
	}
	hv_err_free(err);
}

static bool same_rights(const struct policy_rights *a, const struct policy_rights *b)
{
	return a->reads == b->reads && a->memory == b->memory && a->controls == b->controls &&
	       a->tracers == b->tracers;
}

/* Drops clients whose rights changed, with their open files. They can reconnect with the new
 * rights. */
static void drop_changed(struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++) {
		struct peer *p = s->peers[i];
		struct policy_rights now;

		if (p->is_root)
			continue;
		now = rights_of(s, p);
		if (same_rights(&now, &p->rights))
			continue;
		audit_refusal(s, &p->who, "stay connected", NULL, "the rules have changed");
		p->gone = true;
	}
}

/* -- the socket ------------------------------------------------------------------------------- */

enum { RIGHT_EXECUTE = ACL_EXECUTE, RIGHT_WRITE = ACL_WRITE, RIGHT_READ = ACL_READ };

static void free_acl(acl_t *acl)
{
	acl_free(*acl);
}

/* ID is for ACL_USER and ACL_GROUP; NULL for other tags. Sets errno like acl_create_entry(3). */
static int add_entry(acl_t *acl, acl_tag_t tag, unsigned perm, const uint32_t *id)
{
	acl_permset_t perms;
	acl_entry_t entry;

	if (acl_create_entry(acl, &entry) != 0 || acl_set_tag_type(entry, tag) != 0 ||
	    (id && acl_set_qualifier(entry, id) != 0) || acl_get_permset(entry, &perms) != 0)
		return -1;
	return acl_add_perm(perms, perm);
}

/* Whether an earlier rule names the same user or group. */
static bool is_named_before(const struct policy *p, size_t index, const char *name, const char *id)
{
	for (size_t i = 0; i < index; i++)
		if (p->rules[i].who == p->rules[index].who &&
		    p->rules[i].id == p->rules[index].id &&
		    (!name || policy_rule_covers(&p->rules[i], name, id)))
			return true;
	return false;
}

/* NAME NULL: the users and groups of all rules, for any domain. */
static int add_named(acl_t *acl, const struct policy *p, enum policy_who who, unsigned perm,
		     const char *name, const char *id)
{
	for (size_t i = 0; p && i < p->nr; i++) {
		const struct policy_rule *rule = &p->rules[i];

		if (rule->who != who || (name && !policy_rule_covers(rule, name, id)) ||
		    is_named_before(p, i, name, id))
			continue;
		if (add_entry(acl, who == POLICY_USER ? ACL_USER : ACL_GROUP, perm, &rule->id) != 0)
			return -1;
	}
	return 0;
}

/* OWNER: root's permissions; PERM: permissions of the named users and groups. */
static int set_acl(const char *path, const struct policy *p, unsigned owner, unsigned perm,
		   const char *name, const char *id)
{
	hv_cleanup(free_acl) acl_t acl = acl_from_mode(owner << 6);
	int nr_own = acl ? acl_entries(acl) : -1;

	if (nr_own < 0 || add_named(&acl, p, POLICY_USER, perm, name, id) != 0 ||
	    add_named(&acl, p, POLICY_GROUP, perm, name, id) != 0)
		return -1;
	if (acl_entries(acl) > nr_own && add_entry(&acl, ACL_MASK, perm, NULL) != 0)
		return -1;
	if (acl_set_file(path, ACL_TYPE_ACCESS, acl) == 0)
		return 0;
	/* the rules name no user or group: the mode suffices */
	return errno == ENOTSUP && acl_entries(acl) == nr_own ? chmod(path, owner << 6) : -1;
}

/* Opens the socket to the users and groups that the policy names, with access control lists
 * (acl(5)): they may list the run directory, search the session's directory, read its info, and
 * connect to its socket. Everything else, such as log, lock and dump, stays root's. This only keeps
 * strangers out; access_check() checks requests. On a file system without ACLs only root has
 * access, and the log reports that. */
static void allow_socket(struct service *s)
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

void access_look(struct service *s)
{
	struct access *a = &s->access;

	if (!a->path || !has_changed(a))
		return;
	read_policy(s);
	allow_socket(s);
}

void access_refresh(struct service *s)
{
	uint64_t before = s->access.number;

	if (!s->access.path)
		return;
	host_read_policy(s);
	if (s->access.number != before)
		drop_changed(s);
}

/* Requests. */

enum need {
	NEEDS_ROOT,    /* 0: also the need of requests that are not in the table */
	NEEDS_NOTHING, /* concerns only this connection */
	NEEDS_READ,
	NEEDS_MEMORY, /* the right `memory` */
	NEEDS_PLAIN,  /* read access, and a path without empty names; the tree checks the rest */
};

static const enum need needs[] = {
	[WIRE_LIST] = NEEDS_READ,      [WIRE_OPEN] = NEEDS_PLAIN,      [WIRE_READ] = NEEDS_NOTHING,
	[WIRE_WRITE] = NEEDS_READ,     [WIRE_CLOSE] = NEEDS_READ,      [WIRE_STAT] = NEEDS_READ,
	[WIRE_DETACH] = NEEDS_ROOT,    [WIRE_OWN] = NEEDS_ROOT,	       [WIRE_READY] = NEEDS_NOTHING,
	[WIRE_CANCEL] = NEEDS_NOTHING, [WIRE_ABANDON] = NEEDS_NOTHING, [WIRE_PUBLISH] = NEEDS_READ,
	[WIRE_LOOK] = NEEDS_READ,      [WIRE_MKDIR] = NEEDS_PLAIN,     [WIRE_RMDIR] = NEEDS_PLAIN,
	[WIRE_OPEN_PROC] = NEEDS_READ, [WIRE_MOUNT] = NEEDS_ROOT,      [WIRE_BUDGET] = NEEDS_ROOT,
	[WIRE_WATCH] = NEEDS_READ,     [WIRE_DEFINE] = NEEDS_READ,     [WIRE_MEMORY] = NEEDS_MEMORY,
	[WIRE_PERCPU] = NEEDS_MEMORY,
};

/* Paths must have a unique spelling, because lists of directories and readers compare them as
 * text. */
static bool is_plain(const char *path)
{
	size_t len = strlen(path);

	return len && path[0] != '/' && path[len - 1] != '/' && !strstr(path, "//");
}

static struct hv_err *forbidden(const struct peer *p, const char *what)
{
	return hv_err_new(EACCES, "%s may not %s: no rule in %s allows it", p->may.who, what,
			  p->may.says);
}

static struct hv_err *check_path(const struct wire_frame *frame)
{
	HV_AUTO_FREE char *path = NULL;

	if (!wire_string(frame->data, PATH_MAX, &path))
		return hv_err_new(EINVAL, "the request does not contain a path");
	if (!is_plain(path))
		return hv_err_new(EACCES, "%s: the path has an empty name", path);
	return NULL;
}

static const char *request_name(const struct wire_frame *frame)
{
	static const char *const names[] = {
		[WIRE_LIST] = "list",
		[WIRE_OPEN] = "open",
		[WIRE_WRITE] = "write",
		[WIRE_CLOSE] = "close",
		[WIRE_STAT] = "stat",
		[WIRE_DETACH] = "detach",
		[WIRE_OWN] = "own",
		[WIRE_PUBLISH] = "publish",
		[WIRE_LOOK] = "look",
		[WIRE_MKDIR] = "mkdir",
		[WIRE_RMDIR] = "rmdir",
		[WIRE_OPEN_PROC] = "open",
		[WIRE_MOUNT] = "mount",
		[WIRE_BUDGET] = "set a budget",
		[WIRE_WATCH] = "watch",
		[WIRE_PROGRAM] = "read programs",
		[WIRE_FUNCTIONS] = "read programs",
		[WIRE_DEFINE] = "define an event",
		[WIRE_PAGES] = "read programs",
		[WIRE_MEMORY] = "read the memory of the guest's kernel",
		[WIRE_PERCPU] = "read the memory of the guest's kernel",
	};

	return frame->kind < HV_ARRAY_LEN(names) && names[frame->kind] ? names[frame->kind]
								       : "unknown";
}

/* Returns the need of FRAME's request. A budget without a limit only measures the overhead, so the
 * right to read suffices. */
static enum need need_of(const struct wire_frame *frame)
{
	if (frame->kind == WIRE_BUDGET && frame->arg == WIRE_NO_LIMIT)
		return NEEDS_READ;
	return frame->kind < HV_ARRAY_LEN(needs) ? needs[frame->kind] : NEEDS_ROOT;
}

static struct hv_err *check(const struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *what = NULL;

	assert(p->rights.reads); /* access_admits() */
	switch (need_of(frame)) {
	case NEEDS_NOTHING:
		return NULL;
	case NEEDS_READ:
	case NEEDS_PLAIN:
		return need_of(frame) == NEEDS_PLAIN ? check_path(frame) : NULL;
	case NEEDS_MEMORY:
		return p->rights.memory ? NULL : forbidden(p, request_name(frame));
	case NEEDS_ROOT:
		break;
	}
	what = hv_format("%s, which needs root", request_name(frame));
	return forbidden(p, what);
}

/* Returns the missing right of a request that check() refused. */
static const char *lacked(const struct wire_frame *frame)
{
	switch (need_of(frame)) {
	case NEEDS_ROOT:
		return hv_right_name(HV_RIGHT_ROOT);
	case NEEDS_READ:
		return hv_right_name(HV_RIGHT_READ);
	case NEEDS_MEMORY:
		return POLICY_MEMORY;
	case NEEDS_PLAIN:
	case NEEDS_NOTHING:
		break;
	}
	return NULL;
}

struct hv_err *access_check(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct hv_err *err;

	if (p->is_root)
		return NULL;
	access_refresh(s);
	if (p->gone) {
		err = hv_err_new(EACCES, "the rules have changed: connect again");
		/* The last answer; a client that is gone gets none. */
		p->gone = false;
		peer_answer_error(p, hv_err_copy(err));
		p->gone = true;
		return err;
	}
	err = check(p, frame);
	if (err && err->code == EACCES)
		audit_refusal(s, &p->who, request_name(frame), lacked(frame), err->message);
	return err;
}

void access_refused(struct service *s, struct peer *p, const struct wire_frame *frame,
		    const struct hv_err *err)
{
	uint32_t lacks = s->tree ? hv_tree_lacked(s->tree) : 0;

	if (err && err->code == EACCES && lacks && !p->is_root)
		audit_refusal(s, &p->who, request_name(frame), hv_right_name(lacks), err->message);
}
