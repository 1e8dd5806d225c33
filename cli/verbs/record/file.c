/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/file.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/verbs/record/apart.h"
#include "cli/terminal.h"

#define NAMES		 "saved_cmdlines"
#define NAMES_NS	 HV_NS_PER_S
#define WANTED_NS	 (HV_NS_PER_S / 20) /* interval while events wait for unknown names */
#define READS_MAX	 64		    /* reads of one vCPU before the next vCPU's turn */
#define REST_MS		 20 /* rest for quiet vCPUs, so that a read finds more events */
#define FEW_READS	 8  /* a turn with fewer reads than this per vCPU is followed by a rest */
#define NEW_DIR_MODE	 0700
/* Minimum free space on a file system of at least SMALL_DISK_BYTES. */
#define SMALL_DISK_BYTES (64ull << 20)
#define DISK_LOW_BYTES	 (16ull << 20)

static struct hv_err *of_session(const struct client *c, struct hv_err *err)
{
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", c->spec) : err;
}

static struct hv_err *system_error(const struct record_file *f, int code)
{
	return hv_err_new(code, "%s: %s", f->target.path, strerror(code));
}

static void add_names(struct hv_text *out)
{
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		hv_text_printf(out, "%s%s", i ? ", " : "", hv_export_formats[i]->name);
}

static void add_suffixes(struct hv_text *out)
{
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		if (hv_export_formats[i]->suffix)
			hv_text_printf(out, "%s%s", i ? ", " : "", hv_export_formats[i]->suffix);
}

static void refuse(const struct record_file *f, const char *name, struct hv_text *why)
{
	if (name) {
		hv_text_printf(why, "--format: '%s' is not one of ", name);
		add_names(why);
		return;
	}
	hv_text_printf(
		why,
		"-o: '%s' does not show the format: choose one with --format, or end the name in ",
		f->target.path);
	add_suffixes(why);
}

bool record_file_choose(struct record_file *f, const char *name, struct hv_text *why)
{
	const struct hv_export_format *of_path;
	enum hv_compression compression;

	of_path = hv_export_of_path(f->target.path, &compression);
	f->target.format = name ? hv_export_find(name) : of_path;
	if (!f->target.format)
		refuse(f, name, why);
	else if (f->target.format->is_dir && (compression || f->target.compression))
		hv_text_printf(why,
			       "-o: '%s': %s is a directory, which cannot be compressed: leave out "
			       "--compress and .zst",
			       f->target.path, f->target.format->name);
	else if (f->target.format->needs_seek && compression != HV_COMPRESSION_NONE)
		hv_text_printf(why,
			       "-o: '%s': %s has its own compression: use --compress, and a name "
			       "that ends in %s",
			       f->target.path, f->target.format->name, f->target.format->suffix);
	else if (f->target.format->needs_seek && strcmp(f->target.path, "-") == 0)
		hv_text_printf(why, "-o -: %s is not written in order, so it needs a file",
			       f->target.format->name);
	else if (f->target.format->is_dir && strcmp(f->target.path, "-") == 0)
		hv_text_printf(why, "-o -: %s is a directory, so it needs a name",
			       f->target.format->name);
	else if (f->target.has_date && !f->target.format->has_date)
		hv_text_printf(why,
			       "--date: %s has no room for the time of day: choose another format",
			       f->target.format->name);
	if (compression != HV_COMPRESSION_NONE)
		f->target.compression = compression;
	return !why->len_bytes;
}

static struct hv_export_config config_of(const struct record_file *f)
{
	return (struct hv_export_config){
		.path = f->target.path,
		.fd = f->fd,
		.compression = f->target.compression,
		.to = f->target.to,
		.is_others = f->is_stdout,
		.maker = f->errand && f->target.format->is_dir ? &f->errand->maker : NULL,
		.write = f->fd >= 0 && isatty(f->fd) ? terminal_write : NULL,
		.host = f->host.path ? &f->host.host : NULL,
	};
}

static struct hv_err *open_dir(struct record_file *f)
{
	f->is_new = mkdir(f->target.path, NEW_DIR_MODE) == 0;
	if (f->is_new || errno == EEXIST)
		f->fd = open(f->target.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return f->fd < 0 && errno == ENOTDIR ? hv_err_new(ENOTDIR,
							  "%s: a %s trace is a directory, and this "
							  "is a file: give a new name",
							  f->target.path, f->target.format->name)
					     : NULL;
}

struct hv_err *record_file_open(struct record_file *f)
{
	struct hv_export_config config;
	struct hv_err *err = NULL;

	if (f->target.to)
		return NULL;
	if (strcmp(f->target.path, "-") == 0) {
		f->target.path = "standard output";
		f->is_stdout = true;
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	} else if (f->target.format->is_dir) {
		err = open_dir(f);
	} else {
		err = output_open(f->target.path, OUTPUT_FOLLOWS_LINKS, &f->fd, &f->is_new);
	}
	if (err || f->fd < 0)
		return err ? err : system_error(f, errno);
	config = config_of(f);
	return hv_export_check(f->target.format, &config);
}

static struct hv_err *empty(const struct record_file *f)
{
	struct stat st;

	if (!f->is_stdout && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(f->fd, 0) != 0)
		return system_error(f, errno);
	return NULL;
}

static struct hv_err *open_source(struct record_file *f, struct client *c, const char *path)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (err)
		return client_error(path, err);
	f->handles = hv_realloc_array(f->handles, f->nr_handles + 1, sizeof(*f->handles));
	f->handles[f->nr_handles++] = handle;
	return NULL;
}

