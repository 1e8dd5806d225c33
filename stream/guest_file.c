/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/guest_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define NAME_MAX_BYTES	 64
#define BLOCK_BYTES	 512 /* unit of st_blocks */
#define NR_NAMES	 100
#define SMALL_DISK_BYTES (64ull << 20)
#define DISK_LOW_BYTES	 (16ull << 20)

/* Appends a name chosen by the sender. Keeps letters, digits, '-', '_' and non-leading dots, and
 * replaces other bytes with '_'. */
static void add_name(struct hv_text *out, const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.";
	size_t len = strnlen(name, NAME_MAX_BYTES);

	if (!len)
		hv_text_add_char(out, '_');
	for (size_t i = 0; i < len; i++) {
		bool is_safe = strchr(safe, name[i]) && !(name[i] == '.' && i == 0);

		hv_text_add_char(out, is_safe ? name[i] : '_');
	}
}

static struct hv_err *system_error(const struct hv_stream_guest *g, const char *name, int code)
{
	return hv_err_new(code, "%s/%s: %s", g->store->dir_path, name, strerror(code));
}

static char *stem_of(const struct hv_stream_guest *g)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	add_name(&name, g->head.guest);
	hv_text_add_char(&name, '@');
	add_name(&name, g->head.host);
	hv_text_printf(&name, "/%s-%016llx", stamp, (unsigned long long)g->session);
	return hv_text_take(&name);
}

static char *numbered(const struct hv_stream_guest *g, const char *stem, unsigned nr)
{
	bool zst = g->store->compression == HV_COMPRESSION_ZSTD && !g->store->format->needs_seek;
	HV_AUTO_TEXT struct hv_text name = {0};

	hv_text_add(&name, stem);
	if (nr)
		hv_text_printf(&name, "-%u", nr);
	hv_text_printf(&name, "%s%s", g->store->format->suffix, zst ? ".zst" : "");
	return hv_text_take(&name);
}

/* Creates the directory of G. EEXIST is no error: if the existing entry is not a directory,
 * creating a file in it fails later. */
static struct hv_err *make_dir(const struct hv_stream_guest *g, const char *stem)
{
	HV_AUTO_FREE char *dir = hv_format("%.*s", (int)strcspn(stem, "/"), stem);
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_FD int fd = -1;
	int code = m->make_dir(m->ctx, dir, &fd);

	return code && code != EEXIST ? system_error(g, dir, code) : NULL;
}

static struct hv_err *open_new(struct hv_stream_guest *g)
{
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_FREE char *stem = stem_of(g);
	struct hv_err *err = make_dir(g, stem);

	for (unsigned nr = 0; !err && g->fd < 0; nr++) {
		HV_AUTO_FREE char *name = numbered(g, stem, nr);
		int code = g->store->format->is_dir ? m->make_dir(m->ctx, name, &g->fd)
						    : m->make_file(m->ctx, name, &g->fd);

		if (code && (code != EEXIST || nr == NR_NAMES))
			err = system_error(g, name, code);
		if (!code)
			g->path = hv_take(name);
	}
	return err;
}

/* The sender chooses the number of vCPUs; one stream must not use up the file descriptors of
 * others. */
static struct hv_err *check_files(const struct hv_stream_guest *g)
{
	unsigned nr = g->head.head.nr_cpus;
	char from[HV_STREAM_ADDRESS_LEN];

	if (!g->store->format->is_dir || nr <= g->store->max_files)
		return NULL;
	hv_stream_address_text(&g->from, from);
	return hv_err_new(EMFILE,
			  "%s: %s needs %u open files, one per vCPU; the limit for a stream is %u",
			  from, g->store->format->name, nr, g->store->max_files);
}

static struct hv_err *open_file(struct hv_stream_guest *g)
{
	bool is_dir = g->store->format->is_dir;
	struct hv_export_config config = {
		.path = g->path,
		.fd = g->fd,
		.inside = is_dir ? g->path : NULL,
		.maker = &g->store->maker,
		.compression = g->store->compression,
	};
	struct hv_err *err = is_dir ? NULL : hv_export_check(g->store->format, &config);

	return err ? err : hv_export_open(g->store->format, &config, &g->head.head, &g->file);
}

struct hv_err *hv_stream_guest_open(struct hv_stream_guest *g)
{
	struct hv_err *err = check_files(g);

	if (!err)
		err = open_new(g);
	return err ? err : open_file(g);
}

/* A directory format has many files: count the event bytes instead of disk blocks. */
uint64_t hv_stream_guest_file_bytes(const struct hv_stream_guest *g)
{
	struct stat st;

	if (g->store->format->is_dir || fstat(g->fd, &st) != 0)
		return g->written_bytes;
	return (uint64_t)st.st_blocks * BLOCK_BYTES;
}

static void add_string(struct hv_text *out, const char *key, const char *value)
{
	hv_text_printf(out, "\"%s\":\"", key);
	for (; *value; value++)
		if (*value == '"' || *value == '\\' || (unsigned char)*value < 0x20 ||
		    (unsigned char)*value > 0x7e)
			hv_text_printf(out, "\\u%04x", (unsigned char)*value);
		else
			hv_text_add_char(out, *value);
	hv_text_add(out, "\",");
}

static void add_number(struct hv_text *out, const char *key, uint64_t value)
{
	hv_text_printf(out, "\"%s\":%llu,", key, (unsigned long long)value);
}

static void make_json(const struct hv_stream_guest *g, const char *why, struct hv_text *out)
{
	char from[HV_STREAM_ADDRESS_LEN];

	hv_stream_address_text(&g->from, from);
	hv_text_add(out, "{\"version\":1,");
	add_string(out, "guest", g->head.guest);
	add_string(out, "host", g->head.host);
	add_string(out, "from", from);
	add_string(out, "file", strrchr(g->path, '/') + 1);
	add_number(out, "events", g->counts.events);
	add_number(out, "lost", g->counts.lost);
	add_number(out, "before", g->counts.before);
	add_number(out, "unwritten", g->counts.unwritten);
	add_number(out, "frames_lost", g->window.nr_lost);
	add_number(out, "frames_repeated", g->window.nr_repeated);
	add_number(out, "frames_limited", g->counts.limited);
	add_number(out, "frames_bad", g->counts.bad);
	add_string(out, "ended", why ? why : "");
	out->data[out->len_bytes - 1] = '}';
	hv_text_add_char(out, '\n');
}

struct hv_err *hv_stream_guest_save_counts(const struct hv_stream_guest *g, const char *why)
{
	HV_AUTO_FREE char *name = hv_format("%s.json", g->path);
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_TEXT struct hv_text json = {0};
	int code;

	make_json(g, why, &json);
	code = m->put_file(m->ctx, name, json.data, json.len_bytes);
	return code ? system_error(g, name, code) : NULL;
}

struct hv_err *hv_stream_guest_check_room(const struct hv_stream_guest *g)
{
	struct statvfs fs;
	uint64_t left_bytes;

	if (fstatvfs(g->fd, &fs) != 0)
		return NULL;
	left_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if ((uint64_t)fs.f_blocks * fs.f_frsize < SMALL_DISK_BYTES || left_bytes >= DISK_LOW_BYTES)
		return NULL;
	return hv_err_new(ENOSPC, "%s: only %llu MiB left on its file system", g->path,
			  (unsigned long long)(left_bytes >> 20));
}
