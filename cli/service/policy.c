/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/policy.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "base/guard.h"
#include "base/text.h"
#include "tree/settings/tracer_names.h"

#define WORDS_MAX 6 /* one more than a rule can have */
#define RULES_MAX 256

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr; i++)
		free(p->rules[i].domains);
	free(p->rules);
	free(p);
}

/* Parses one line. The errors here describe the problem; line_error() adds the line and the
 * remedy. */

static bool parse_number(const char *text, uint32_t *ret)
{
	uint64_t n = 0;

	for (const char *at = text; *at; at++) {
		if (!isdigit((unsigned char)*at) || at - text > 9)
			return false;
		n = n * 10 + (uint64_t)(*at - '0');
	}
	/* The kernel uses the last number as "no user". */
	if (!*text || n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

static struct hv_err *parse_who(const char *kind, const char *name, struct policy_rule *rule)
{
	const struct passwd *user;
	const struct group *group;

	if (strcmp(kind, "user") != 0 && strcmp(kind, "group") != 0)
		return hv_err_new(EINVAL, "'%s' is neither user nor group", kind);
	rule->who = strcmp(kind, "user") == 0 ? POLICY_USER : POLICY_GROUP;
	if (parse_number(name, &rule->id))
		return NULL;
	user = rule->who == POLICY_USER ? getpwnam(name) : NULL;
	group = rule->who == POLICY_GROUP ? getgrnam(name) : NULL;
	if (!user && !group)
		return hv_err_new(ENOENT, "this host has no %s '%s'", kind, name);
	rule->id = user ? user->pw_uid : group->gr_gid;
	return NULL;
}

static struct hv_err *parse_domains(const char *list, struct policy_rule *rule)
{
	size_t len = strlen(list);

	rule->domains = hv_strdup(list);
	rule->nr_domains = 1;
	for (size_t i = 0; i <= len; i++) {
		bool ends = rule->domains[i] == ',' || !rule->domains[i];

		if (ends && (i == 0 || !rule->domains[i - 1]))
			return hv_err_new(EINVAL, "'%s' has an empty domain", list);
		if (rule->domains[i] != ',')
			continue;
		rule->domains[i] = '\0';
		rule->nr_domains++;
	}
	return NULL;
}

static struct hv_err *parse_tracer(const char *name, unsigned *tracers)
{
	enum hv_tracer tracer;
	struct hv_err *err;

	if (strcmp(name, "*") == 0) {
		*tracers = ~0u;
		return NULL;
	}
	if (strcmp(name, "events") == 0) {
		*tracers |= POLICY_EVENTS;
		return NULL;
	}
	err = hv_tracer_find(name, &tracer);
	if (!err)
		*tracers |= 1u << tracer;
	return err;
}

static struct hv_err *parse_tracers(char *list, struct policy_rule *rule)
{
	struct hv_err *err = NULL;
	char *name;

	rule->tracers = 1u << HV_TRACER_NOP;
	while (!err && (name = strsep(&list, ",")))
		err = parse_tracer(name, &rule->tracers);
	return err;
}

/* allow user|group NAME read|memory DOMAINS
 * allow user|group NAME control DOMAINS TRACERS */
static struct hv_err *parse_rule(char **words, size_t nr, struct policy_rule *rule)
{
	struct hv_err *err;

	if (strcmp(words[0], "allow") != 0)
		return hv_err_new(EINVAL, "no rule begins with '%s'", words[0]);
	if (nr < 5)
		return hv_err_new(EINVAL, "the rule has %zu words and is not complete", nr);
	err = parse_who(words[1], words[2], rule);
	if (err)
		return err;
	rule->controls = strcmp(words[3], "control") == 0;
	rule->memory = strcmp(words[3], POLICY_MEMORY) == 0;
	if (!rule->controls && !rule->memory && strcmp(words[3], "read") != 0)
		return hv_err_new(EINVAL, "'%s' is neither read, control nor memory", words[3]);
	if (nr != (rule->controls ? 6u : 5u))
		return hv_err_new(EINVAL, "a rule of %s has %d words, this one has %s", words[3],
				  rule->controls ? 6 : 5, nr > 5 ? "more" : "5");
	err = parse_domains(words[4], rule);
	if (!err && rule->controls)
		err = parse_tracers(words[5], rule);
	return err;
}

static struct hv_err *add_rule(struct policy *p, char *line)
{
	char *words[WORDS_MAX + 1];
	struct policy_rule rule = {0};
	struct hv_err *err;
	size_t nr = 0;
	char *rest = NULL;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t", &rest); word && nr < HV_ARRAY_LEN(words);
	     word = strtok_r(NULL, " \t", &rest))
		words[nr++] = word;
	if (!nr)
		return NULL;
	if (p->nr == RULES_MAX)
		return hv_err_new(E2BIG, "there are more than %d rules", RULES_MAX);
	err = parse_rule(words, nr, &rule);
	if (err) {
		free(rule.domains);
		return err;
	}
	p->rules = hv_realloc_array(p->rules, p->nr + 1, sizeof(*p->rules));
	p->rules[p->nr++] = rule;
	return NULL;
}

/* Takes ERR. */
static struct hv_err *line_error(struct hv_err *err, const char *path, size_t line)
{
	return hv_err_add(hv_err_in(err, "%s:%zu", path, line),
			  ": fix or remove this line, see hvtrace.conf(5); until then only root "
			  "may use sessions");
}

/* A bad byte or an incomplete last line would change the meaning of a rule. */
static struct hv_err *check_bytes(const char *text, size_t len_bytes, const char *path)
{
	size_t line = 1;

	for (size_t i = 0; i < len_bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f)
			return line_error(hv_err_new(EINVAL, "has a byte 0x%02x", c), path, line);
		line += c == '\n';
	}
	if (len_bytes && text[len_bytes - 1] != '\n')
		return line_error(hv_err_new(EINVAL, "the last line has no end and may not be "
						     "complete"),
				  path, line);
	return NULL;
}

