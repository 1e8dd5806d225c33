/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace stream: sends the events of a guest to a collector. Works like record with another
 * destination. */
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "cli/verbs/record/apart.h"
#include "cli/verbs/record/request.h"
#include "cli/verbs/verb.h"
#include "stream/sender.h"
#include "stream/xdp.h"

#define HOST_NAME_MAX_BYTES 256

/* In addition to record's options, which are letters. */
enum { OPT_TO = 0x100, OPT_TCP, OPT_KEY, OPT_DEV, OPT_MTU, OPT_COMPRESS };

struct stream {
	const char *where; /* as given */
	const char *key_path;
	const char *dev; /* NULL: sockets */
	unsigned mtu;
	bool is_tcp;
	struct hv_stream_target target;
	struct record_dial dial;
	struct record_request request;
};

static bool parse_mtu(const char *text, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < HV_STREAM_MTU_MIN ||
	    value > HV_STREAM_MTU_MAX)
		return false;
	*ret = (unsigned)value;
	return true;
}

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct stream *s, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option == OPT_TO)
		s->where = optarg;
	else if (option == OPT_TCP)
		s->is_tcp = true;
	else if (option == OPT_KEY)
		s->key_path = optarg;
	else if (option == OPT_DEV)
		s->dev = optarg;
	else if (option == OPT_COMPRESS)
		s->request.target.compression = HV_COMPRESSION_ZSTD;
	else if (option != OPT_MTU)
		return record_request_take_option(cli, &s->request, option, ret_exit);
	else if (!parse_mtu(optarg, &s->mtu))
		*ret_exit = usage_error(cli, "--mtu: '%s' is not a number from %u to %u", optarg,
					HV_STREAM_MTU_MIN, HV_STREAM_MTU_MAX);
	return *ret_exit == EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct stream *s, int *ret_exit)
{
	static const struct option longs[] = {
		RECORD_LONGS,
		{"to", required_argument, NULL, OPT_TO},
		{"tcp", no_argument, NULL, OPT_TCP},
		{"key", required_argument, NULL, OPT_KEY},
		{"dev", required_argument, NULL, OPT_DEV},
		{"mtu", required_argument, NULL, OPT_MTU},
		{"compress", no_argument, NULL, OPT_COMPRESS},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, RECORD_LETTERS, longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, s, option, ret_exit))
			return false;
	if (s->dev && s->is_tcp) {
		*ret_exit = usage_error(cli, "give either --dev or --tcp");
		return false;
	}
	if (cli->nr_operands && !s->where) {
		*ret_exit = usage_error(cli, "--to=HOST[:PORT] is needed");
		return false;
	}
	return record_request_take_operands(cli, argc, argv, &s->request, ret_exit);
}

/* False: unavailable, and the user was informed. */
static bool use_dev(const struct stream *s, const struct hv_stream_target *target,
		    struct hv_stream_out **ret)
{
	HV_AUTO_FREE char *line = NULL;
	HV_AUTO_ERR struct hv_err *err = hv_stream_out_xdp(s->dev, target, ret);

	if (!err)
		return true;
	line = hv_format("--dev=%s: no AF_XDP, so frames go by a socket: %s", s->dev, err->message);
	note(line);
	return false;
}

static struct hv_err *open_way(struct stream *s, const char *where, struct hv_stream_out **ret)
{
	struct hv_stream_target *target = &s->target;
	struct hostport at;
	struct hv_err *err = hostport_parse(s->where, HV_STREAM_PORT, HOSTPORT_NAME, &at);

	if (err)
		return hv_err_in(err, "--to");
	*target = (struct hv_stream_target){
		.where = where,
		.addr = at.addr,
		.addr_len = at.len,
		.mtu = s->mtu,
		.dial = record_dial,
		.dial_ctx = &s->dial,
	};
	s->dial.target = target;
	if (s->dev && use_dev(s, target, ret))
		return NULL;
	return s->is_tcp ? hv_stream_out_tcp(target, ret) : hv_stream_out_udp(target, ret);
}

static int send_events(struct cli *cli, struct stream *s)
{
	char host[HOST_NAME_MAX_BYTES] = "";
	struct hv_stream_to to = {
		.where = s->where, .guest = s->request.spec, .host = host, .note = note};
	struct record_target *target = &s->request.target;
	struct hv_err *err = hv_stream_key_read(s->key_path, &to.key);
	int exit_code;

	gethostname(host, sizeof(host) - 1);
	if (!err)
		err = open_way(s, s->where, &to.out);
	if (err)
		return fail(err);
	target->to = &to;
	target->path = to.where;
	target->format = &hv_stream_format;
	target->dial = s->is_tcp ? &s->dial : NULL;
	exit_code = record_run(cli, &s->request);
	hv_stream_out_free(to.out);
	return exit_code;
}

static void stream_deinit(struct stream *s)
{
	record_request_deinit(&s->request);
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(stream_deinit) struct stream s = {
		.key_path = HV_STREAM_KEY_PATH,
		.mtu = HV_STREAM_MTU,
		.request.clock = RECORD_CLOCK_OF_TOP,
	};
	int exit_code;

	return parse(cli, argc, argv, &s, &exit_code) ? send_events(cli, &s) : exit_code;
}

static const char help[] =
	"Traces like `hvtrace record`, and sends the events over UDP or TCP to a collector, "
	"`hvtrace\n"
	"collect`. If the collector does not answer, tracing continues. The collector counts the\n"
	"events that it missed, and refuses frames from senders with another key.\n\n"
	"  --to=HOST[:PORT]       the collector; the port is 9912 if none is given\n"
	"  --key=FILE             the key shared with the collector (default:\n"
	"                         /etc/hvtrace/stream.key)\n"
	"  --tcp                  use TCP instead of UDP\n"
	"  --dev=DEVICE           use an AF_XDP socket on this network device, bypassing the\n"
	"                         kernel's network stack; UDP, if that is impossible\n"
	"  --mtu=BYTES            size of UDP packets, 576 to 9000 (default: 1500)\n"
	"  --compress             compress frames with zstd\n"
	"  -p TRACER              as in available_tracers\n" RECORD_EVENT_HELP
	"  -l GLOB                trace only these functions\n"
	"  -n GLOB                do not trace these\n"
	"  -g GLOB                function_graph: only these and their callees\n"
	"  --host-time            function_graph: how long the host did not run the vCPU during\n"
	"                         each call\n"
	"  -P PID                 trace only this task of the guest\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  --max-overhead=PERCENT limit on the part of a vCPU's time that tracing takes\n"
	"  --date                 the collector's files have the guest's times of day\n"
	"  -j, --json             the last line is an object on standard output\n";

const struct verb verb_stream = {
	.name = "stream",
	.args = RECORD_ARGS "--to=HOST[:PORT] [--key=FILE] [--tcp | --dev=DEVICE] [--mtu=BYTES] "
			    "[--compress] [--date] [--json] "
			    "DOMAIN "
			    "[--max-overhead=PERCENT] [--for=DURATION | -- COMMAND...]",
	.summary = "Trace, and send the events to a collector",
	.help = help,
	.run = run,
};
