/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace top: shows the activity of several domains repeatedly. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/confine.h"
#include "cli/metrics/host_counts.h"
#include "cli/parse.h"
#include "cli/stop_signals.h"
#include "cli/verbs/top/screen.h"
#include "cli/verbs/top/text.h"
#include "cli/verbs/verb.h"

#define DOMAINS_MAX   64
#define ROWS_DEFAULT  20
#define ROWS_MAX      100000
#define PROGRAMS_ROWS 5 /* of each domain */
#define INTERVAL_NS   HV_NS_PER_S
#define INTERVAL_MIN  (HV_NS_PER_S / 10)
#define TURN_MS	      100 /* interval of checks for signals */

struct top {
	struct top_view view;
	struct hv_text functions; /* globs separated by blanks */
	uint64_t interval_ns;
	uint64_t iterations; /* 0: until the user ends it */
	unsigned json, has_rows;
	struct top_screen *screen; /* NULL: print lines */
	bool quits;
	bool has_shown; /* false before the first complete interval */
	int out_error;	/* 0: standard output works */
};

static void top_deinit(struct top *t)
{
	top_screen_close(t->screen);
	for (size_t i = 0; i < t->view.nr_domains; i++)
		top_domain_deinit(&t->view.domains[i]);
	free(t->view.domains);
	top_table_deinit(&t->view.table);
	hv_text_deinit(&t->functions);
}

/* Display. */

static void sort(struct top *t)
{
	top_table_sort(&t->view.table, t->view.key, t->view.reversed);
}

static void show_screen(struct top *t)
{
	HV_AUTO_TEXT struct hv_text lines = {0};
	HV_AUTO_FREE char *title = hv_format(
		"hvtrace top, every %.1f s, by %s%s; h hits, t time, a average, n name, d domain,"
		" r reverse, q quit",
		(double)t->interval_ns / HV_NS_PER_S, top_key_name(t->view.key),
		t->view.reversed ? " reversed" : "");

	if (!t->has_rows)
		t->view.rows_max = top_screen_lines(t->screen);
	top_text_lines(&t->view, &lines);
	top_screen_show(t->screen, title, &lines);
}

static uint64_t wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / HV_NS_PER_MS;
}

static void show_lines(struct top *t)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	if (t->json) {
		top_text_json(&t->view, wall_ms(), &out);
	} else {
		top_text_lines(&t->view, &out);
		hv_text_add(&out, "\n");
	}
	t->out_error = put_out(out.data, out.len_bytes);
}

static void show(struct top *t)
{
	t->has_shown = true;
	if (t->screen)
		show_screen(t);
	else
		show_lines(t);
}

/* Looks. */

static void look(struct top *t)
{
	top_table_clear(&t->view.table);
	for (size_t i = 0; i < t->view.nr_domains; i++) {
		struct top_domain *d = &t->view.domains[i];

		top_domain_look(d);
		if (!d->ended && d->before.at_ns)
			top_table_add(&t->view.table, i, &d->before.counts, &d->now.counts);
	}
	sort(t);
}

static bool all_ended(const struct top *t)
{
	for (size_t i = 0; i < t->view.nr_domains; i++)
		if (!t->view.domains[i].ended)
			return false;
	return true;
}

static bool must_end(const struct top *t)
{
	return caught_signal || t->quits || t->out_error;
}

static void take_key(struct top *t, int key)
{
	static const struct {
		int key;
		enum top_key by;
	} keys[] = {{'h', TOP_BY_HITS},
		    {'t', TOP_BY_TIME},
		    {'a', TOP_BY_AVERAGE},
		    {'n', TOP_BY_NAME},
		    {'d', TOP_BY_DOMAIN}};

	for (size_t i = 0; i < HV_ARRAY_LEN(keys); i++)
		if (key == keys[i].key) {
			t->view.key = keys[i].by;
			t->view.reversed = 0;
		}
	if (key == 'r')
		t->view.reversed = !t->view.reversed;
	t->quits = key == 'q' || key == TOP_KEY_GONE;
	sort(t);
}

/* Waits until UNTIL_NS, and handles keys. */
static void wait_until(struct top *t, uint64_t until_ns)
{
	while (!must_end(t) && hv_now_ns() < until_ns) {
		int left_ms = hv_left_ms(until_ns);
		int wait_ms = left_ms < TURN_MS ? left_ms : TURN_MS;
		int key = TOP_KEY_NONE;

		if (t->screen)
			key = top_screen_key(t->screen, wait_ms);
		else
			poll(NULL, 0, wait_ms);
		for (size_t i = 0; i < t->view.nr_domains; i++)
			top_domain_turn(&t->view.domains[i]);
		if (key == TOP_KEY_NONE)
			continue;
		take_key(t, key);
		if (!t->quits && t->has_shown)
			show(t);
	}
}

