/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a hostile sender that has the key: after a valid head it sends any kinds, numbers and
 * bodies. The input is a list of frames: u8 kind, u8 flags, u8 increment of the sequence number,
 * u16 length, body. The same bytes are also received as one raw frame. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "export/export.h"
#include "stream/collector.h"

#define IN_LEN 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hv_stream_address from;
static uint8_t frame[HV_STREAM_FRAME_MAX];
static uint64_t sequence;

static void take(struct hv_stream_collector *c, unsigned kind, unsigned flags, size_t len)
{
	uint32_t raw = flags & HV_STREAM_ZSTD ? 8192 : (uint32_t)len;
	struct hv_stream_frame f = {.kind = (uint8_t)kind,
				    .flags = (uint8_t)flags,
				    .session = 1,
				    .sequence = sequence,
				    .raw_bytes = raw};
	size_t all = hv_stream_encode(frame, &f, len, &c->key);

	hv_stream_collector_take(c, &from, (struct hv_span){frame, all}, sequence);
}

static void take_head(struct hv_stream_collector *c)
{
	static const struct hv_export_event event = {"ftrace", {"name: function\nID: 1\n", 21}};
	struct hv_export_head head = {.nr_cpus = 2,
				      .page_bytes = 4096,
				      .clock = "local",
				      .kernel = "Linux",
				      .program = "fuzz",
				      .events = &event,
				      .nr_events = 1};
	struct hv_stream_parts parts = {0};
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_stream_part p;

	hv_stream_head_encode(&head, "guest", "host", &text);
	hv_err_free(hv_stream_parts_set(&parts, HV_STREAM_HEAD,
					(struct hv_span){(uint8_t *)text.data, text.len_bytes},
					1000));
	while (!parts.nr_rounds) {
		p = hv_stream_parts_next(&parts);
		hv_stream_part_encode(frame + HV_STREAM_HEAD_LEN, &p);
		memcpy(frame + HV_STREAM_HEAD_LEN + HV_STREAM_PART_LEN, p.bytes.data,
		       p.bytes.len_bytes);
		take(c, HV_STREAM_TABLE, 0, HV_STREAM_PART_LEN + p.bytes.len_bytes);
		sequence++;
	}
	hv_stream_parts_deinit(&parts);
}

/* Removes the files that the input created. */
static void empty(int dir)
{
	int guest = openat(dir, "guest@host", O_RDONLY | O_DIRECTORY);
	DIR *d = guest < 0 ? NULL : fdopendir(guest);

	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(guest, e->d_name, 0);
	if (d)
		closedir(d);
}

/* A format that discards everything: only the code before the format is fuzzed. */
static struct hv_err *null_open(const struct hv_export_config *config hv_unused,
				const struct hv_export_head *head hv_unused, struct hv_export **ret)
{
	*ret = hv_alloc(sizeof(**ret));
	return NULL;
}

static struct hv_err *null_add(struct hv_export *x hv_unused, unsigned cpu, struct hv_span page)
{
	uint64_t last;

	if (cpu >= 2 || page.len_bytes != 4096 || !hv_span_u64(page, 4088, &last))
		abort();
	return NULL;
}

static struct hv_err *null_turn(struct hv_export *x hv_unused)
{
	return NULL;
}

static void null_free(struct hv_export *x)
{
	free(x);
}

static const struct hv_export_format null_format = {
	.name = "null",
	.suffix = ".null",
	.input = HV_EXPORT_PAGES,
	.open = null_open,
	.add = null_add,
	.turn = null_turn,
	.end = null_turn,
	.free = null_free,
};

static char dir_path[] = "/tmp/fuzz_stream-XXXXXX";

static void remove_dir(void)
{
	int dir = open(dir_path, O_RDONLY | O_DIRECTORY);

	unlinkat(dir, "guest@host", AT_REMOVEDIR);
	rmdir(dir_path);
	close(dir);
}

static int fd = -1;

static struct hv_maker open_dir(void)
{
	if (fd < 0 && mkdtemp(dir_path)) {
		fd = open(dir_path, O_RDONLY | O_DIRECTORY);
		atexit(remove_dir);
	}
	return hv_maker_of(&fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_stream_collector c = {.max_guests = 2, .idle_ns = UINT64_MAX};
	struct hv_span in = {data, size};
	uint16_t len;

	c.store = (struct hv_stream_store){
		.maker = open_dir(), .dir_path = "fuzz", .format = &null_format};
	sequence = 0;
	hv_stream_collector_take(&c, &from, in, 0);
	take_head(&c);
	for (size_t at = 0; hv_span_u16(in, at + 3, &len); at += IN_LEN + len) {
		if (!hv_span_has(in, at + IN_LEN, len) || len > HV_STREAM_BODY_MAX)
			break;
		memcpy(frame + HV_STREAM_HEAD_LEN, data + at + IN_LEN, len);
		take(&c, data[at], data[at + 1], len);
		sequence += data[at + 2] == 255 ? 100000 : data[at + 2] % 8;
		hv_stream_collector_turn(&c, sequence << 26);
	}
	hv_stream_collector_end(&c);
	hv_stream_collector_deinit(&c);
	empty(fd);
	return 0;
}
