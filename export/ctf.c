/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common Trace Format 1.8 (diamon.org/ctf/v1.8.3): a directory with a file `metadata`, which
 * describes the other files in its own language, and a file of packets for each vCPU. The metadata
 * is complete before the first event, and files end after a complete packet, so the trace is always
 * readable.
 *
 *   metadata
 *   vcpu0    | packet header, its context, event, event, ... | packet ...
 *   vcpu1    | ...
 *
 * ctf_classes.h encodes the events. docs/users/files.md describes the contents of a trace. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "export/ctf_classes.h"
#include "export/export.h"
#include "export/raw_pages.h"
#include "export/output.h"

#define METADATA     "metadata"
#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)
#define PACKET_BYTES (48u << 10) /* a packet ends after this size */

/* Header of a packet. The metadata describes it. */
struct packet_head {
	uint32_t magic;
	uint32_t stream_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* in bits */
	uint64_t packet_size;
	uint64_t events_discarded; /* total of this vCPU */
	uint32_t cpu_id;
} __attribute__((packed));

static const char types[] = "typealias integer { size = 8; align = 8; } := u8;\n"
			    "typealias integer { size = 16; align = 8; } := u16;\n"
			    "typealias integer { size = 32; align = 8; } := u32;\n"
			    "typealias integer { size = 64; align = 8; } := u64;\n"
			    "typealias integer { size = 8; align = 8; signed = true; } := s8;\n"
			    "typealias integer { size = 16; align = 8; signed = true; } := s16;\n"
			    "typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
			    "typealias integer { size = 64; align = 8; signed = true; } := s64;\n"
			    "typealias integer { size = 8; align = 8; base = 16; } := x8;\n"
			    "typealias integer { size = 16; align = 8; base = 16; } := x16;\n"
			    "typealias integer { size = 32; align = 8; base = 16; } := x32;\n"
			    "typealias integer { size = 64; align = 8; base = 16; } := x64;\n"
			    "trace { major = 1; minor = 8; byte_order = le;\n"
			    "\tpacket.header := struct { u32 magic; u32 stream_id; }; };\n";

static const char stream[] =
	"stream { id = 0;\n"
	"\tpacket.context := struct { time_t timestamp_begin; time_t timestamp_end; "
	"u64 content_size; u64 packet_size; u64 events_discarded; u32 cpu_id; };\n"
	"\tevent.header := struct { u16 id; time_t timestamp; };\n"
	"\tevent.context := struct { u32 _pid; string _comm; x8 _flags; u8 _preempt_depth; "
	"u8 _migrate_depth; u8 _lazy_depth; }; };\n";

/* The file of a vCPU. */
struct lane {
	struct hv_output output;
	size_t packet_at;      /* offset in output.pending, if IS_OPEN */
	uint64_t begin_ns;     /* first time of the packet */
	uint64_t last_ns;      /* of the last event */
	uint64_t nr_discarded; /* total */
	bool is_open;	       /* a packet has begun */
	bool has_begun;	       /* LAST_NS is valid */
};

struct ctf {
	struct hv_export base;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_ctf_classes classes;
	struct lane *lanes; /* owned, one per vCPU */
	unsigned nr_lanes;
	bool has_metadata; /* this export created the file */
};

static struct ctf *ctf_of(struct hv_export *x)
{
	return (struct ctf *)x;
}

/* The metadata. */

static void add_clock(const struct hv_export_head *head, struct hv_text *out)
{
	bool is_ticks = strcmp(head->clock, "x86-tsc") == 0;

	hv_text_add(out, "clock { name = guest; description = ");
	hv_ctf_add_quoted(out, is_ticks ? "x86-tsc: ticks, shown as if they were nanoseconds"
					: head->clock);
	hv_text_printf(out,
		       "; freq = 1000000000; offset_s = %" PRIu64 "; offset = %" PRIu64
		       "; absolute = %s; };\n"
		       "typealias integer { size = 64; align = 8; map = clock.guest.value; } := "
		       "time_t;\n",
		       head->clock_epoch_ns / HV_NS_PER_S, head->clock_epoch_ns % HV_NS_PER_S,
		       head->clock_epoch_ns ? "true" : "false");
}

static void add_environment(const struct hv_export_head *head, struct hv_text *out)
{
	hv_text_add(out, "env { domain = \"kernel\"; sysname = \"Linux\"; tracer_name = ");
	hv_ctf_add_quoted(out, head->program);
	hv_text_add(out, "; kernel = ");
	hv_ctf_add_quoted(out, head->kernel);
	hv_text_add(out, "; clock = ");
	hv_ctf_add_quoted(out, head->clock);
	hv_text_printf(out, "; cpus = %u; };\n", head->nr_cpus);
}

