/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends events to a collector at the requested rate, and prints the number sent and the processor
 * time used. The collector prints the number received.
 *
 *       bench/stream KEY ADDRESS WAY RATE SECONDS [zstd]
 *
 * WAY: udp, tcp, or a network device for AF_XDP. RATE: events per second; 0: unlimited. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench/clock.h"
#include "stream/sender.h"
#include "stream/xdp.h"
#include "tree/format/raw_page.h"

#define NR_CPUS	 4
#define PAGES	 16 /* between two checks of the clock */
#define BASE	 UINT64_C(0xffffffff81000000)
#define NR_FUNCS 500
#define STEP_NS	 200

static uint8_t page[HV_RAW_PAGE_LEN];

static unsigned make_page(void)
{
	struct hv_event e = {.kind = HV_EVENT_FUNCTION, .pid = 100};
	struct hv_raw_page p;
	unsigned nr = 0;

	hv_raw_page_init(&p, &hv_raw_layout_known, page, HV_RAW_DATA_LEN);
	for (;; nr++, e.time_ns += STEP_NS) {
		e.ip = hv_gva(BASE + (nr * 7919) % NR_FUNCS * 64);
		e.parent_ip = hv_gva(BASE + (nr * 104729) % NR_FUNCS * 64 + 8);
		if (!hv_raw_page_add(&p, &e))
			break;
	}
	hv_raw_page_finish(&p);
	return nr;
}

static void tell(const char *line)
{
	fprintf(stderr, "stream: %s\n", line);
}

static struct hv_err *open_way(const char *way, const char *address, struct hv_stream_out **ret)
{
	struct hv_stream_target to = {.where = address, .mtu = HV_STREAM_MTU};
	struct sockaddr_in *in = (struct sockaddr_in *)&to.addr;

	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)atoi(HV_STREAM_PORT));
	to.addr_len = sizeof(*in);
	if (inet_pton(AF_INET, address, &in->sin_addr) != 1)
		return hv_err_new(EINVAL, "%s: not an address of IPv4", address);
	if (strcmp(way, "udp") == 0)
		return hv_stream_out_udp(&to, ret);
	if (strcmp(way, "tcp") == 0)
		return hv_stream_out_tcp(&to, ret);
	return hv_stream_out_xdp(way, &to, ret);
}

/* Sends the same page repeatedly with increasing times. */
static struct hv_err *send_pages(struct hv_export *x, double rate, double seconds, uint64_t *ret_nr)
{
	uint64_t begin = hv_now_ns(), nr = 0, time_ns = 1000;
	unsigned of_page = make_page();
	struct hv_err *err = NULL;

	for (;;) {
		double passed = (double)(hv_now_ns() - begin) / 1e9;

		if (passed >= seconds || err)
			break;
		if (rate > 0 && (double)nr > rate * passed) {
			err = hv_export_turn(x);
			poll(NULL, 0, 1);
			continue;
		}
		for (unsigned i = 0; i < PAGES && !err; i++) {
			memcpy(page, &time_ns, sizeof(time_ns));
			err = hv_export_add(x, i % NR_CPUS, (struct hv_span){page, sizeof(page)});
			time_ns += of_page * STEP_NS / NR_CPUS + 1;
			nr += of_page;
		}
		if (!err)
			err = hv_export_turn(x);
	}
	*ret_nr = nr;
	return err;
}

static struct hv_err *measure(struct hv_stream_to *to, double rate, double seconds,
			      enum hv_compression compression)
{
	const struct hv_export_head head = {
		.nr_cpus = NR_CPUS,
		.page_bytes = sizeof(page),
		.clock = "local",
		.kernel = "Linux version 6.1.0",
		.program = "bench",
	};
	const struct hv_export_config config = {
		.path = to->where, .fd = -1, .to = to, .compression = compression};
	struct hv_export *x;
	struct hv_err *err = hv_export_open(&hv_stream_format, &config, &head, &x);
	uint64_t nr = 0, cpu_ns;

	if (err)
		return err;
	cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	err = send_pages(x, rate, seconds, &nr);
	hv_err_keep_first(&err, hv_export_end(x));
	cpu_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	printf("%.2f million events a second, %.1f ns of CPU each, %llu events, %llu frames not "
	       "sent\n",
	       (double)nr / seconds / 1e6, (double)cpu_ns / (double)nr, (unsigned long long)nr,
	       (unsigned long long)to->out->nr_unsent);
	hv_export_free(x);
	return err;
}

int main(int argc, char **argv)
{
	struct hv_stream_to to = {.guest = "bench", .host = "bench", .note = tell};
	struct hv_err *err;

	if (argc < 6) {
		fprintf(stderr, "usage: stream KEY ADDRESS WAY RATE SECONDS [zstd]\n");
		return 2;
	}
	to.where = argv[2];
	err = hv_stream_key_read(argv[1], &to.key);
	if (!err)
		err = open_way(argv[3], argv[2], &to.out);
	if (!err)
		err = measure(&to, atof(argv[4]), atof(argv[5]),
			      argc > 6 ? HV_COMPRESSION_ZSTD : HV_COMPRESSION_NONE);
	hv_stream_out_free(to.out);
	if (!err)
		return 0;
	fprintf(stderr, "stream: %s\n", err->message);
	hv_err_free(err);
	return 1;
}
