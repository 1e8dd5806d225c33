/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace collect: receives the frames of many senders, and writes a file for each stream. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/confine.h"
#include "cli/errand.h"
#include "cli/parse.h"
#include "cli/stop_signals.h"
#include "cli/verbs/verb.h"
#include "stream/xdp.h"

#define TURN_MS	     50
#define MAX_GUESTS   256
#define GUESTS_MOST  65536
#define MEMORY_MAX   (UINT64_C(4) << 30)
#define IDLE_NS	     (60 * HV_NS_PER_S)
#define DEVS_MAX     16
#define OWN_FILES    512 /* sockets, connections, and temporarily open files */
#define FILES_OF_DEV 256
#define FILES_EACH   4096 /* limit per stream, which has at most that many vCPUs */
#define INS_MAX	     (2 + DEVS_MAX)

struct collect {
	const char *where;
	const char *key_path;
	const char *dir;
	const char *devs[DEVS_MAX];
	unsigned nr_devs;
	struct hv_stream_collector collector;
	struct hv_stream_in *ins[INS_MAX];
	unsigned nr_ins;
	int dir_fd;
	struct errand errand; /* creates the files */
};

static void collect_deinit(struct collect *c)
{
	for (unsigned i = 0; i < c->nr_ins; i++)
		hv_stream_in_free(c->ins[i]);
	hv_stream_collector_deinit(&c->collector);
	hv_close_at(&c->dir_fd);
	errand_end(&c->errand);
}

static int choose_format(const struct cli *cli, struct collect *c, const char *name)
{
	const struct hv_export_format *format = hv_export_find(name);

	if (!format || format->input != HV_EXPORT_PAGES || !format->suffix)
		return usage_error(
			cli, "--format: '%s' is not one of trace.dat, perfetto, ctf, jsonl", name);
	c->collector.store.format = format;
	return EXIT_OK;
}

static int add_allowed(const struct cli *cli, struct hv_stream_collector *c, const char *text)
{
	if (c->nr_allow == HV_STREAM_ALLOW_MAX)
		return usage_error(cli, "--allow: at most %d networks", HV_STREAM_ALLOW_MAX);
	if (!hv_stream_network_parse(text, &c->allow[c->nr_allow]))
		return usage_error(cli, "--allow: '%s' is not ADDRESS or ADDRESS/BITS", text);
	c->nr_allow++;
	return EXIT_OK;
}

static int take_number(const struct cli *cli, const char *text, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > GUESTS_MOST)
		return usage_error(cli, "--max-guests: '%s' is not a number from 1 to %d", text,
				   GUESTS_MOST);
	*ret = (unsigned)value;
	return EXIT_OK;
}

static int take_size(const struct cli *cli, const char *option, uint64_t *ret)
{
	if (size_parse(optarg, ret) && *ret)
		return EXIT_OK;
	return usage_error(cli, "%s: '%s' is not a size: write 512K, 64M or 2G", option, optarg);
}

static int take_option(const struct cli *cli, struct collect *c, int option)
{
	struct hv_stream_collector *collector = &c->collector;

	if (option == 'l')
		c->where = optarg;
	else if (option == 'k')
		c->key_path = optarg;
	else if (option == 'C')
		collector->store.compression = HV_COMPRESSION_ZSTD;
	else if (option == 'F')
		return choose_format(cli, c, optarg);
	else if (option == 'd' && c->nr_devs == DEVS_MAX)
		return usage_error(cli, "--dev: at most %d devices", DEVS_MAX);
	else if (option == 'd')
		c->devs[c->nr_devs++] = optarg;
	else if (option == 'a')
		return add_allowed(cli, collector, optarg);
	else if (option == 'g')
		return take_number(cli, optarg, &collector->max_guests);
	else if (option == 's')
		return take_size(cli, "--max-size", &collector->store.max_bytes);
	else if (option == 't')
		return take_size(cli, "--max-total", &collector->budget.files_max);
	else if (option == 'm')
		return take_size(cli, "--max-memory", &collector->budget.memory_max);
	else if (option == 'r')
		return take_size(cli, "--max-rate", &collector->store.max_rate);
	else if (option == 'i' && !duration_parse(optarg, &collector->idle_ns))
		return usage_error(cli, "--idle: '%s' is not " DURATION_WANTED, optarg);
	return EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct collect *c, int *ret_exit)
{
	static const struct option longs[] = {
		{"listen", required_argument, NULL, 'l'},
		{"key", required_argument, NULL, 'k'},
		{"dev", required_argument, NULL, 'd'},
		{"allow", required_argument, NULL, 'a'},
		{"format", required_argument, NULL, 'F'},
		{"compress", no_argument, NULL, 'C'},
		{"max-guests", required_argument, NULL, 'g'},
		{"max-size", required_argument, NULL, 's'},
		{"max-total", required_argument, NULL, 't'},
		{"max-memory", required_argument, NULL, 'm'},
		{"max-rate", required_argument, NULL, 'r'},
		{"idle", required_argument, NULL, 'i'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, "", longs, ret_exit)) != -1) {
		if (option == VERB_OPTION_STOP)
			return false;
		*ret_exit = take_option(cli, c, option);
		if (*ret_exit != EXIT_OK)
			return false;
	}
	if (c->collector.store.format->is_dir && c->collector.store.compression) {
		*ret_exit = usage_error(cli,
					"--compress: %s is a directory, which cannot be compressed",
					c->collector.store.format->name);
		return false;
	}
	if (!verb_operands(cli, argc, argv, 1, 1, ret_exit))
		return false;
	c->dir = argv[optind];
	return true;
}