static void make_metadata(const struct ctf *c, const struct hv_export_head *head,
			  struct hv_text *out)
{
	hv_text_add(out, "/* CTF 1.8 */\n");
	hv_text_add(out, types);
	add_environment(head, out);
	add_clock(head, out);
	hv_text_add(out, stream);
	hv_ctf_classes_describe(&c->classes, out);
}

/* Packets. */

static void begin_packet(struct lane *l, uint64_t time_ns)
{
	static const struct packet_head none;

	l->packet_at = l->output.pending.len_bytes;
	l->begin_ns = time_ns;
	l->is_open = true;
	hv_text_add_bytes(&l->output.pending, &none, sizeof(none));
}

static struct hv_err *end_packet(struct ctf *c, struct lane *l)
{
	uint64_t bits = 8 * (l->output.pending.len_bytes - l->packet_at);
	const struct packet_head head = {
		.magic = PACKET_MAGIC,
		.timestamp_begin = l->begin_ns,
		.timestamp_end = l->last_ns,
		.content_size = bits,
		.packet_size = bits,
		.events_discarded = l->nr_discarded,
		.cpu_id = (uint32_t)(l - c->lanes),
	};

	memcpy(l->output.pending.data + l->packet_at, &head, sizeof(head));
	l->is_open = false;
	return hv_output_mark(&l->output);
}

/* The count of lost events in a packet covers the time from the end of the previous packet to the
 * packet's own end. So an empty packet marks the time of the loss. */
static struct hv_err *add_lost(struct ctf *c, struct lane *l, uint64_t lost, uint64_t time_ns)
{
	struct hv_err *err = l->is_open ? end_packet(c, l) : NULL;

	if (err)
		return err;
	begin_packet(l, l->has_begun ? l->last_ns : time_ns);
	l->nr_discarded += lost ? lost : 1;
	l->last_ns = time_ns;
	l->has_begun = true;
	return end_packet(c, l);
}

/* Replaces a time that is before the previous one, because readers stop there. */
static uint64_t time_of(const struct lane *l, uint64_t time_ns)
{
	return l->has_begun && time_ns < l->last_ns ? l->last_ns : time_ns;
}

static struct hv_err *add_event(struct ctf *c, struct lane *l, const struct hv_event *e,
				uint64_t time_ns)
{
	struct hv_text *out = &l->output.pending;
	size_t header_at;
	uint16_t id = 0;

	if (!l->is_open)
		begin_packet(l, time_ns);
	header_at = out->len_bytes;
	hv_ctf_add_number(out, 0, sizeof(id));
	hv_ctf_add_number(out, time_ns, sizeof(time_ns));
	if (!hv_ctf_classes_add(&c->classes, e, out, &id)) {
		out->len_bytes = header_at;
		return NULL;
	}
	memcpy(out->data + header_at, &id, sizeof(id));
	l->last_ns = time_ns;
	l->has_begun = true;
	return out->len_bytes - l->packet_at >= PACKET_BYTES ? end_packet(c, l) : NULL;
}

static struct hv_err *write_events(struct ctf *c)
{
	struct hv_err *err = NULL;
	struct hv_merged m;
	struct hv_event e;

	while (!err && hv_page_merge_next(&c->merge, &m)) {
		struct lane *l = &c->lanes[m.cpu];
		uint64_t time_ns = time_of(l, m.event.time_ns);

		if (m.has_lost)
			err = add_lost(c, l, m.lost, time_ns);
		if (!err && hv_page_decode_event(&c->decode, &m, &e))
			err = add_event(c, l, &e, time_ns);
	}
	return err;
}

static struct hv_err *end_packets(struct ctf *c)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; i < c->nr_lanes; i++)
		if (c->lanes[i].is_open)
			hv_err_keep_first(&err, end_packet(c, &c->lanes[i]));
	return err;
}

/* Files. */

static struct hv_maker maker_of(const struct hv_export_config *config)
{
	return config->maker ? *config->maker : hv_maker_of(&config->fd);
}

/* Returns the path of file NAME for the maker. The caller frees it. */
static char *maker_path_of(const struct hv_export_config *config, const char *name)
{
	return config->inside ? hv_format("%s/%s", config->inside, name) : hv_format("%s", name);
}

static struct hv_err *create(const struct hv_export_config *config, const char *name,
			     struct hv_export_config *ret)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", config->path, name);
	HV_AUTO_FREE char *maker_path = maker_path_of(config, name);
	const struct hv_maker maker = maker_of(config);
	int fd = -1, code = maker.make_file(maker.ctx, maker_path, &fd);

	if (code)
		return hv_err_new(code, "%s: %s", path, strerror(code));
	*ret = (struct hv_export_config){.path = hv_take(path), .fd = fd};
	return NULL;
}

