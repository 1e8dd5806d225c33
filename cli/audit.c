/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/audit.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#define AUDIT_LINE_MAX 8192 /* limit for a line from another process */

struct hv_err *audit_open(const char *log_path, enum audit_target target, const char *domain,
			  const char *id, struct audit *ret)
{
	int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", log_path, strerror(errno));
	*ret = (struct audit){
		.target = target, .log_fd = fd, .domain = hv_strdup(domain), .id = hv_strdup(id)};
	return NULL;
}

void audit_close(struct audit *a)
{
	hv_close_at(&a->log_fd);
	free(a->domain);
	free(a->id);
	*a = (struct audit)AUDIT_NONE;
}

static long login_uid_of(pid_t pid)
{
	char path[64];
	unsigned uid;
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/%d/loginuid", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fscanf(f, "%u", &uid);
	fclose(f);
	return n == 1 && uid != UINT32_MAX ? (long)uid : -1;
}

/* The name is untrusted: the process chose it. */
static void program_of(pid_t pid, char *ret, size_t len_bytes)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	ret[0] = '\0';
	if (!f)
		return;
	if (!fgets(ret, (int)len_bytes, f))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	fclose(f);
}

struct audit_actor audit_actor_sender(uid_t uid, pid_t pid)
{
	struct audit_actor who = {.uid = uid, .pid = pid, .login_uid = login_uid_of(pid)};
	/* Root's name is known, so root's processes need not wait for a directory service. */
	const struct passwd *user = uid ? getpwuid(uid) : NULL;

	snprintf(who.user, sizeof(who.user), "%s", uid == 0 ? "root" : user ? user->pw_name : "");
	program_of(pid, who.program, sizeof(who.program));
	return who;
}

struct audit_actor audit_actor_self(void)
{
	static struct audit_actor self;

	if (!self.pid)
		self = audit_actor_sender(getuid(), getpid());
	return self;
}

void audit_trim(struct audit *a)
{
	static const char note[] = "(older lines were removed)\n";
	struct stat st;

	if (a->log_fd < 0 || fstat(a->log_fd, &st) != 0 || st.st_size <= AUDIT_LOG_MAX_BYTES ||
	    ftruncate(a->log_fd, 0) != 0)
		return;
	if (write(a->log_fd, note, sizeof(note) - 1) < 0)
		return;
}

static void write_log(struct audit *a, const char *text)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	struct timespec now;
	struct tm tm;
	char stamp[32];

	if (a->log_fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	hv_text_printf(&line, "%s.%03ldZ %s\n", stamp, now.tv_nsec / 1000000, text);
	/* The service continues without its log. */
	if (write(a->log_fd, line.data, line.len_bytes) < 0)
		return;
}

void audit_log(struct audit *a, const char *fmt, ...)
{
	HV_AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = hv_vformat(fmt, args);
	va_end(args);
	write_log(a, text);
}

/* Escapes as RFC 5424 does for parameter values. No newline remains. */
static void add_quoted(struct hv_text *line, const char *value)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_guest(&safe, value, strlen(value));
	hv_text_add_char(line, '"');
	for (const char *at = safe.data; at && *at; at++) {
		if (*at == '"' || *at == '\\' || *at == ']')
			hv_text_add_char(line, '\\');
		hv_text_add_char(line, *at);
	}
	hv_text_add_char(line, '"');
}

void audit_text(struct audit_entry *e, const char *key, const char *value)
{
	hv_text_printf(&e->line, " %s=", key);
	add_quoted(&e->line, value);
}

void audit_number(struct audit_entry *e, const char *key, uint64_t value)
{
	hv_text_printf(&e->line, " %s=%llu", key, (unsigned long long)value);
}

struct audit_entry audit_begin(struct audit *a, const struct audit_actor *who, const char *what)
{
	struct audit_entry e = {.audit = a};

	hv_text_add(&e.line, what);
	audit_text(&e, "domain", a->domain);
	audit_text(&e, "id", a->id);
	audit_number(&e, "uid", who->uid);
	if (who->user[0])
		audit_text(&e, "user", who->user);
	if (who->login_uid >= 0)
		audit_number(&e, "loginuid", (uint64_t)who->login_uid);
	audit_number(&e, "pid", (uint64_t)who->pid);
	audit_text(&e, "program", who->program);
	return e;
}

static void write_syslog(const struct audit *a, const char *line)
{
	if (a->target != AUDIT_SYSLOG)
		return;
	openlog("hvtrace", LOG_PID, LOG_AUTHPRIV);
	syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s", line);
	closelog();
}

void audit_forwarded(const struct audit *a, const char *line)
{
	HV_AUTO_TEXT struct hv_text head = {0}, safe = {0};
	const char *rest = strchr(line, ' ');

	hv_text_add(&head, " domain=");
	add_quoted(&head, a->domain ? a->domain : "");
	hv_text_add(&head, " id=");
	add_quoted(&head, a->id ? a->id : "");
	if (!rest || strncmp(rest, head.data, head.len_bytes) != 0)
		return;
	hv_text_add_guest(&safe, line, AUDIT_LINE_MAX);
	write_syslog(a, safe.data);
}

void audit_end(struct audit_entry *e)
{
	write_log(e->audit, e->line.data);
	if (e->audit->forward)
		e->audit->forward(e->audit->ctx, e->line.data);
	else
		write_syslog(e->audit, e->line.data);
	hv_text_deinit(&e->line);
}
