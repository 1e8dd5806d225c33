/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/verb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/prefix.h"
#include "cli/client.h"
#include "export/json_string.h"
#include "tree/settings/tracer_names.h"

#define LONGS_MAX 16
#define OPERAND	  1 /* of getopt_long() */

int usage_error(const struct cli *cli, const char *fmt, ...)
{
	const char *verb = cli->verb ? cli->verb->name : "";
	HV_AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = hv_vformat(fmt, args);
	va_end(args);
	fprintf(stderr, "hvtrace: %s%s%s (see hvtrace %s%s--help)\n", verb, *verb ? ": " : "", text,
		verb, *verb ? " " : "");
	return EXIT_USAGE;
}

int usage_tracer(const struct cli *cli, const char *name)
{
	enum hv_tracer tracer;
	struct hv_err *err = hv_tracer_find(name, &tracer);

	if (!err)
		return EXIT_OK;
	usage_error(cli, "-p: %s", err->message);
	hv_err_free(err);
	return EXIT_USAGE;
}

/* Explains why standard output cannot be written, unless CODE is 0 or EPIPE. Returns CODE. */
static int cannot_put(int code)
{
	if (code && code != EPIPE)
		fprintf(stderr, "hvtrace: standard output: %s\n", strerror(code));
	return code;
}

int put_lines(const char *lines, unsigned indent, const struct terminal_mark *marks,
	      size_t nr_marks)
{
	const struct terminal t = terminal_of(STDOUT_FILENO);
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_text_add(&out, "");
	terminal_add(&out, &t, lines, indent, marks, nr_marks);
	fflush(stdout);
	return cannot_put(terminal_put_own(STDOUT_FILENO, out.data));
}

int fail(struct hv_err *err)
{
	fflush(stdout);
	if (terminal_of(STDERR_FILENO).has_color)
		terminal_put_own(STDERR_FILENO, "\033[31mhvtrace:\033[m");
	else
		fprintf(stderr, "hvtrace:");
	fprintf(stderr, " %s\n", err->message);
	hv_err_free(err);
	return EXIT_FAILED;
}

int fail_if(struct hv_err *err)
{
	return err ? fail(err) : EXIT_OK;
}

int fail_file(const char *file, struct hv_err *err)
{
	/* If the session has ended, the error is not about the file. */
	return fail(err->code == ECONNRESET ? err : client_error(file, err));
}

void note(const char *line)
{
	fflush(stdout);
	fprintf(stderr, "hvtrace: %s\n", line);
}

static const char *shown(struct cli *cli, int argc, char **argv, const struct option *longs,
			 bool *ret_json, const char **ret_btf, int *ret_exit)
{
	int option;

	*ret_json = false;
	while ((option = verb_option(cli, argc, argv, "j", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return NULL;
		if (option == 'b')
			*ret_btf = optarg;
		else
			*ret_json = true;
	}
	if (!verb_operands(cli, argc, argv, 1, 1, ret_exit))
		return NULL;
	return argv[optind];
}

const char *verb_shown(struct cli *cli, int argc, char **argv, bool *ret_json, int *ret_exit)
{
	static const struct option longs[] = {{"json", no_argument, NULL, 'j'}, {0}};
	const char *none = NULL;

	return shown(cli, argc, argv, longs, ret_json, &none, ret_exit);
}

const char *verb_shown_kernel(struct cli *cli, int argc, char **argv, bool *ret_json,
			      const char **ret_btf, int *ret_exit)
{
	static const struct option longs[] = {
		{"btf", required_argument, NULL, 'b'}, {"json", no_argument, NULL, 'j'}, {0}};

	*ret_btf = NULL;
	return shown(cli, argc, argv, longs, ret_json, ret_btf, ret_exit);
}

bool have_root(const struct cli *cli)
{
	if (!cli->needs_root || geteuid() == 0)
		return true;
	fprintf(stderr, "hvtrace: %s: needs root: use sudo\n", cli->verb->name);
	return false;
}

int put_out(const void *bytes, size_t len_bytes)
{
	return cannot_put(terminal_put(STDOUT_FILENO, bytes, len_bytes));
}

static void print_help(const struct verb *verb)
{
	printf("usage: hvtrace [-c URI] %s%s%s\n\n%s.\n%s%s\n"
	       "  -c, --connect=URI      libvirt to ask (default: libvirt's own, qemu:///system)\n"
	       "  -h, --help             this text\n",
	       verb->name, *verb->args ? " " : "", verb->args, verb->summary,
	       *verb->help ? "\n" : "", verb->help);
}

/* WORD is "--NAME" or "--NAME=VALUE". */
static int unknown_long(const struct cli *cli, const char *word, const struct option *longs)
{
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)strcspn(word, "="), word);
	struct hv_nearest nearest = hv_nearest_to(name + 2);

	for (; longs->name; longs++)
		hv_nearest_try(&nearest, longs->name);
	if (nearest.found)
		return usage_error(cli, "unknown option '%s'; did you mean --%s?", name,
				   nearest.found);
	return usage_error(cli, "unknown option '%s'", name);
}

