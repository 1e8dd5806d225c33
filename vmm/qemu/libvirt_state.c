/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/libvirt_state.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

#define STATUS_MAX_BYTES (16u << 20)
#define SYSTEM_DIR	 "/run/libvirt/qemu"

char *hv_libvirt_state_dir(const char *uri)
{
	size_t len = strcspn(uri, "?#");
	size_t at = len;

	while (at && uri[at - 1] != '/')
		at--;
	if (len - at == strlen("system") && !strncmp(uri + at, "system", len - at))
		return hv_strdup(SYSTEM_DIR);
	if (len - at == strlen("session") && !strncmp(uri + at, "session", len - at))
		return hv_format("/run/user/%u/libvirt/qemu/run", (unsigned)geteuid());
	return NULL;
}

static struct hv_err *failed(const char *dir, const char *file)
{
	return hv_err_new(errno == ENOENT ? ESRCH : errno, "libvirt's status file %s/%s: %s", dir,
			  file, strerror(errno));
}

/* Whether only root and this user can have written it. */
static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static struct hv_err *open_status(const char *dir, const char *file, int *ret)
{
	HV_AUTO_FD int place = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	HV_AUTO_FD int fd = -1;
	struct stat in, st;

	if (place < 0 || fstat(place, &in) < 0)
		return failed(dir, file);
	fd = openat(place, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(dir, file);
	if (!S_ISREG(st.st_mode) || !is_trusted(&st) || !is_trusted(&in))
		return hv_err_new(EPERM,
				  "libvirt's status file %s/%s: others than root can write it", dir,
				  file);
	*ret = hv_take_fd(&fd);
	return NULL;
}

static struct hv_err *read_status(const char *dir, const char *file, struct hv_text *ret)
{
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = open_status(dir, file, &fd);
	char buf[65536];
	ssize_t nr = 1;

	while (!err && nr > 0) {
		nr = read(fd, buf, sizeof(buf));
		if (nr > 0)
			hv_text_add_bytes(ret, buf, (size_t)nr);
		if (nr < 0)
			err = failed(dir, file);
		else if (ret->len_bytes > STATUS_MAX_BYTES)
			err = hv_err_new(EFBIG, "libvirt's status file %s/%s: more than %u bytes",
					 dir, file, STATUS_MAX_BYTES);
	}
	hv_text_add(ret, "");
	return err;
}

/* Decodes XML's five named entities. */
static char *unescape(const char *text, size_t len)
{
	static const struct {
		const char *name;
		char is;
	} known[] = {
		{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}, {"&quot;", '"'}};
	char *ret = hv_alloc(len + 1);
	size_t nr = 0;

	for (size_t at = 0; at < len; at++) {
		ret[nr] = text[at];
		for (size_t i = 0; text[at] == '&' && i < HV_ARRAY_LEN(known); i++) {
			size_t name_len = strlen(known[i].name);

			if (len - at < name_len || strncmp(text + at, known[i].name, name_len))
				continue;
			ret[nr] = known[i].is;
			at += name_len - 1;
			break;
		}
		nr++;
	}
	ret[nr] = '\0';
	return ret;
}

/* Copies the text between BEFORE and the character END. Searches from FROM to TO, or to the end of
 * the string if TO is NULL. libvirt always formats its XML in the same way, and escapes < and ' in
 * values. Returns NULL if BEFORE is missing; the caller frees the result. */
static char *value(const char *from, const char *to, const char *before, char end)
{
	const char *at = from ? strstr(from, before) : NULL;
	const char *stop;

	if (!at || (to && at >= to))
		return NULL;
	at += strlen(before);
	stop = strchr(at, end);
	return stop && (!to || stop < to) ? unescape(at, (size_t)(stop - at)) : NULL;
}

static bool parse_pid(const char *text, pid_t *ret)
{
	if (!text || !*text || strlen(text) > 9 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = atoi(text);
	return *ret > 0;
}

/* The daemon's own part precedes the domain's description, in which the administrator can add any
 * elements. */
static bool parse(const char *xml, struct hv_libvirt_state *ret, char **ret_uuid)
{
	const char *status = strstr(xml, "<domstatus ");
	const char *status_end = status ? strchr(status, '>') : NULL;
	const char *domain = status_end ? strstr(status_end, "<domain ") : NULL;
	HV_AUTO_FREE char *pid = domain ? value(status, status_end, " pid='", '\'') : NULL;

	if (!parse_pid(pid, &ret->pid))
		return false;
	ret->private_dir = value(status_end, domain, "<libDir path='", '\'');
	*ret_uuid = value(domain, NULL, "<uuid>", '<');
	return ret->private_dir && ret->private_dir[0] == '/' && *ret_uuid;
}

struct hv_err *hv_libvirt_state_read(const char *dir, const char *name, const char *uuid,
				     struct hv_libvirt_state *ret)
{
	HV_AUTO_TEXT struct hv_text xml = {0};
	HV_AUTO_LIBVIRT_STATE struct hv_libvirt_state s = {0};
	HV_AUTO_FREE char *its_uuid = NULL;
	HV_AUTO_FREE char *file = hv_format("%s.xml", name);
	struct hv_err *err;

	if (!*name || strchr(name, '/'))
		return hv_err_new(EINVAL, "libvirt's status file: a domain cannot have this name");
	err = read_status(dir, file, &xml);
	if (err)
		return err;
	if (!parse(xml.data, &s, &its_uuid))
		return hv_err_new(EPROTO, "libvirt's status file %s/%s is not understood", dir,
				  file);
	if (strcmp(its_uuid, uuid) != 0)
		return hv_err_new(ESRCH, "libvirt's status file %s/%s is of another domain", dir,
				  file);
	*ret = s;
	s = (struct hv_libvirt_state){0};
	return NULL;
}

void hv_libvirt_state_deinit(struct hv_libvirt_state *s)
{
	free(s->private_dir);
	*s = (struct hv_libvirt_state){0};
}
