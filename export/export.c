/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static bool is_empty(const struct hv_export_config *config)
{
	HV_AUTO_FD int fd = openat(config->fd, config->inside ? config->inside : ".",
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t nr = 0;

	if (!d)
		return false;
	fd = -1;
	for (struct dirent *e = readdir(d); e && nr < 3; e = readdir(d))
		nr++;
	closedir(d);
	return nr < 3; /* "." and ".." */
}

static struct hv_err *check_dir(const struct hv_export_format *format,
				const struct hv_export_config *config)
{
	if (is_empty(config))
		return NULL;
	return hv_err_new(
		EEXIST,
		"%s: a %s trace needs an empty directory, and this one has files: give a new name",
		config->path, format->name);
}

struct hv_err *hv_export_check(const struct hv_export_format *format,
			       const struct hv_export_config *config)
{
	struct stat st;

	if (format->is_dir)
		return check_dir(format, config);
	if (!format->needs_seek || (fstat(config->fd, &st) == 0 && S_ISREG(st.st_mode)))
		return NULL;
	return hv_err_new(
		EINVAL, "%s: a %s file is not written in order, so it cannot be a pipe or a device",
		config->path, format->name);
}

struct hv_err *hv_export_open(const struct hv_export_format *format,
			      const struct hv_export_config *config,
			      const struct hv_export_head *head, struct hv_export **ret)
{
	struct hv_err *err = format->open(config, head, ret);

	if (!err)
		(*ret)->format = format;
	return err;
}

struct hv_err *hv_export_add(struct hv_export *x, unsigned cpu, struct hv_span data)
{
	return x->format->add(x, cpu, data);
}

struct hv_err *hv_export_name_tasks(struct hv_export *x, struct hv_export_text saved_cmdlines)
{
	x->wants_names = false;
	return x->format->name_tasks ? x->format->name_tasks(x, saved_cmdlines) : NULL;
}

struct hv_err *hv_export_name_host(struct hv_export *x, struct hv_export_text names)
{
	return x->format->name_host ? x->format->name_host(x, names) : NULL;
}

struct hv_err *hv_export_turn(struct hv_export *x)
{
	return x->format->turn(x);
}

struct hv_err *hv_export_end(struct hv_export *x)
{
	return x->format->end(x);
}

void hv_export_free(struct hv_export *x)
{
	if (x)
		x->format->free(x);
}
