/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/audit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>

#include "base/text.h"

struct hv_err *audit_open(const char *log_path, enum audit_sink sink, const char *domain,
			  const char *id, struct audit *ret)
{
	int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return hv_err_new(errno, "%s: %s", log_path, strerror(errno));
	*ret = (struct audit){sink, fd, hv_strdup(domain), hv_strdup(id)};
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

struct audit_actor audit_actor_self(void)
{
	return (struct audit_actor){getuid(), getpid(), login_uid_of(getpid())};
}

struct audit_actor audit_actor_peer(const struct ucred *cred)
{
	return (struct audit_actor){cred->uid, cred->pid, login_uid_of(cred->pid)};
}

static void write_log(struct audit *a, const char *text)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	struct timespec now;
	struct tm tm;
	struct stat st;
	char stamp[32];

	if (a->log_fd < 0)
		return;
	if (fstat(a->log_fd, &st) == 0 && st.st_size > AUDIT_LOG_MAX_BYTES &&
	    ftruncate(a->log_fd, 0) == 0)
		hv_text_add(&line, "(older lines were removed)\n");
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	hv_text_printf(&line, "%s.%03ldZ %s\n", stamp, now.tv_nsec / 1000000, text);
	/* An error of the log does not stop the service. */
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

void audit_line(struct audit *a, const struct audit_actor *who, const char *what, const char *fmt,
		...)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	HV_AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = hv_vformat(fmt, args);
	va_end(args);
	hv_text_printf(&line, "%s domain='%s' id=%s uid=%u", what, a->domain, a->id,
		       (unsigned)who->uid);
	if (who->login_uid >= 0)
		hv_text_printf(&line, " loginuid=%ld", who->login_uid);
	hv_text_printf(&line, " pid=%d %s", (int)who->pid, text);
	write_log(a, line.data);
	if (a->sink != AUDIT_SYSLOG)
		return;
	openlog("hvtrace", LOG_PID, LOG_AUTHPRIV);
	syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s", line.data);
	closelog();
}