struct hv_err *policy_parse(const char *text, size_t len_bytes, const char *path,
			    struct policy **ret)
{
	AUTO_POLICY struct policy *p = hv_alloc(sizeof(*p));
	HV_AUTO_FREE char *copy = NULL;
	struct hv_err *err = check_bytes(text, len_bytes, path);
	char *rest, *line;

	if (err)
		return err;
	copy = hv_alloc(len_bytes + 1);
	memcpy(copy, text, len_bytes);
	rest = copy;
	for (size_t nr = 1; (line = strsep(&rest, "\n")); nr++) {
		err = add_rule(p, line);
		if (err)
			return line_error(err, path, nr);
	}
	*ret = hv_take(p);
	return NULL;
}

/* The file. */

/* Takes ERR. */
static struct hv_err *file_error(struct hv_err *err, const char *path)
{
	return hv_err_add(hv_err_in(err, "%s", path), "; until then only root may use sessions");
}

static struct hv_err *check_file(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return hv_err_new(EINVAL, "is not a regular file: replace it by one");
	if (st->st_uid != geteuid())
		return hv_err_new(EPERM, "belongs to user %u, not to root: chown it to root",
				  (unsigned)st->st_uid);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return hv_err_new(EPERM, "others than root can write it: chmod it to 0644");
	return NULL;
}

static struct hv_err *read_text(int fd, char *buf, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, buf + len, POLICY_BYTES_MAX + 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "cannot be read: %s", strerror(errno));
		len += (size_t)n;
	}
	if (len > POLICY_BYTES_MAX)
		return hv_err_new(EFBIG, "has more than %d bytes: shorten it", POLICY_BYTES_MAX);
	*ret_len = len;
	return NULL;
}

struct hv_err *policy_read(const char *path, struct policy **ret, struct stat *ret_seen)
{
	/* O_NOFOLLOW because any user may own the target of a symbolic link; O_NONBLOCK because
	 * opening a FIFO would wait for a writer. */
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err;
	size_t len = 0;