/* Shows the rates after each interval. */
static void watch(struct top *t)
{
	uint64_t next_ns = hv_now_ns();

	look(t);
	for (uint64_t nr = 0;
	     !must_end(t) && !all_ended(t) && (!t->iterations || nr < t->iterations); nr++) {
		uint64_t now_ns = hv_now_ns();

		next_ns += t->interval_ns;
		if (next_ns < now_ns)
			next_ns = now_ns + t->interval_ns;
		wait_until(t, next_ns);
		if (must_end(t))
			return;
		look(t);
		show(t);
	}
}

static struct hv_err *open_all(const struct cli *cli, struct top *t, char **specs)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && !caught_signal && i < t->view.nr_domains; i++)
		err = top_domain_open(&t->view.domains[i], cli, specs[i]);
	return err;
}

static struct hv_err *begin_all(struct top *t)
{
	const char *functions = t->functions.len_bytes ? t->functions.data : NULL;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && !caught_signal && i < t->view.nr_domains; i++)
		err = top_domain_begin(&t->view.domains[i], functions);
	for (size_t i = 0; !err && !caught_signal && t->view.has_waits && i < t->view.nr_domains;
	     i++)
		err = top_domain_begin_waits(&t->view.domains[i]);
	for (size_t i = 0; !err && !caught_signal && t->view.has_programs && i < t->view.nr_domains;
	     i++)
		err = top_domain_begin_programs(&t->view.domains[i]);
	return err;
}

static struct hv_err *close_all(struct top *t)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; i < t->view.nr_domains; i++)
		hv_err_keep_first(&err, top_domain_close(&t->view.domains[i]));
	return err;
}

/* Returns an error if all domains have ended, because the screen no longer shows that. NULL: one of
 * them has not ended. */
static struct hv_err *why_all_ended(const struct top *t)
{
	const struct top_domain *first = &t->view.domains[0];

	if (!all_ended(t))
		return NULL;
	if (t->view.nr_domains == 1)
		return hv_err_new(ECONNRESET, "domain '%s': %s", first->spec, first->ended);
	return hv_err_new(ECONNRESET, "all %zu domains have ended", t->view.nr_domains);
}

/* Call it before the services' answers are parsed. */
static struct hv_err *leave_rights(void)
{
	struct hv_confinement c = {
		.may = HV_MAY_START | HV_MAY_READ,
		/* Times of the VMMs' threads, exits, names of programs' functions. */
		.readable = {"/proc", KVM_DEBUGFS, "/usr/lib/debug"},
		.dir_fd = -1,
	};

	return hv_confine(&c);
}

static struct hv_err *top(const struct cli *cli, struct top *t, char **specs)
{
	struct hv_err *err = open_all(cli, t, specs);

	/* reads the terminal's capabilities */
	if (!err && !caught_signal && !t->json)
		top_screen_open(&t->screen);
	if (!err)
		err = leave_rights();
	if (!err)
		err = begin_all(t);
	if (!err && !caught_signal)
		watch(t);
	top_screen_close(hv_take(t->screen));
	if (!err && !caught_signal)
		err = why_all_ended(t);
	hv_err_keep_first(&err, close_all(t));
	return err;
}

/* Options. */

/* GLOBS are separated by commas or blanks. */
static void add_functions(struct hv_text *t, const char *globs)
{
	HV_AUTO_FREE char *list = hv_strdup(globs);
	char *rest = NULL;

	for (char *glob = strtok_r(list, ", \t\n", &rest); glob;
	     glob = strtok_r(NULL, ", \t\n", &rest))
		hv_text_printf(t, "%s%s", t->len_bytes ? " " : "", glob);
}