/* getopt's own messages have another style. */
static int bad_option(const struct cli *cli, char **argv, const struct option *longs, int result,
		      int before)
{
	/* getopt_long sets optopt to the letter of a short option, to the value of a long option
	 * whose argument is missing or not allowed, and to 0 for an unknown long option. */
	const char *word = argv[optind > before ? optind - 1 : optind];
	bool is_long = hv_starts_with(word, "--");

	if (result == ':' && is_long)
		return usage_error(cli, "option '%s' needs a value", word);
	if (result == ':')
		return usage_error(cli, "option '-%c' needs a value", optopt);
	if (is_long && optopt)
		return usage_error(cli, "option '%.*s' takes no value", (int)strcspn(word, "="),
				   word);
	if (is_long)
		return unknown_long(cli, word, longs);
	return usage_error(cli, "unknown option '-%c'", optopt);
}

static int empty_value(const struct cli *cli, const struct option *longs, int option)
{
	for (; longs->name; longs++)
		if (longs->val == option)
			return usage_error(cli, "the value of '--%s' is empty", longs->name);
	return usage_error(cli, "the value of '-%c' is empty", option);
}

static size_t all_longs(const struct option *longs, struct option *ret)
{
	static const struct option common[] = {
		{"help", no_argument, NULL, 'h'},
		{"connect", required_argument, NULL, 'c'},
	};
	size_t nr = HV_ARRAY_LEN(common);

	memcpy(ret, common, sizeof(common));
	while (longs && longs->name && nr < LONGS_MAX - 1)
		ret[nr++] = *longs++;
	ret[nr] = (struct option){0};
	return nr;
}

/* Moves the operand that getopt_long() has just passed to the start of ARGV. True: options end
 * after it. */
static bool keep_operand(struct cli *cli, char **argv)
{
	argv[1 + cli->nr_operands++] = optarg;
	return cli->nr_operands == cli->verb->options_end_after;
}

/* Moves the collected operands to optind, before those after "--". */
static void put_operands(const struct cli *cli, char **argv)
{
	optind -= cli->nr_operands;
	memmove(argv + optind, argv + 1, (size_t)cli->nr_operands * sizeof(*argv));
}

/* Like getopt_long(), but handles -c and operands itself. *RET_BEFORE is optind before the call. */
static int next_option(struct cli *cli, int argc, char **argv, const char *shorts,
		       const struct option *longs, int *ret_before)
{
	HV_AUTO_TEXT struct hv_text all_shorts = {0};

	/* '-': getopt_long() returns operands in order, as values of an option OPERAND. */
	hv_text_printf(&all_shorts, "-:hc:%s", shorts);
	opterr = 0;
	for (;;) {
		int c;

		*ret_before = optind;
		c = getopt_long(argc, argv, all_shorts.data, longs, NULL);
		if (c == 'c')
			cli->libvirt_uri = optarg;
		else if (c != OPERAND)
			return c;
		else if (keep_operand(cli, argv))
			return -1;
	}
}

int verb_option(struct cli *cli, int argc, char **argv, const char *shorts,
		const struct option *longs, int *ret_exit)
{
	struct option options[LONGS_MAX];
	int before;
	int c;

	all_longs(longs, options);
	c = next_option(cli, argc, argv, shorts, options, &before);
	if (c == -1) {
		put_operands(cli, argv);
		return -1;
	}
	if (c == 'h') {
		print_help(cli->verb);
		*ret_exit = EXIT_OK;
		return VERB_OPTION_STOP;
	}
	if (c == '?' || c == ':') {
		*ret_exit = bad_option(cli, argv, options, c, before);
		return VERB_OPTION_STOP;
	}
	if (optarg && !*optarg && !(c & VERB_MAY_BE_EMPTY)) {
		*ret_exit = empty_value(cli, options, c);
		return VERB_OPTION_STOP;
	}
	return c;
}

/* Returns the part of ARGS, as in struct verb, after the options. */
static const char *operands_of(const char *args)
{
	while (*args == '-' || hv_starts_with(args, "[-")) {
		const char *end = *args == '[' ? strchr(args, ']') + 1 : args;

		/* the value in "-p TRACER" is a separate word */
		if (*args == '-' && args[1] != '-')
			end = strchr(args, ' ') + 1;
		end += strcspn(end, " ");
		args = end + strspn(end, " ");
	}
	return *args ? args : "none";
}

bool verb_operands(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit)
{
	const char *wanted = operands_of(cli->verb->args);
	int nr = argc - optind;

	if (nr < min || nr > max) {
		*ret_exit = usage_error(cli, "%s operands: wanted: %s",
					nr < min ? "missing" : "too many", wanted);
		return false;
	}
	for (int i = 0; i < nr && i < 2; i++) {
		if (*argv[optind + i])
			continue;
		*ret_exit = usage_error(cli, "empty operand: wanted: %s", wanted);
		return false;
	}
	return true;
}

bool verb_no_options(struct cli *cli, int argc, char **argv, int min, int max, int *ret_exit)
{
	if (verb_option(cli, argc, argv, "", NULL, ret_exit) == VERB_OPTION_STOP)
		return false;
	return verb_operands(cli, argc, argv, min, max, ret_exit);
}

/* -- reports ----------------------------------------------------------------------------------- */

#define VERSION 1

int put_report(const char *spec, const char *text, size_t len_bytes)
{
	const char *end = text ? text + len_bytes : NULL, *between = "";
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_text_printf(&out, "{\"version\":%d,\"domain\":", VERSION);
	hv_json_add_string(&out, spec, strlen(spec));
	hv_text_add(&out, ",\"report\":[");
	for (const char *line = text; line < end; between = ",") {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		hv_text_add(&out, between);
		hv_json_add_string(&out, line, len);
		line += len + 1;
	}
	hv_text_add(&out, "]}\n");
	return put_out(out.data, out.len_bytes);
}