	*ret_seen = (struct stat){0};
	if (fd < 0 && errno == ENOENT) {
		*ret = hv_alloc(sizeof(**ret));
		return NULL;
	}
	if (fd < 0) {
		err = errno == ELOOP ? hv_err_new(ELOOP, "is a symbolic link: replace it by a file")
				     : hv_err_new(errno, "cannot be opened: %s", strerror(errno));
		if (lstat(path, ret_seen) != 0)
			*ret_seen = (struct stat){0};
		return file_error(err, path);
	}
	if (fstat(fd, ret_seen) != 0)
		return file_error(hv_err_new(errno, "%s", strerror(errno)), path);
	err = check_file(ret_seen);
	if (err)
		return file_error(err, path);
	text = hv_alloc(POLICY_BYTES_MAX + 1);
	err = read_text(fd, text, &len);
	return err ? file_error(err, path) : policy_parse(text, len, path, ret);
}

/* Decisions. */

bool policy_rule_covers(const struct policy_rule *rule, const char *name, const char *id)
{
	const char *glob = rule->domains;

	for (size_t i = 0; i < rule->nr_domains; i++, glob += strlen(glob) + 1)
		if (fnmatch(glob, name, 0) == 0 || fnmatch(glob, id, 0) == 0)
			return true;
	return false;
}

static bool is_about(const struct policy_rule *rule, const struct policy_person *person)
{
	if (rule->who == POLICY_USER)
		return rule->id == person->uid;
	for (size_t i = 0; i < person->nr_groups; i++)
		if (rule->id == person->groups[i])
			return true;
	return false;
}

struct policy_rights policy_rights(const struct policy *p, const struct policy_person *person,
				   const char *name, const char *id)
{
	struct policy_rights rights = {0};

	for (size_t i = 0; p && i < p->nr; i++) {
		const struct policy_rule *rule = &p->rules[i];

		if (!is_about(rule, person) || !policy_rule_covers(rule, name, id))
			continue;
		rights.reads = true;
		rights.controls |= rule->controls;
		rights.memory |= rule->memory;
		rights.tracers |= rule->tracers;
	}
	return rights;
}

/* Header of a serialised rule; its domains follow. */
struct packed_rule {
	uint32_t who;
	uint32_t id;
	uint32_t controls;
	uint32_t memory;
	uint32_t tracers;
	uint32_t nr_domains;
	uint32_t len_bytes; /* length of the domains */
};

static size_t domains_len(const struct policy_rule *rule)
{
	size_t len = 0;

	for (size_t i = 0; i < rule->nr_domains; i++)
		len += strlen(rule->domains + len) + 1;
	return len;
}

uint8_t *policy_pack(const struct policy *p, size_t *ret_len_bytes)
{
	struct hv_text out = {0};

	for (size_t i = 0; p && i < p->nr; i++) {
		const struct policy_rule *rule = &p->rules[i];
		struct packed_rule packed = {
			.who = rule->who,
			.id = rule->id,
			.controls = rule->controls,
			.memory = rule->memory,
			.tracers = rule->tracers,
			.nr_domains = (uint32_t)rule->nr_domains,
			.len_bytes = (uint32_t)domains_len(rule),
		};

		hv_text_add_bytes(&out, (const char *)&packed, sizeof(packed));
		hv_text_add_bytes(&out, rule->domains, packed.len_bytes);
	}
	*ret_len_bytes = out.len_bytes;
	return (uint8_t *)hv_text_take(&out);
}

struct policy *policy_unpack(const uint8_t *bytes, size_t len_bytes)
{
	AUTO_POLICY struct policy *p = hv_alloc(sizeof(*p));

	for (size_t at = 0; at < len_bytes;) {
		struct packed_rule packed;
		struct policy_rule *rule;

		if (len_bytes - at < sizeof(packed))
			return NULL;
		memcpy(&packed, bytes + at, sizeof(packed));
		at += sizeof(packed);
		if (len_bytes - at < packed.len_bytes)
			return NULL;
		p->rules = hv_realloc_array(p->rules, p->nr + 1, sizeof(*p->rules));
		rule = &p->rules[p->nr++];
		*rule = (struct policy_rule){
			.who = (enum policy_who)packed.who,
			.id = packed.id,
			.controls = packed.controls != 0,
			.memory = packed.memory != 0,
			.tracers = packed.tracers,
			.domains = hv_alloc(packed.len_bytes + 1),
			.nr_domains = packed.nr_domains,
		};
		memcpy(rule->domains, bytes + at, packed.len_bytes);
		at += packed.len_bytes;
	}
	return hv_take(p);
}