static bool parse_count(const char *text, uint64_t max, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret >= 1 && *ret <= max;
}

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct top *t, int option, int *ret_exit)
{
	uint64_t rows = 0;

	*ret_exit = EXIT_OK;
	if (option == 'j')
		t->json = 1;
	else if (option == 'l')
		add_functions(&t->functions, optarg);
	else if (option == 'r')
		t->view.reversed = 1;
	else if (option == 'q')
		t->view.has_waits = 1;
	else if (option == 'p')
		t->view.has_programs = 1;
	else if (option == 'd' &&
		 (!duration_parse(optarg, &t->interval_ns) || t->interval_ns < INTERVAL_MIN))
		*ret_exit = usage_error(cli, "-d: '%s' is not " DURATION_WANTED ", at least 100ms",
					optarg);
	else if (option == 'n' && !parse_count(optarg, UINT64_MAX, &t->iterations))
		*ret_exit =
			usage_error(cli, "-n: '%s' is not a number of tables, at least 1", optarg);
	else if (option == 's' && !top_key_parse(optarg, &t->view.key))
		*ret_exit = usage_error(
			cli, "--sort: '%s' is not one of time, hits, average, name, domain",
			optarg);
	else if (option == 'R' && !parse_count(optarg, ROWS_MAX, &rows))
		*ret_exit = usage_error(cli, "--rows: '%s' is not a number from 1 to %d", optarg,
					ROWS_MAX);
	if (rows) {
		t->has_rows = 1;
		t->view.rows_max = (unsigned)rows;
	}
	return *ret_exit == EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct top *t, int *ret_exit)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"functions", required_argument, NULL, 'l'},
		{"sort", required_argument, NULL, 's'},
		{"reverse", no_argument, NULL, 'r'},
		{"delay", required_argument, NULL, 'd'},
		{"iterations", required_argument, NULL, 'n'},
		{"rows", required_argument, NULL, 'R'},
		{"runqueue", no_argument, NULL, 'q'},
		{"programs", no_argument, NULL, 'p'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, "jl:d:n:", longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, t, option, ret_exit))
			return false;
	return verb_operands(cli, argc, argv, 1, DOMAINS_MAX, ret_exit);
}

static void make_domains(struct top *t, size_t nr)
{
	t->view.domains = hv_alloc(nr * sizeof(*t->view.domains));
	for (size_t i = 0; i < nr; i++)
		t->view.domains[i] = (struct top_domain)TOP_DOMAIN_NONE;
	t->view.nr_domains = nr;
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(top_deinit) struct top t = {
		.interval_ns = INTERVAL_NS,
		.view = {.rows_max = ROWS_DEFAULT, .programs_max = PROGRAMS_ROWS},
	};
	int exit_code;

	if (!parse(cli, argc, argv, &t, &exit_code))
		return exit_code;
	make_domains(&t, (size_t)(argc - optind));
	stop_signals_catch();
	stop_signals_catch_also(SIGQUIT);
	exit_code = fail_if(top(cli, &t, argv + optind));
	if (exit_code == EXIT_OK && caught_signal)
		stop_signals_die(caught_signal);
	if (exit_code == EXIT_OK && t.out_error == EPIPE)
		stop_signals_die(SIGPIPE);
	return t.out_error ? EXIT_FAILED : exit_code;
}

static const char help[] =
	"Shows for each interval and domain: events recorded and lost, the cost of tracing\n"
	"(estimated, in percent of a vCPU's time), how long the host ran the vCPUs and let them\n"
	"wait, how long they were held, exits, and how often functions were called and for how\n"
	"long, including their callees. On a terminal it takes keys: h, t, a, n, d sort by hits,\n"
	"time, average, name, domain; r reverses the order, and q quits. top profiles functions "
	"in\n"
	"a separate instance, so settings of other users stay as they are; a domain without a\n"
	"session is attached for this time.\n\n"
	"  -l, --functions=GLOB   count these functions; a list with commas, or more than once.\n"
	"                         Default: the functions that the session profiles, or has in\n"
	"                         set_ftrace_filter, or else a few useful and cheap ones\n"
	"  --runqueue             also how long tasks wait for a vCPU; this records scheduler\n"
	"                         events while tracing takes at most 2 % of a vCPU's time\n"
	"  --programs             also the functions of programs with the most samples of the\n"
	"                         timer tick, while tracing takes at most 2 %\n"
	"  -d, --delay=TIME       the interval: 2, 1.5s, 500ms, 1m (default: 1s)\n"
	"  -n, --iterations=N     end after N tables\n"
	"  --sort=KEY             time (default), hits, average, name or domain\n"
	"  --reverse              reverse the order\n"
	"  --rows=N               at most N functions (default: 20, on a terminal as many as fit)\n"
	"  -j, --json             for programs: a line of JSON after each interval\n";

const struct verb verb_top = {
	.name = "top",
	.args = "[-l GLOB[,GLOB]...]... [-d TIME] [-n N] [--sort=KEY] [--reverse] [--rows=N] "
		"[--runqueue] [--programs] "
		"[--json] "
		"DOMAIN...",
	.summary = "Watch domains: events, costs, functions by time or hits",
	.help = help,
	.run = run,
};
