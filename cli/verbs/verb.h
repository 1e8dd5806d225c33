/* What every verb of the command line shares: its place in the table, its options, its errors.
 * Exit codes: 0 ok, 1 failed, 2 usage. */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/guard.h"
#include "base/text.h"
#include "cli/audit.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct verb;

struct cli {
	const struct verb *verb; /* the one that runs */
	const char *libvirt_uri; /* -c; NULL: libvirt's default */
	const char *run_dir;
	enum audit_sink sink;
	bool needs_root; /* false: a test on fakes */
	int nr_operands; /* that verb_option() has passed; those behind "--" are not among them */
};

/* All of it: options, verb, exit code. */
int program_run(const struct cli *defaults, int argc, char **argv);

struct verb {
	const char *name;
	const char *args;    /* after the name, for usage */
	const char *summary; /* one phrase */
	const char *help;    /* paragraphs and options */
	/* Options end behind so many operands, since what follows is not hvtrace's. 0: they may
	 * stand anywhere. */
	int options_end_after;
	int (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct verb verb_list;
extern const struct verb verb_check;
extern const struct verb verb_attach;
extern const struct verb verb_ls;
extern const struct verb verb_cat;
extern const struct verb verb_echo;
extern const struct verb verb_record;
extern const struct verb verb_run;
extern const struct verb verb_stat;
extern const struct verb verb_detach;
extern const struct verb verb_recover;
extern const struct verb verb_mount;
extern const struct verb verb_umount;
extern const struct verb verb_exec;
extern const struct verb verb_sh;

/* The next option of a verb, as getopt_long. SHORTS as for getopt, but without '+', '-', ':', 'h'
 * and 'c'; LONGS may be NULL. -1: there are no more; the operands are ARGV[optind] and those that
 * follow, wherever they stood. VERB_OPTION_STOP: return *RET_EXIT at once. Help was asked for, or
 * an option is unknown, or its value is missing or empty, as an unset variable of a script gives
 * it; options whose VAL has VERB_MAY_BE_EMPTY may have an empty one. */
#define VERB_OPTION_STOP  '?'
#define VERB_MAY_BE_EMPTY 0x1000
int verb_option(struct cli *cli, int argc, char **argv, const char *shorts,
		const struct option *longs, int *ret_exit);

/* True: MIN to MAX operands are left, and of the first two, which name things (DOMAIN, FILE, DIR),
 * none is empty. False: return *RET_EXIT. */
bool verb_operands(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit);
/* As verb_option, for a verb without options of its own, and then verb_operands. */
bool verb_no_options(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit);

/* For a verb that shows something of one DOMAIN, for people or (-j, --json) for programs: the
 * domain. NULL: return *RET_EXIT. */
const char *verb_shown(struct cli *cli, int argc, char **argv, bool *ret_json, int *ret_exit);
#define VERB_SHOWN_HELP "  -j, --json             for programs\n"

/* One line on stderr, "hvtrace: VERB: ... (see hvtrace VERB --help)"; EXIT_USAGE. */
int usage_error(const struct cli *cli, const char *fmt, ...) hv_printf(2, 3);
/* `-p NAME`: EXIT_OK, or EXIT_USAGE, having said which tracers there are. */
int usage_tracer(const struct cli *cli, const char *name);
/* One line on stderr, "hvtrace: MESSAGE"; takes ERR; EXIT_FAILED. */
int fail(struct hv_err *err);
/* As fail, but nothing when ERR is NULL; EXIT_OK then. */
int fail_if(struct hv_err *err);
/* fail with client_error. */
int fail_file(const char *file, struct hv_err *err);
/* "hvtrace: LINE" on stderr. */
void note(const char *line);
/* False, having said so, without root. */
bool have_root(const struct cli *cli);

/* Everything to stdout. Returns 0, or the errno that it failed with; that is told already, but for
 * EPIPE. */
int put_out(const void *bytes, size_t len_bytes);
