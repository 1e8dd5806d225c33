/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace report: shows a file that record wrote. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/verbs/report/libraries.h"
#include "cli/verbs/verb.h"

/* -- the process without rights --------------------------------------------------------------- */

/* Reads untrusted files in a process without rights: if a library crashes on a file or loops, the
 * file cannot be shown, and nothing else happens. */

struct report_apart {
	const char *path; /* names the file in errors */
	int dir_fd;	  /* a directory whose files are opened by name; -1: not used */
	/* Called in the process before it gives up its rights, to load libraries. May be NULL. */
	void (*prepare)(void *ctx);
	/* Prints to standard output. DIR is the directory in this process. Sets *RET_CANNOT_PRINT
	 * if standard output fails. */
	struct hv_err *(*show)(void *ctx, const char *dir, bool *ret_cannot_print);
	void *ctx;
};

#define MEMORY_BYTES (2ull << 30)
#define NR_FILES     4096 /* a CTF trace has a file for each vCPU */
#define SILENCE_NS   (60 * HV_NS_PER_S)
#define LOOK_MS	     1000
#define MESSAGE_MAX  4096

/* Exit codes of the child; libraries that abort use lower numbers. */
enum { SHOWN = 0, REFUSED = 100, CANNOT_PRINT = 101 };

struct child {
	pid_t pid;
	int text, message; /* read ends of pipes; owned */
};

static void child_close(struct child *c)
{
	hv_close_at(&c->text);
	hv_close_at(&c->message);
}

/* -- the child -------------------------------------------------------------------------------- */

static struct hv_err *confine_child(const struct report_apart *r)
{
	struct hv_confinement c = HV_CONFINEMENT_NONE;
	struct hv_err *err;

	c.memory_bytes = MEMORY_BYTES;
	c.nr_files = NR_FILES;
	if (r->dir_fd >= 0) {
		c.may = HV_MAY_READ;
		c.dir_fd = r->dir_fd;
	}
	err = hv_confine(&c);
	/* changing to another user resets the death signal */
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		err = hv_err_new(
			errno,
			"cannot prepare the process that reads the file: PR_SET_PDEATHSIG: %s",
			strerror(errno));
	return err;
}

static _Noreturn void become_child(const struct report_apart *r, int text, int message)
{
	const char *dir = hv_confined_path(r->path);
	bool cannot_print = false;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hv_err *err;
	ssize_t n = 0;

	dup2(text, STDOUT_FILENO);
	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO); /* discards messages of crashing libraries */
	if (r->prepare)
		r->prepare(r->ctx);
	err = confine_child(r);
	if (!err)
		err = r->show(r->ctx, dir, &cannot_print);
	if (err)
		n = write(message, err->message, strlen(err->message));
	_exit(err && n > 0 ? REFUSED : cannot_print ? CANNOT_PRINT : err ? REFUSED : SHOWN);
}

static struct hv_err *start(const struct report_apart *r, struct child *ret)
{
	int text[2], message[2];
	int code;

	if (pipe2(text, O_CLOEXEC) != 0)
		return hv_err_new(errno, "%s: cannot start a process to read it: pipe: %s", r->path,
				  strerror(errno));
	if (pipe2(message, O_CLOEXEC) != 0) {
		code = errno;
		close(text[0]);
		close(text[1]);
		return hv_err_new(code, "%s: cannot start a process to read it: pipe: %s", r->path,
				  strerror(code));
	}
	ret->pid = fork();
	if (ret->pid == 0) {
		close(text[0]);
		close(message[0]);
		become_child(r, text[1], message[1]);
	}
	code = errno;
	close(text[1]);
	close(message[1]);
	ret->text = text[0];
	ret->message = message[0];
	return ret->pid < 0 ? hv_err_new(code, "%s: cannot start a process to read it: fork: %s",
					 r->path, strerror(code))
			    : NULL;
}

/* -- its parent ------------------------------------------------------------------------------- */

static uint64_t processor_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * HV_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Copies until the child ends or standard output fails. Returns false if the child uses CPU time
 * without output. */
static bool copy(const struct child *c, bool *ret_cannot_print)
{
	struct pollfd p = {c->text, POLLIN, 0};
	uint64_t said_ns = 0;
	char bytes[64 << 10];

	for (;;) {
		int ready = poll(&p, 1, LOOK_MS);
		ssize_t n;

		if (!ready && processor_ns(c->pid) >= said_ns + SILENCE_NS)
			return false;
		if (ready <= 0)
			continue;
		n = read(c->text, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		*ret_cannot_print = put_out(bytes, (size_t)n) != 0;
		if (*ret_cannot_print)
			return true;
		said_ns = processor_ns(c->pid);
	}
}

/* Returns the child's error message, which is untrusted because a file may have compromised the
 * child. */
static struct hv_err *refusal(const struct report_apart *r, const struct child *c)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	char message[MESSAGE_MAX];
	ssize_t n = read(c->message, message, sizeof(message));

	hv_text_add_utf8(&shown, message, n > 0 ? (size_t)n : 0);
	hv_text_add(&shown, "");
	if (!shown.len_bytes)
		hv_text_printf(&shown, "%s: it cannot be read", r->path);
	return hv_err_new(EINVAL, "%s", shown.data);
}

static struct hv_err *result(const struct report_apart *r, const struct child *c, int status,
			     bool *ret_cannot_print)
{
	if (!WIFEXITED(status))
		return hv_err_new(EINVAL,
				  "%s: damaged or malicious: the process that read it died of "
				  "signal %d (%s); nothing else was affected",
				  r->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) == CANNOT_PRINT)
		*ret_cannot_print = true;
	if (WEXITSTATUS(status) == SHOWN || WEXITSTATUS(status) == CANNOT_PRINT)
		return NULL;
	if (WEXITSTATUS(status) == REFUSED)
		return refusal(r, c);
	return hv_err_new(EINVAL,
			  "%s: damaged or malicious: the process that read it gave up (status %d); "
			  "nothing else was affected",
			  r->path, WEXITSTATUS(status));
}

/* Copies SHOW's output to standard output, and returns its error. EINVAL: the process crashed, or
 * used a minute of CPU time without output, or 2 GiB of memory. */
static struct hv_err *report_apart(const struct report_apart *r, bool *ret_cannot_print)
{
	hv_cleanup(child_close) struct child c = {.text = -1, .message = -1};
	struct hv_err *err = start(r, &c);
	bool has_ended;
	int status;

	/* the child runs as another user */
	if (!err)
		err = hv_capabilities_keep(HV_CAP(KILL));
	if (c.pid <= 0 || err)
		return err;
	has_ended = copy(&c, ret_cannot_print);
	if (!has_ended || *ret_cannot_print)
		kill(c.pid, SIGKILL);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (*ret_cannot_print)
		return NULL;
	if (!has_ended)
		return hv_err_new(
			EINVAL,
			"%s: damaged or malicious: no event was found in a minute of CPU time",
			r->path);
	return result(r, &c, status, ret_cannot_print);
}

/* -- the verb --------------------------------------------------------------------------------- */

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
		return hv_err_new(
			EINVAL,
			"%s: not a trace.dat file: only trace.dat files can be shown together",
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