static struct hv_err *write_metadata(struct ctf *c, const struct hv_export_config *config,
				     const struct hv_export_head *head)
{
	struct hv_export_config file;
	struct hv_err *err = create(config, METADATA, &file);
	struct hv_output output;

	if (err)
		return err;
	c->has_metadata = true;
	hv_output_init(&output, &file);
	make_metadata(c, head, &output.pending);
	err = hv_output_mark(&output);
	if (!err)
		err = hv_output_end(&output);
	hv_output_deinit(&output);
	close(file.fd);
	free((char *)file.path);
	return err;
}

static struct hv_err *make_lanes(struct ctf *c, const struct hv_export_config *config)
{
	struct hv_err *err = NULL;

	while (!err && c->nr_lanes < c->merge.nr_lanes) {
		HV_AUTO_FREE char *name = hv_format("vcpu%u", c->nr_lanes);
		struct hv_export_config file;

		err = create(config, name, &file);
		if (!err)
			hv_output_init(&c->lanes[c->nr_lanes++].output, &file);
	}
	return err;
}

static void ctf_free(struct hv_export *x)
{
	struct ctf *c = ctf_of(x);

	for (unsigned i = 0; i < c->nr_lanes; i++) {
		close(c->lanes[i].output.config.fd);
		free((char *)c->lanes[i].output.config.path);
		hv_output_deinit(&c->lanes[i].output);
	}
	free(c->lanes);
	hv_ctf_classes_deinit(&c->classes);
	hv_page_decode_deinit(&c->decode);
	hv_page_merge_deinit(&c->merge);
	free(c);
}

/* Removes the files that this export created. Another trace may exist in the directory, so other
 * files stay. */
static void remove_files(const struct ctf *c, const struct hv_export_config *config)
{
	HV_AUTO_FREE char *metadata = maker_path_of(config, METADATA);
	const struct hv_maker maker = maker_of(config);

	for (unsigned i = 0; i < c->nr_lanes; i++) {
		HV_AUTO_FREE char *name = hv_format("vcpu%u", i);
		HV_AUTO_FREE char *maker_path = maker_path_of(config, name);

		maker.remove_file(maker.ctx, maker_path);
	}
	if (c->has_metadata)
		maker.remove_file(maker.ctx, metadata);
}

static struct hv_err *ctf_open(const struct hv_export_config *config,
			       const struct hv_export_head *head, struct hv_export **ret)
{
	struct ctf *c = hv_alloc(sizeof(*c));
	struct hv_err *err;

	hv_page_decode_init(&c->decode, head);
	hv_page_merge_init(&c->merge, head->nr_cpus, head->page_bytes);
	hv_ctf_classes_init(&c->classes, &c->decode);
	c->lanes = hv_alloc(head->nr_cpus * sizeof(*c->lanes));
	err = write_metadata(c, config, head);
	if (!err)
		err = make_lanes(c, config);
	if (err) {
		remove_files(c, config);
		ctf_free(&c->base);
		return err;
	}
	*ret = &c->base;
	return NULL;
}

/* Events are written in the next turn, when the names of their tasks can be known. */
static struct hv_err *ctf_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct ctf *c = ctf_of(x);

	hv_page_merge_add(&c->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&c->decode, page);
	return NULL;
}

static struct hv_err *ctf_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&ctf_of(x)->decode, names);
	return NULL;
}

static struct hv_err *ctf_turn(struct hv_export *x)
{
	struct ctf *c = ctf_of(x);
	struct hv_err *err = write_events(c);

	hv_page_merge_turn(&c->merge);
	if (!err)
		err = end_packets(c);
	for (unsigned i = 0; i < c->nr_lanes && !err; i++)
		err = hv_output_flush(&c->lanes[i].output);
	return err;
}

/* Also after an error: writes as much of each vCPU's file as possible. */
static struct hv_err *ctf_end(struct hv_export *x)
{
	struct ctf *c = ctf_of(x);
	struct hv_err *err;

	hv_page_merge_end(&c->merge);
	err = write_events(c);
	hv_err_keep_first(&err, end_packets(c));
	for (unsigned i = 0; i < c->nr_lanes; i++)
		hv_err_keep_first(&err, hv_output_end(&c->lanes[i].output));
	return err;
}

const struct hv_export_format hv_export_ctf = {
	.name = "ctf",
	.suffix = ".ctf",
	.input = HV_EXPORT_PAGES,
	.has_date = 1,
	.is_dir = 1,
	.open = ctf_open,
	.add = ctf_add,
	.name_tasks = ctf_name_tasks,
	.turn = ctf_turn,
	.end = ctf_end,
	.free = ctf_free,
};