static struct hv_err *open_sources(struct record_file *f, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *pipe = hv_format("%s/trace_pipe", dir);
	struct hv_err *err = NULL;

	if (f->target.format->input == HV_EXPORT_TEXT)
		return open_source(f, c, pipe);
	for (unsigned cpu = 0; cpu < f->head.head.nr_cpus && !err; cpu++) {
		HV_AUTO_FREE char *raw = hv_format("%s/per_cpu/cpu%u/trace_pipe_raw", dir, cpu);

		err = open_source(f, c, raw);
	}
	return err;
}

static struct hv_err *write_names(struct record_file *f, struct client *c)
{
	HV_AUTO_TEXT struct hv_text names = {0};
	struct hv_err *err;

	f->named_ns = hv_now_ns();
	if (!f->target.format->name_tasks)
		return NULL;
	err = client_get(c, NAMES, &names);
	if (err)
		return client_error(NAMES, err);
	hv_text_add(&names, "");
	err = hv_export_name_tasks(f->export, (struct hv_export_text){names.data, names.len_bytes});
	if (err || !f->host.path)
		return err;
	hv_text_clear(&names);
	record_host_add_names(&f->host, &names);
	hv_text_add(&names, "");
	return hv_export_name_host(f->export, (struct hv_export_text){names.data, names.len_bytes});
}

struct hv_err *record_file_begin(struct record_file *f, struct client *c, const char *dir)
{
	struct hv_export_config config;
	struct hv_err *err = f->target.format->needs_no_symbols
				     ? record_head_read_events(&f->head, c, dir)
				     : record_head_read(&f->head, c, dir);

	err = of_session(c, err);
	if (!err && f->target.has_date)
		err = of_session(c, record_head_read_date(&f->head, c));
	if (!err)
		err = empty(f);
	if (!err && f->target.format->has_host)
		err = record_host_open(&f->host, c, f->errand, f->target.path, &f->head.head);
	config = config_of(f);
	if (!err)
		err = hv_export_open(f->target.format, &config, &f->head.head, &f->export);
	if (!err && f->errand)
		record_apart_keep(f->errand);
	if (!err)
		err = of_session(c, open_sources(f, c, dir));
	return err;
}

/* Writes the events that source I has now, up to a limit. */
static struct hv_err *take_from(struct record_file *f, struct client *c, unsigned i, bool *ret_more)
{
	struct hv_err *err = NULL;
	struct hv_span data;

	for (unsigned nr = 0; nr < READS_MAX && !err; nr++) {
		err = client_read(c, f->handles[i], 0, &data);
		if (!err && !data.len_bytes)
			return NULL;
		if (!err)
			err = hv_export_add(f->export, i, data);
		if (!err)
			*ret_more = true;
		f->nr_reads += !err;
	}
	if (err && err->code == EAGAIN) {
		hv_err_free(err);
		return NULL;
	}
	return err;
}

/* Names that the format wants are read as soon as there is no other data to read. */
static bool names_are_due(const struct record_file *f, bool has_more)
{
	uint64_t age_ns = hv_now_ns() - f->named_ns;

	if (f->export->wants_names)
		return !has_more || age_ns >= WANTED_NS;
	return age_ns >= NAMES_NS;
}

/* Events wait for the names of their tasks for at most WANTED_NS, because write_names() asks once,
 * and then the format wants no names until more events are added. */
static struct hv_err *take_turn(struct record_file *f, struct client *c, bool *ret_more)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < f->nr_handles && !err; i++)
		err = take_from(f, c, i, ret_more);
	if (!err && names_are_due(f, *ret_more))
		err = write_names(f, c);
	return err || f->export->wants_names ? err : hv_export_turn(f->export);
}

struct hv_err *record_file_take(struct record_file *f, struct client *c, uint32_t wait_ms,
				bool *ret_more)
{
	uint64_t until = hv_now_ns() + wait_ms * HV_NS_PER_MS;
	struct hv_err *err;

	*ret_more = false;
	if (f->nr_reads < FEW_READS * f->nr_handles)
		poll(NULL, 0, (int)(wait_ms < REST_MS ? wait_ms : REST_MS));
	f->nr_reads = 0;
	do {
		err = take_turn(f, c, ret_more);
	} while (!err && !*ret_more && hv_now_ns() < until && poll(NULL, 0, REST_MS) == 0);
	return err;
}

struct hv_err *record_file_check_room(const struct record_file *f)
{
	struct statvfs fs;
	struct stat st;
	uint64_t left_bytes;

	if (fstat(f->fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ||
	    fstatvfs(f->fd, &fs) != 0)
		return NULL;
	left_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if ((uint64_t)fs.f_blocks * fs.f_frsize < SMALL_DISK_BYTES || left_bytes >= DISK_LOW_BYTES)
		return NULL;
	return hv_err_new(ENOSPC,
			  "%s: recording ended because the file system has only %llu MiB left; the "
			  "file has all events until then",
			  f->target.path, (unsigned long long)(left_bytes >> 20));
}

struct hv_err *record_file_close(struct record_file *f, struct client *c)
{
	struct hv_err *err = f->export ? write_names(f, c) : NULL;

	for (unsigned i = 0; i < f->nr_handles; i++)
		hv_err_keep_first(&err, client_close_file(c, f->handles[i]));
	f->nr_handles = 0;
	return err;
}

struct hv_err *record_file_end(struct record_file *f)
{
	return f->export ? hv_export_end(f->export) : NULL;
}

void record_file_deinit(struct record_file *f)
{
	if (f->is_new && !f->export)
		unlinkat(AT_FDCWD, f->target.path, f->target.format->is_dir ? AT_REMOVEDIR : 0);
	record_host_deinit(&f->host);
	hv_export_free(f->export);
	record_head_deinit(&f->head);
	hv_close_at(&f->fd);
	free(f->handles);
}
