/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that all verbs of the command line share: the table of verbs, options, errors. Exit codes: 0
 * success, 1 failure, 2 usage. */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/guard.h"
#include "base/text.h"
#include "cli/audit.h"
#include "cli/terminal.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct verb;

struct cli {
	const struct verb *verb;
	const char *libvirt_uri; /* -c; NULL: libvirt's default */
	const char *run_dir;
	const char *conf_path; /* path of hvtrace.conf; may be NULL */
	enum audit_target audit_target;
	bool needs_root; /* false in tests with fakes */
	int nr_operands; /* operands that verb_option() has passed, without those after "--" */
};

/* Runs the program with ARGV. Returns its exit code. */
int program_run(const struct cli *defaults, int argc, char **argv);

struct verb {
	const char *name;
	const char *args;    /* usage after the name: options, then operands */
	const char *summary; /* one phrase */
	const char *help;    /* paragraphs and options */
	/* The number of operands after which options end, because the remaining words are not for
	 * hvtrace. 0: options may be anywhere. */
	int options_end_after;
	int (*run)(struct cli *cli, int argc, char **argv);
};

/* All verbs, in the order of `hvtrace help`. To add one, add its name and a file with verb_NAME. */
#define VERBS(X)                                                                                   \
	X(list)                                                                                    \
	X(check)                                                                                   \
	X(attach)                                                                                  \
	X(ls)                                                                                      \
	X(cat)                                                                                     \
	X(echo)                                                                                    \
	X(mkdir)                                                                                   \
	X(rmdir)                                                                                   \
	X(reset)                                                                                   \
	X(record)                                                                                  \
	X(report)                                                                                  \
	X(hist)                                                                                    \
	X(top)                                                                                     \
	X(latency)                                                                                 \
	X(profile)                                                                                 \
	X(stream)                                                                                  \
	X(collect)                                                                                 \
	X(exporter)                                                                                \
	X(mount)                                                                                   \
	X(umount)                                                                                  \
	X(exec)                                                                                    \
	X(sh)                                                                                      \
	X(run)                                                                                     \
	X(stat)                                                                                    \
	X(detach)                                                                                  \
	X(recover)

#define X(name_) extern const struct verb verb_##name_;
VERBS(X)
#undef X

/* Returns the next option of a verb, as getopt_long does. SHORTS is as for getopt, but without '+',
 * '-', ':', 'h' and 'c'. LONGS may be NULL. -1: there are no more options, and the operands start
 * at ARGV[optind], wherever they were. VERB_OPTION_STOP: return *RET_EXIT, because the user
 * requested help, an option is unknown, or its value is missing or empty. (A script with an unset
 * variable passes an empty value.) Options whose VAL includes VERB_MAY_BE_EMPTY accept an empty
 * value. */
#define VERB_OPTION_STOP  '?'
#define VERB_MAY_BE_EMPTY 0x1000
int verb_option(struct cli *cli, int argc, char **argv, const char *shorts,
		const struct option *longs, int *ret_exit);

/* Checks the operands. True: there are MIN to MAX of them, and the first two, which are names
 * (DOMAIN, FILE, DIR), are not empty. False: return *RET_EXIT. */
bool verb_operands(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit);
/* Calls verb_option for a verb without options, then verb_operands. */
bool verb_no_options(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit);

/* Parses the command line of a verb that shows something about one DOMAIN, for people or (-j,
 * --json) for programs. Returns the domain. NULL: return *RET_EXIT. */
const char *verb_shown(struct cli *cli, int argc, char **argv, bool *ret_json, int *ret_exit);
/* Like verb_shown(), for a verb that reads the guest's kernel: also takes --btf. *RET_BTF is NULL
 * without it. */
const char *verb_shown_kernel(struct cli *cli, int argc, char **argv, bool *ret_json,
			      const char **ret_btf, int *ret_exit);
#define VERB_BTF_HELP                                                                              \
	"  --btf=FILE|DIR         types of a kernel without BTF: a BTF file of its build, or a\n"  \
	"                         directory with RELEASE.btf\n"
#define VERB_SHOWN_HELP "  -j, --json             for programs\n"

/* Prints one line to stderr, "hvtrace: VERB: ... (see hvtrace VERB --help)". Returns EXIT_USAGE. */
int usage_error(const struct cli *cli, const char *fmt, ...) hv_printf(2, 3);
/* Checks NAME of `-p NAME`. Returns EXIT_OK, or prints the list of tracers and returns
 * EXIT_USAGE. */
int usage_tracer(const struct cli *cli, const char *name);
/* Prints one line to stderr, "hvtrace: MESSAGE". Takes ERR. Returns EXIT_FAILED. */
int fail(struct hv_err *err);
/* Like fail, but prints nothing and returns EXIT_OK if ERR is NULL. */
int fail_if(struct hv_err *err);
/* Calls fail with client_error. */
int fail_file(const char *file, struct hv_err *err);
/* Prints "hvtrace: LINE" to stderr. */
void note(const char *line);
/* Returns whether the program runs as root or need not. Otherwise prints an error. */
bool have_root(const struct cli *cli);

/* Writes all bytes to stdout. Returns 0 or the errno. Prints an error unless it is EPIPE. */
int put_out(const void *bytes, size_t len_bytes);
/* Like put_out(), for LINES formatted by terminal_add(). */
int put_lines(const char *lines, unsigned indent, const struct terminal_mark *marks,
	      size_t nr_marks);

/* -- reports ----------------------------------------------------------------------------------- */

/* The output of `detach --json` and `recover --json` (docs/schema/detach.json). */

/* Prints an object with the domain SPEC and the lines of TEXT, which may be NULL. Returns like
 * put_out. */
int put_report(const char *spec, const char *text, size_t len_bytes);
