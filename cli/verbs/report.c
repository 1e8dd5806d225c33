/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace report: shows a file that record wrote. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/verbs/report/apart.h"
#include "cli/verbs/report/ctf.h"
#include "cli/verbs/report/dat.h"
#include "cli/verbs/verb.h"

#define ZSTD_MAGIC  "\x28\xb5\x2f\xfd"
#define DAT_MAGIC   "\x17\x08\x44tracing"
#define FILES_MAX   64
#define VERSION_MAX 16 /* bytes of a version to show */

/* A file whose contents are shown unchanged, after decompression. */
struct plain {
	const char *path;
	int fd;		      /* borrowed */
	ZSTD_DStream *stream; /* owned by struct report */
	uint8_t in[64 << 10];
	size_t in_bytes;
	bool is_begun; /* the first byte of the text was checked */
	bool cannot_print;
	size_t frame_rest; /* 0: a frame is complete */
};

static bool is_dir(const struct plain *p)
{
	struct stat st;

	return fstat(p->fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static struct hv_err *fill(struct plain *p)
{
	ssize_t got;

	do
		got = read(p->fd, p->in, sizeof(p->in));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return hv_err_new(errno, "%s: %s", p->path, strerror(errno));
	p->in_bytes = (size_t)got;
	return NULL;
}

static bool begins_with(const struct plain *p, const char *magic, size_t len)
{
	return p->in_bytes >= len && !memcmp(p->in, magic, len);
}

/* Text and JSON lines start with a printable character or a blank; Perfetto's packets start with
 * their tag. */
static struct hv_err *put_text(struct plain *p, const void *bytes, size_t len_bytes)
{
	const uint8_t *first = bytes;

	if (!len_bytes)
		return NULL;
	if (!p->is_begun && (*first < ' ' || *first > '~'))
		return hv_err_new(EINVAL,
				  *first == '\n' ? "%s: Perfetto shows this file: ui.perfetto.dev"
						 : "%s: not a file of hvtrace record",
				  p->path);
	p->is_begun = true;
	p->cannot_print = put_out(bytes, len_bytes);
	return NULL;
}

static struct hv_err *put_frames(struct plain *p)
{
	ZSTD_inBuffer in = {p->in, p->in_bytes, 0};
	uint8_t text[64 << 10];

	while (in.pos < in.size && !p->cannot_print) {
		ZSTD_outBuffer out = {text, sizeof(text), 0};
		size_t rest = ZSTD_decompressStream(p->stream, &out, &in);
		struct hv_err *err;

		if (ZSTD_isError(rest))
			return hv_err_new(EINVAL, "%s: zstd: %s", p->path, ZSTD_getErrorName(rest));
		p->frame_rest = rest;
		err = put_text(p, text, out.pos);
		if (err)
			return err;
	}
	return NULL;
}

static struct hv_err *put_all(struct plain *p, bool is_zstd)
{
	while (p->in_bytes && !p->cannot_print) {
		struct hv_err *err = is_zstd ? put_frames(p) : put_text(p, p->in, p->in_bytes);

		if (!err)
			err = fill(p);
		if (err)
			return err;
	}
	if (p->frame_rest && !p->cannot_print)
		return hv_err_new(EINVAL, "%s: the end of the file is missing", p->path);
	return NULL;
}

struct report_options {
	const char *const *paths;
	int fds[FILES_MAX]; /* owned; open files of PATHS, at offset 0 */
	size_t nr_paths;
	enum report_as as;
};

struct report {
	struct report_options options;
	struct plain plain;
};

/* The version is text after the magic. libtracecmd supports two versions. */
static struct hv_err *show_dat(const struct plain *p, const struct report_options *o)
{
	const char *version = (const char *)p->in + sizeof(DAT_MAGIC) - 1;
	size_t len = strnlen(version, p->in_bytes - (sizeof(DAT_MAGIC) - 1));
	HV_AUTO_TEXT struct hv_text shown = {0};

	if (len == 1 && (*version == '6' || *version == '7'))
		return report_dat(o->paths, o->fds, o->nr_paths, o->as);
	hv_text_add_utf8(&shown, version, len < VERSION_MAX ? len : VERSION_MAX);
	hv_text_add(&shown, "");
	return hv_err_new(EINVAL, "%s: trace.dat of version '%s': only 6 and 7 can be shown",
			  p->path, shown.data);
}

/* A CTF trace is a directory that contains a file of this name. */
static struct hv_err *check_dir(const struct plain *p, const struct report_options *o)
{
	if (o->as == REPORT_JSON)
		return hv_err_new(ENOTSUP,
				  "%s: --json is for trace.dat and for files in JSON lines",
				  p->path);
	if (faccessat(p->fd, "metadata", F_OK, AT_EACCESS) == 0)
		return NULL;
	return hv_err_new(EISDIR, "%s: a directory, but no trace in CTF", p->path);
}

/* With JSON output, requires lines of JSON; does not check other text. */
static struct hv_err *show_plain(struct plain *p, const struct report_options *o)
{
	bool is_zstd = begins_with(p, ZSTD_MAGIC, sizeof(ZSTD_MAGIC) - 1);

	if (o->as == REPORT_JSON && !is_zstd && !begins_with(p, "{", 1))
		return hv_err_new(ENOTSUP,
				  "%s: --json is for trace.dat and for files in JSON lines",
				  p->path);
	return put_all(p, is_zstd);
}

static struct hv_err *show_file(struct plain *p, const struct report_options *o)
{
	struct hv_err *err = fill(p);

	if (err)
		return err;
	if (begins_with(p, DAT_MAGIC, sizeof(DAT_MAGIC) - 1))
		return show_dat(p, o);
	if (o->nr_paths > 1)
		return hv_err_new(EINVAL, "%s: no trace.dat: only those can be shown together",
				  p->path);
	return show_plain(p, o);
}

/* Runs in the unprivileged process. prepare() runs there before it gives up its rights. */
static struct hv_err *show(void *ctx, const char *dir, bool *ret_cannot_print)
{
	struct report *r = ctx;
	struct hv_err *err = is_dir(&r->plain) ? report_ctf(r->plain.path, dir)
					       : show_file(&r->plain, &r->options);

	*ret_cannot_print = r->plain.cannot_print;
	return err;
}

static void prepare(void *ctx)
{
	const struct report *r = ctx;

	if (is_dir(&r->plain))
		report_ctf_prepare();
}

static void report_deinit(struct report *r)
{
	for (size_t i = 0; i < r->options.nr_paths; i++)
		hv_close_at(&r->options.fds[i]);
	ZSTD_freeDStream(r->plain.stream);
}

static struct hv_err *open_all(struct report_options *o)
{
	for (size_t i = 0; i < o->nr_paths; i++)
		o->fds[i] = -1;
	for (size_t i = 0; i < o->nr_paths; i++) {
		o->fds[i] = open(o->paths[i], O_RDONLY | O_CLOEXEC);
		if (o->fds[i] < 0)
			return hv_err_new(errno, "%s: %s", o->paths[i], strerror(errno));
	}
	return NULL;
}

/* *RET_CANNOT_PRINT: standard output failed. */
static struct hv_err *report(struct report *r, bool *ret_cannot_print)
{
	struct report_apart apart = {.dir_fd = -1, .prepare = prepare, .show = show, .ctx = r};
	struct hv_err *err = open_all(&r->options);

	if (err)
		return err;
	apart.path = r->plain.path = r->options.paths[0];
	r->plain.fd = r->options.fds[0];
	r->plain.stream = ZSTD_createDStream();
	if (!r->plain.stream)
		abort();
	if (is_dir(&r->plain)) {
		err = check_dir(&r->plain, &r->options);
		apart.dir_fd = r->plain.fd;
	}
	return err ? err : report_apart(&apart, ret_cannot_print);
}

static bool parse(struct cli *cli, int argc, char **argv, struct report_options *ret, int *ret_exit)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	int option;

	while ((option = verb_option(cli, argc, argv, "j", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return false;
		ret->as = REPORT_JSON;
	}
	if (!verb_operands(cli, argc, argv, 1, FILES_MAX, ret_exit))
		return false;
	ret->paths = (const char *const *)argv + optind;
	ret->nr_paths = (size_t)(argc - optind);
	if (ret->as != REPORT_JSON || ret->nr_paths == 1)
		return true;
	*ret_exit = usage_error(cli, "--json is for one FILE");
	return false;
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(report_deinit) struct report r = {0};
	bool cannot_print = false;
	struct hv_err *err;
	int exit_code;

	if (!parse(cli, argc, argv, &r.options, &exit_code))
		return exit_code;
	err = report(&r, &cannot_print);
	if (err)
		return fail(err);
	return cannot_print ? EXIT_FAILED : EXIT_OK;
}

static const char help[] =
	"Shows a file that `hvtrace record -o FILE` wrote: trace.dat and CTF as lines of text, "
	"text\n"
	"and JSON lines as they are; also if compressed. For a Perfetto file it names a viewer. "
	"Needs\n"
	"neither a guest nor root. Several trace.dat files, such as a guest's events and its "
	"host's,\n"
	"are merged by time.\n\n"
	"  -j, --json             trace.dat: a line of JSON for each event, with the members that\n"
	"                         `record --format=jsonl` writes\n";

const struct verb verb_report = {
	.name = "report",
	.args = "[--json] FILE...",
	.summary = "Show a file that record wrote",
	.help = help,
	.run = run,
};