static struct hv_err *open_dir(struct collect *c)
{
	c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dir_fd < 0)
		return hv_err_new(errno, "%s: %s", c->dir, strerror(errno));
	if (faccessat(c->dir_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return hv_err_new(errno, "%s: %s", c->dir, strerror(errno));
	c->collector.store.dir_path = c->dir;
	return NULL;
}

/* Opens AF_XDP sockets for the devices. Frames that do not reach these sockets arrive on the UDP
 * sockets. */
static void open_devs(struct collect *c, const struct hv_stream_at *at)
{
	for (unsigned i = 0; i < c->nr_devs; i++) {
		HV_AUTO_FREE char *line = NULL;
		HV_AUTO_ERR struct hv_err *err =
			hv_stream_in_xdp(c->devs[i], at, &c->ins[c->nr_ins]);

		if (!err) {
			c->nr_ins++;
			continue;
		}
		line = hv_format("--dev=%s: no AF_XDP, so frames come by a socket: %s", c->devs[i],
				 err->message);
		note(line);
	}
}

static struct hv_err *open_ins(struct collect *c)
{
	struct hv_stream_at at = {.where = c->where};
	struct hostport parsed;
	struct hv_err *err = hostport_parse(c->where, HV_STREAM_PORT, HOSTPORT_NUMERIC, &parsed);

	if (err)
		return hv_err_in(err, "--listen");
	at.addr = parsed.addr;
	at.addr_len = parsed.len;
	err = hv_stream_in_udp(&at, &c->ins[c->nr_ins]);
	if (err)
		return err;
	c->nr_ins++;
	err = hv_stream_in_tcp(&at, &c->ins[c->nr_ins]);
	if (err)
		return err;
	c->nr_ins++;
	open_devs(c, &at);
	return NULL;
}

/* Raises the limit of open files as far as permitted, and gives each stream a share. */
static struct hv_err *share_files(struct hv_stream_collector *c, unsigned nr_devs)
{
	rlim_t own = OWN_FILES + nr_devs * FILES_OF_DEV, nr;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return hv_err_new(errno, "cannot read or raise the limit on open files: %s",
				  strerror(errno));
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return hv_err_new(errno, "cannot read or raise the limit on open files: %s",
				  strerror(errno));
	nr = limit.rlim_cur > own ? (limit.rlim_cur - own) / c->max_guests : 0;
	c->store.max_files = nr > FILES_EACH + 1 ? FILES_EACH : nr > 1 ? (unsigned)nr - 1 : 0;
	return NULL;
}

/* Frames are untrusted. The process that creates files has no capabilities, because DIR is the
 * user's. */
static struct hv_err *leave_rights(struct collect *c)
{
	struct hv_confinement confinement = HV_CONFINEMENT_NONE;
	struct errand_config config = ERRAND_CONFIG_NONE;
	struct hv_err *err;

	config.dir_fd = c->dir_fd;
	err = errand_begin(&c->errand, &config);
	if (err)
		return err;
	c->collector.store.maker = c->errand.maker;
	confinement.may = HV_MAY_LISTEN;
	return hv_confine(&confinement);
}

static void take_until_signal(struct collect *c, int signals)
{
	struct pollfd fds[INS_MAX + 1] = {{signals, POLLIN, 0}};

	for (unsigned i = 0; i < c->nr_ins; i++)
		fds[i + 1] = (struct pollfd){c->ins[i]->fd, POLLIN, 0};
	while (!(fds[0].revents & POLLIN)) {
		uint64_t now;

		if (poll(fds, c->nr_ins + 1, TURN_MS) < 0)
			continue;
		now = hv_now_ns();
		for (unsigned i = 0; i < c->nr_ins; i++)
			hv_stream_in_take(c->ins[i], &c->collector, now);
		hv_stream_collector_turn(&c->collector, now);
	}
}

static struct hv_err *collect(struct collect *c)
{
	HV_AUTO_FD int signals = stop_signals_fd();
	struct hv_err *err;

	if (signals < 0)
		return hv_err_new(errno, "cannot wait for signals: signalfd: %s", strerror(errno));
	signal(SIGXFSZ, SIG_IGN); /* a write returns EFBIG */
	err = hv_stream_key_read(c->key_path, &c->collector.key);
	if (!err)
		err = open_dir(c);
	if (!err)
		err = open_ins(c);
	if (!err)
		err = share_files(&c->collector, c->nr_devs);
	if (!err)
		err = leave_rights(c);
	if (err)
		return err;
	fprintf(stderr, "hvtrace: receiving streams at %s, writing to %s\n", c->where, c->dir);
	take_until_signal(c, signals);
	hv_stream_collector_end(&c->collector);
	return NULL;
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(collect_deinit) struct collect c = {
		.where = "[::]:" HV_STREAM_PORT,
		.key_path = HV_STREAM_KEY_PATH,
		.dir_fd = -1,
		.errand = ERRAND_NONE,
		.collector = {.max_guests = MAX_GUESTS,
			      .idle_ns = IDLE_NS,
			      .budget.memory_max = MEMORY_MAX},
	};
	int exit_code;

	c.collector.store.format = hv_export_find("trace.dat");
	c.collector.store.note = note;
	if (!parse(cli, argc, argv, &c, &exit_code))
		return exit_code;
	return fail_if(collect(&c));
}

static const char help[] =
	"Receives the events that `hvtrace stream` sends over UDP or TCP, until SIGINT or "
	"SIGTERM.\n"
	"Writes a file for each stream, DIR/DOMAIN@HOST/TIME-NUMBER.dat, and next to it a JSON "
	"file\n"
	"with the numbers of received and lost events. The trace file notes lost events, too.\n"
	"Frames from senders without the key are refused.\n\n"
	"  --listen=ADDRESS[:PORT] where to receive frames (default: [::]:9912, all addresses)\n"
	"  --key=FILE              the key shared with the senders (default:\n"
	"                          /etc/hvtrace/stream.key); any 16 to 4096 bytes\n"
	"  --dev=DEVICE            receive UDP frames on this network device with AF_XDP sockets,\n"
	"                          bypassing the kernel's network stack, where possible; may be\n"
	"                          given more than once\n"
	"  --allow=ADDRESS[/BITS]  accept frames only from here; may be given more than once\n"
	"  --format=FORMAT         trace.dat (the default), perfetto, ctf or jsonl\n"
	"  --compress              compress files with zstd\n"
	"  --max-guests=N          streams at a time (default: 256)\n"
	"  --max-size=SIZE         limit on the events in a file: 512M, 2G\n"
	"  --max-total=SIZE        limit on the disk space of all files together\n"
	"  --max-memory=SIZE       limit on the memory of all streams together (default: 4G); a\n"
	"                          stream may use an eighth of it\n"
	"  --max-rate=SIZE         limit on the bytes per second of a stream\n"
	"  --idle=DURATION         end a stream after this time without frames (default: 1m)\n";

const struct verb verb_collect = {
	.name = "collect",
	.args = "[--listen=ADDRESS[:PORT]] [--dev=DEVICE]... [--key=FILE] "
		"[--allow=ADDRESS[/BITS]]... "
		"[--format=FORMAT] [--compress] [--max-guests=N] [--max-size=SIZE] "
		"[--max-total=SIZE] [--max-memory=SIZE] [--max-rate=SIZE] [--idle=DURATION] DIR",
	.summary = "Receive the events of many senders, and write them to files",
	.help = help,
	.run = run,
};
