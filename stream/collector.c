/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/collector.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <zstd.h>

#include "base/clock.h"
#include "export/raw_pages.h"
#include "stream/split.h"

/* -- the files of a stream --------------------------------------------------------------------- */

/* Creates the output files of a stream: DIR/GUEST@HOST/TIME-SESSION.SUFFIX, and its totals as JSON.
 * The sender chooses GUEST and HOST; they are sanitized so that no path leaves DIR. */

#define NAME_MAX_BYTES	 64
#define BLOCK_BYTES	 512 /* unit of st_blocks */
#define NR_NAMES	 100
#define SMALL_DISK_BYTES (64ull << 20)
#define DISK_LOW_BYTES	 (16ull << 20)

/* Appends a name chosen by the sender. Keeps letters, digits, '-', '_' and non-leading dots, and
 * replaces other bytes with '_'. */
static void add_name(struct hv_text *out, const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.";
	size_t len = strnlen(name, NAME_MAX_BYTES);

	if (!len)
		hv_text_add_char(out, '_');
	for (size_t i = 0; i < len; i++) {
		bool is_safe = strchr(safe, name[i]) && !(name[i] == '.' && i == 0);

		hv_text_add_char(out, is_safe ? name[i] : '_');
	}
}

static struct hv_err *system_error(const struct hv_stream_guest *g, const char *name, int code)
{
	return hv_err_new(code, "%s/%s: %s", g->store->dir_path, name, strerror(code));
}

static char *stem_of(const struct hv_stream_guest *g)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	add_name(&name, g->head.guest);
	hv_text_add_char(&name, '@');
	add_name(&name, g->head.host);
	hv_text_printf(&name, "/%s-%016llx", stamp, (unsigned long long)g->session);
	return hv_text_take(&name);
}

static char *numbered(const struct hv_stream_guest *g, const char *stem, unsigned nr)
{
	bool zst = g->store->compression == HV_COMPRESSION_ZSTD && !g->store->format->needs_seek;
	HV_AUTO_TEXT struct hv_text name = {0};

	hv_text_add(&name, stem);
	if (nr)
		hv_text_printf(&name, "-%u", nr);
	hv_text_printf(&name, "%s%s", g->store->format->suffix, zst ? ".zst" : "");
	return hv_text_take(&name);
}

/* Creates the directory of G. EEXIST is no error: if the existing entry is not a directory,
 * creating a file in it fails later. */
static struct hv_err *make_dir(const struct hv_stream_guest *g, const char *stem)
{
	HV_AUTO_FREE char *dir = hv_format("%.*s", (int)strcspn(stem, "/"), stem);
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_FD int fd = -1;
	int code = m->make_dir(m->ctx, dir, &fd);

	return code && code != EEXIST ? system_error(g, dir, code) : NULL;
}

static struct hv_err *open_new(struct hv_stream_guest *g)
{
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_FREE char *stem = stem_of(g);
	struct hv_err *err = make_dir(g, stem);

	for (unsigned nr = 0; !err && g->fd < 0; nr++) {
		HV_AUTO_FREE char *name = numbered(g, stem, nr);
		int code = g->store->format->is_dir ? m->make_dir(m->ctx, name, &g->fd)
						    : m->make_file(m->ctx, name, &g->fd);

		if (code && (code != EEXIST || nr == NR_NAMES))
			err = system_error(g, name, code);
		if (!code)
			g->path = hv_take(name);
	}
	return err;
}

/* The sender chooses the number of vCPUs; one stream must not use up the file descriptors of
 * others. */
static struct hv_err *check_files(const struct hv_stream_guest *g)
{
	unsigned nr = g->head.head.nr_cpus;
	char from[HV_STREAM_ADDRESS_LEN];

	if (!g->store->format->is_dir || nr <= g->store->max_files)
		return NULL;
	hv_stream_address_text(&g->from, from);
	return hv_err_new(EMFILE,
			  "%s: %s needs %u open files, one per vCPU; the limit for a stream is %u",
			  from, g->store->format->name, nr, g->store->max_files);
}

static struct hv_err *open_file(struct hv_stream_guest *g)
{
	bool is_dir = g->store->format->is_dir;
	struct hv_export_config config = {
		.path = g->path,
		.fd = g->fd,
		.inside = is_dir ? g->path : NULL,
		.maker = &g->store->maker,
		.compression = g->store->compression,
	};
	struct hv_err *err = is_dir ? NULL : hv_export_check(g->store->format, &config);

	return err ? err : hv_export_open(g->store->format, &config, &g->head.head, &g->file);
}

/* Creates the directory and the file of G. The head of G must be complete. */
static struct hv_err *stream_guest_open(struct hv_stream_guest *g)
{
	struct hv_err *err = check_files(g);

	if (!err)
		err = open_new(g);
	return err ? err : open_file(g);
}

/* Returns the disk space that the file uses. A directory format has many files: its event bytes are
 * counted instead of disk blocks. */
static uint64_t stream_guest_file_bytes(const struct hv_stream_guest *g)
{
	struct stat st;

	if (g->store->format->is_dir || fstat(g->fd, &st) != 0)
		return g->written_bytes;
	return (uint64_t)st.st_blocks * BLOCK_BYTES;
}

static void add_string(struct hv_text *out, const char *key, const char *value)
{
	hv_text_printf(out, "\"%s\":\"", key);
	for (; *value; value++)
		if (*value == '"' || *value == '\\' || (unsigned char)*value < 0x20 ||
		    (unsigned char)*value > 0x7e)
			hv_text_printf(out, "\\u%04x", (unsigned char)*value);
		else
			hv_text_add_char(out, *value);
	hv_text_add(out, "\",");
}

static void add_number(struct hv_text *out, const char *key, uint64_t value)
{
	hv_text_printf(out, "\"%s\":%llu,", key, (unsigned long long)value);
}

static void make_json(const struct hv_stream_guest *g, const char *why, struct hv_text *out)
{
	char from[HV_STREAM_ADDRESS_LEN];

	hv_stream_address_text(&g->from, from);
	hv_text_add(out, "{\"version\":1,");
	add_string(out, "guest", g->head.guest);
	add_string(out, "host", g->head.host);
	add_string(out, "from", from);
	add_string(out, "file", strrchr(g->path, '/') + 1);
	add_number(out, "events", g->counts.events);
	add_number(out, "lost", g->counts.lost);
	add_number(out, "before", g->counts.before);
	add_number(out, "unwritten", g->counts.unwritten);
	add_number(out, "frames_lost", g->window.nr_lost);
	add_number(out, "frames_repeated", g->window.nr_repeated);
	add_number(out, "frames_limited", g->counts.limited);
	add_number(out, "frames_bad", g->counts.bad);
	add_string(out, "ended", why ? why : "");
	out->data[out->len_bytes - 1] = '}';
	hv_text_add_char(out, '\n');
}

/* Writes NAME.json. WHY is NULL while the stream is active. */
static struct hv_err *stream_guest_save_counts(const struct hv_stream_guest *g, const char *why)
{
	HV_AUTO_FREE char *name = hv_format("%s.json", g->path);
	const struct hv_maker *m = &g->store->maker;
	HV_AUTO_TEXT struct hv_text json = {0};
	int code;

	make_json(g, why, &json);
	code = m->put_file(m->ctx, name, json.data, json.len_bytes);
	return code ? system_error(g, name, code) : NULL;
}

/* Returns ENOSPC if the file system is almost full. This leaves room for other users. */
static struct hv_err *stream_guest_check_room(const struct hv_stream_guest *g)
{
	struct statvfs fs;
	uint64_t left_bytes;

	if (fstatvfs(g->fd, &fs) != 0)
		return NULL;
	left_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if ((uint64_t)fs.f_blocks * fs.f_frsize < SMALL_DISK_BYTES || left_bytes >= DISK_LOW_BYTES)
		return NULL;
	return hv_err_new(ENOSPC, "%s: only %llu MiB left on its file system", g->path,
			  (unsigned long long)(left_bytes >> 20));
}

/* -- the stream of a guest --------------------------------------------------------------------- */

#define TURN_NS (HV_NS_PER_S / 10)
#define SAVE_NS HV_NS_PER_S

#define LOOK_BYTES  (64u << 10) /* frame bytes between two size checks of the file */
#define TEXT_COPIES 4		/* copies of the head text that exist while a file is opened */

static void stream_guest_init(struct hv_stream_guest *g, uint64_t session,
			      const struct hv_stream_store *store,
			      const struct hv_stream_address *from)
{
	*g = (struct hv_stream_guest){
		.session = session,
		.store = store,
		.from = *from,
		.fd = -1,
		.bucket_bytes = store->max_rate,
	};
}

/* Frees everything except the counters. */
static void release(struct hv_stream_guest *g)
{
	uint64_t nr_lost = g->window.nr_lost, nr_repeated = g->window.nr_repeated;

	hv_export_free(g->file);
	g->file = NULL;
	hv_close_at(&g->fd);
	g->fd = -1;
	hv_stream_window_deinit(&g->window);
	g->window.nr_lost = nr_lost;
	g->window.nr_repeated = nr_repeated;
	for (unsigned i = 0; i < HV_STREAM_NR_TABLES; i++)
		hv_stream_table_deinit(&g->tables[i]);
	hv_stream_head_deinit(&g->head);
	hv_text_deinit(&g->early);
	free(g->lanes);
	free(g->page);
	free(g->path);
	hv_stream_budget_charge(g->store->budget, &g->memory_bytes, 0);
	g->lanes = NULL;
	g->page = NULL;
	g->path = NULL;
}

static void stream_guest_deinit(struct hv_stream_guest *g)
{
	release(g);
}

static void note(const struct hv_stream_guest *g, const char *line)
{
	if (g->store->note)
		g->store->note(line);
}

/* Takes ownership of ERR. Events that follow are only counted. */
static void stop_writing(struct hv_stream_guest *g, struct hv_err *err)
{
	err = hv_err_add(err, "; earlier events are in the file; later ones are dropped");
	note(g, err->message);
	hv_err_free(err);
	g->phase = HV_STREAM_IS_FULL;
	if (g->file)
		hv_err_free(hv_export_end(g->file));
}

/* Resource limits. */

/* An export format buffers a page per vCPU and roughly the text of the head. */
static uint64_t memory_of(const struct hv_stream_guest *g)
{
	const struct hv_export_head *head = &g->head.head;
	uint64_t bytes = sizeof(*g) + g->window.held_bytes + g->early.cap_bytes +
			 2 * g->head.text.cap_bytes + head->nr_events * sizeof(*g->head.events) +
			 head->nr_cpus * (sizeof(*g->lanes) + head->page_bytes);

	for (unsigned i = 0; i < HV_STREAM_NR_TABLES; i++)
		bytes += hv_stream_table_memory(&g->tables[i]);
	return bytes;
}

/* Completes the file and reports the totals. WHY is the reason shown to the user. */
static void stream_guest_end(struct hv_stream_guest *g, const char *why);

/* Ends a stream that needs NEEDS_BYTES and is over its budget. */
static void refuse(struct hv_stream_guest *g, uint64_t needs_bytes)
{
	const struct hv_stream_budget *b = g->store->budget;
	HV_AUTO_FREE char *why = hv_format(
		"needs %llu KiB of memory; all streams may use %llu KiB and use %llu now, "
		"a single stream may use %llu",
		(unsigned long long)needs_bytes >> 10, (unsigned long long)b->memory_max >> 10,
		(unsigned long long)b->memory >> 10,
		(unsigned long long)(b->memory_max / HV_STREAM_MEMORY_PART) >> 10);
	struct hv_stream_held held;

	while (hv_stream_window_flush(&g->window, &held))
		free(held.bytes);
	stream_guest_end(g, why);
}

/* Charges the memory of G and MORE_BYTES that it will allocate. Returns false if this exceeds the
 * budget, after ending G. */
static bool may_have(struct hv_stream_guest *g, uint64_t more_bytes)
{
	uint64_t bytes = memory_of(g) + more_bytes;

	if (g->phase == HV_STREAM_ENDED)
		return false;
	if (hv_stream_budget_charge(g->store->budget, &g->memory_bytes, bytes))
		return true;
	refuse(g, bytes);
	return false;
}

static struct hv_err *charge_file(struct hv_stream_guest *g, uint64_t bytes)
{
	struct hv_stream_budget *b = g->store->budget;

	if (hv_stream_budget_file(b, &g->file_bytes, bytes))
		return NULL;
	return hv_err_new(EFBIG,
			  "%s/%s: the files of all streams have %llu bytes; the limit is %llu",
			  g->store->dir_path, g->path ? g->path : "", (unsigned long long)b->files,
			  (unsigned long long)b->files_max);
}

/* Checks the size of the file, and stops writing if it has grown too much. */
static void look_at_file(struct hv_stream_guest *g)
{
	uint64_t bytes = stream_guest_file_bytes(g);
	struct hv_err *err = charge_file(g, bytes);

	g->looked_bytes = g->sent_bytes;
	if (!err && bytes > HV_STREAM_FILE_GROWTH_FREE + g->sent_bytes * HV_STREAM_FILE_GROWTH)
		err = hv_err_new(EFBIG,
				 "%s: has %llu bytes, more than %u times the data "
				 "received from its sender",
				 g->path, (unsigned long long)bytes, HV_STREAM_FILE_GROWTH);
	if (err)
		stop_writing(g, err);
}

static uint64_t count_events(struct hv_span page)
{
	struct hv_raw_events r;
	struct hv_raw_event e;
	uint64_t nr = 0;

	if (!hv_raw_events_begin(&r, page))
		return 0;
	while (hv_raw_events_next(&r, &e))
		nr++;
	return r.at == r.end ? nr : 0;
}

/* A gap in the event numbers of a vCPU means lost events. */
static void see_gap(struct hv_stream_guest *g, struct hv_stream_lane *l, uint64_t nr_before)
{
	uint64_t gap = nr_before - l->next;

	if (!l->has_begun && g->joined_late)
		g->counts.before += gap;
	else
		g->counts.lost += gap;
	l->lost += gap;
	l->next = nr_before;
}

static void write_page(struct hv_stream_guest *g, struct hv_stream_lane *l,
		       const struct hv_stream_events *e)
{
	size_t page_bytes = g->head.head.page_bytes, len = e->page.len_bytes;
	struct hv_err *err;

	if (g->phase == HV_STREAM_IS_FULL) {
		g->counts.unwritten += e->nr;
		return;
	}
	memcpy(g->page, e->page.data, len);
	memset(g->page + len, 0, page_bytes - len);
	hv_stream_note_lost(g->page, len, page_bytes, l->lost);
	err = hv_export_add(g->file, e->cpu, (struct hv_span){g->page, page_bytes});
	g->written_bytes += len;
	if (!err && g->store->max_bytes && g->written_bytes > g->store->max_bytes)
		err = hv_err_new(EFBIG, "%s: reached the limit of %llu bytes of events", g->path,
				 (unsigned long long)g->store->max_bytes);
	l->lost = 0;
	g->counts.events += e->nr;
	if (err)
		stop_writing(g, err);
}

static bool take_events(struct hv_stream_guest *g, struct hv_span body)
{
	struct hv_stream_events e;
	struct hv_stream_lane *l;

	if (!hv_stream_events_decode(body, &e) || e.cpu >= g->head.head.nr_cpus ||
	    e.page.len_bytes > g->head.head.page_bytes || !e.nr || count_events(e.page) != e.nr)
		return false;
	l = &g->lanes[e.cpu];
	if (e.nr_before < l->next || e.nr_before > UINT64_MAX - e.nr)
		return false;
	see_gap(g, l, e.nr_before);
	l->has_begun = true;
	l->next += e.nr;
	write_page(g, l, &e);
	return true;
}

/* Events dropped here leave a gap in the numbers, which is counted later. */
static bool keep_early(struct hv_stream_guest *g, struct hv_span body)
{
	uint32_t len = (uint32_t)body.len_bytes;

	if (g->early.len_bytes + sizeof(len) + len > HV_STREAM_EARLY_BYTES)
		return true;
	if (g->early.len_bytes + sizeof(len) + len > g->early.cap_bytes &&
	    !may_have(g, 2 * (g->early.cap_bytes + len)))
		return true;
	hv_text_add_bytes(&g->early, &len, sizeof(len));
	hv_text_add_bytes(&g->early, body.data, len);
	return true;
}

static void take_early(struct hv_stream_guest *g)
{
	struct hv_span in = {(uint8_t *)g->early.data, g->early.len_bytes};
	uint32_t len;

	for (size_t at = 0; hv_span_u32(in, at, &len); at += sizeof(len) + len)
		g->counts.bad += !take_events(g, (struct hv_span){in.data + at + sizeof(len), len});
	hv_text_deinit(&g->early);
}

static void name_tasks(struct hv_stream_guest *g)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err;

	if (g->phase != HV_STREAM_WRITES || !g->tables[HV_STREAM_NAMES].is_whole ||
	    !may_have(g, g->tables[HV_STREAM_NAMES].like.raw_bytes) ||
	    !hv_stream_table_text(&g->tables[HV_STREAM_NAMES], &text))
		return;
	err = hv_export_name_tasks(g->file, (struct hv_export_text){text.data, text.len_bytes});
	if (err)
		stop_writing(g, err);
}

static bool begin_file(struct hv_stream_guest *g)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	HV_AUTO_FREE char *line = NULL;
	char from[HV_STREAM_ADDRESS_LEN];
	struct hv_err *err;

	if (!may_have(g, (uint64_t)TEXT_COPIES * g->tables[HV_STREAM_HEAD].like.raw_bytes))
		return true;
	if (!hv_stream_table_text(&g->tables[HV_STREAM_HEAD], &text) ||
	    !hv_stream_head_decode(&text, &g->head))
		return false;
	hv_stream_table_deinit(&g->tables[HV_STREAM_HEAD]);
	if (!may_have(g, (TEXT_COPIES - 2) * g->head.text.cap_bytes))
		return true;
	g->lanes = hv_alloc(g->head.head.nr_cpus * sizeof(*g->lanes));
	g->page = hv_alloc(g->head.head.page_bytes);
	g->phase = HV_STREAM_WRITES;
	err = charge_file(g, 0);
	if (!err)
		err = stream_guest_open(g);
	if (err) {
		stop_writing(g, err);
		return true;
	}
	hv_stream_address_text(&g->from, from);
	line = hv_format("%s: writing to %s/%s", from, g->store->dir_path, g->path);
	note(g, line);
	look_at_file(g);
	name_tasks(g);
	take_early(g);
	return true;
}

static bool take_part(struct hv_stream_guest *g, struct hv_span body)
{
	struct hv_stream_part p;
	enum hv_stream_added added;

	if (!hv_stream_part_decode(body, &p) || p.table >= HV_STREAM_NR_TABLES)
		return false;
	if (p.table == HV_STREAM_HEAD && g->phase != HV_STREAM_WAITS)
		return true;
	if (!may_have(g, hv_stream_part_memory(&p)))
		return true;
	added = hv_stream_table_add(&g->tables[p.table], &p);
	if (added != HV_STREAM_PART_LAST)
		return added == HV_STREAM_PART_TAKEN;
	if (p.table == HV_STREAM_NAMES) {
		name_tasks(g);
		return true;
	}
	if (begin_file(g))
		return true;
	hv_stream_table_deinit(&g->tables[HV_STREAM_HEAD]);
	return false;
}

/* Frames are in order here, so events sent before this frame and not received yet are lost. */
static bool take_counts(struct hv_stream_guest *g, struct hv_span body)
{
	struct hv_stream_counts c;
	uint64_t number;

	if (!hv_stream_counts_decode(body, &c))
		return false;
	if (g->phase == HV_STREAM_WAITS)
		return true;
	if (c.first_cpu > g->head.head.nr_cpus || c.nr > g->head.head.nr_cpus - c.first_cpu)
		return false;
	for (uint32_t i = 0; i < c.nr; i++) {
		struct hv_stream_lane *l = &g->lanes[c.first_cpu + i];

		if (hv_span_u64(c.numbers, i * sizeof(number), &number) && number >= l->next)
			see_gap(g, l, number);
		l->has_begun = true;
	}
	return true;
}

static bool take_body(struct hv_stream_guest *g, unsigned kind, struct hv_span body)
{
	if (kind == HV_STREAM_TABLE)
		return take_part(g, body);
	if (kind == HV_STREAM_EVENTS)
		return g->phase == HV_STREAM_WAITS ? keep_early(g, body) : take_events(g, body);
	if (kind == HV_STREAM_COUNTS || kind == HV_STREAM_END)
		return take_counts(g, body);
	return true; /* from a newer sender */
}

static bool take_packed(struct hv_stream_guest *g, const struct hv_stream_frame *f)
{
	HV_AUTO_FREE uint8_t *raw = NULL;
	size_t len;

	if (!hv_stream_may_grow(f->body.len_bytes, f->raw_bytes, HV_STREAM_FRAME_GROWTH_FREE))
		return false;
	raw = hv_alloc(f->raw_bytes);
	len = ZSTD_decompress(raw, f->raw_bytes, f->body.data, f->body.len_bytes);
	return !ZSTD_isError(len) && len == f->raw_bytes &&
	       take_body(g, f->kind, (struct hv_span){raw, len});
}

static void take_in_order(struct hv_stream_guest *g, struct hv_span frame)
{
	struct hv_stream_frame f;

	if (g->phase == HV_STREAM_ENDED || hv_stream_decode_again(frame, &f) != HV_STREAM_GOOD)
		return;
	g->counts.bad +=
		!(f.flags & HV_STREAM_ZSTD ? take_packed(g, &f) : take_body(g, f.kind, f.body));
	if (f.kind == HV_STREAM_END)
		stream_guest_end(g, "end");
}

static void take_held(struct hv_stream_guest *g, struct hv_stream_held *held)
{
	take_in_order(g, (struct hv_span){held->bytes, held->len_bytes});
	free(held->bytes);
}

/* Adds the bytes of the time since filled_ns to the token bucket, which holds those of a second. The
 * time of a part of a byte is left for the next call. */
static void fill_bucket(struct hv_stream_guest *g, uint64_t rate, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - g->filled_ns, nr;

	nr = passed_ns < HV_NS_PER_S ? (uint64_t)((unsigned __int128)rate * passed_ns / HV_NS_PER_S)
				     : rate;
	if (nr >= rate - g->bucket_bytes) {
		g->bucket_bytes = rate;
		g->filled_ns = now_ns;
		return;
	}
	g->bucket_bytes += nr;
	g->filled_ns += (uint64_t)(((unsigned __int128)nr * HV_NS_PER_S + rate - 1) / rate);
}

/* Returns whether a frame is within the rate limit. */
static bool is_within_rate(struct hv_stream_guest *g, size_t len_bytes, uint64_t now_ns)
{
	if (!g->store->max_rate)
		return true;
	fill_bucket(g, g->store->max_rate, now_ns);
	if (g->bucket_bytes < len_bytes)
		return false;
	g->bucket_bytes -= len_bytes;
	return true;
}

/* Takes a verified frame of this session. FRAME is the whole frame. */
static void stream_guest_take(struct hv_stream_guest *g, struct hv_span frame, uint64_t now_ns)
{
	struct hv_stream_frame f;
	struct hv_stream_held held;
	enum hv_stream_order order;

	g->came_ns = now_ns;
	if (g->phase == HV_STREAM_ENDED || hv_stream_decode_again(frame, &f) != HV_STREAM_GOOD)
		return;
	if (!is_within_rate(g, frame.len_bytes, now_ns)) {
		g->counts.limited++;
		return;
	}
	g->sent_bytes += frame.len_bytes;
	if (!g->window.has_begun)
		g->joined_late = f.sequence >= HV_STREAM_FIRST;
	while (g->phase != HV_STREAM_ENDED &&
	       hv_stream_window_make_room(&g->window, f.sequence, &held))
		take_held(g, &held);
	if (g->phase == HV_STREAM_ENDED)
		return;
	order = hv_stream_window_add(&g->window, f.sequence, frame, now_ns);
	if (order == HV_STREAM_IN_ORDER)
		take_in_order(g, frame);
	while (g->phase != HV_STREAM_ENDED && hv_stream_window_take(&g->window, now_ns, &held))
		take_held(g, &held);
	if (may_have(g, 0) && g->phase == HV_STREAM_WRITES &&
	    g->sent_bytes - g->looked_bytes >= LOOK_BYTES)
		look_at_file(g);
}

/* Call often. Skips frames that did not arrive in time, and flushes the file. */
static void stream_guest_turn(struct hv_stream_guest *g, uint64_t now_ns)
{
	struct hv_stream_held held;
	struct hv_err *err = NULL;

	while (hv_stream_window_take(&g->window, now_ns, &held))
		take_held(g, &held);
	if (g->phase != HV_STREAM_WRITES || now_ns - g->turned_ns < TURN_NS)
		return;
	if (now_ns / SAVE_NS != g->turned_ns / SAVE_NS) {
		look_at_file(g);
		if (g->phase != HV_STREAM_WRITES)
			return;
		err = stream_guest_check_room(g);
		if (!err)
			err = stream_guest_save_counts(g, NULL);
	}
	g->turned_ns = now_ns;
	if (!err)
		err = hv_export_turn(g->file);
	if (err)
		stop_writing(g, err);
}

static void note_end(const struct hv_stream_guest *g, const char *why)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	const struct hv_stream_counts_of *c = &g->counts;
	unsigned long long lost = c->lost, before = c->before, unwritten = c->unwritten;

	hv_text_printf(&line, "%s/%s: %s: %llu event%s, %llu lost in transit", g->store->dir_path,
		       g->path, why, (unsigned long long)c->events, hv_plural(c->events), lost);
	if (before)
		hv_text_printf(&line, ", %llu sent before the collector began", before);
	if (unwritten)
		hv_text_printf(&line, ", %llu not written", unwritten);
	if (c->limited)
		hv_text_printf(&line, ", %llu frame%s over the rate limit",
			       (unsigned long long)c->limited, hv_plural(c->limited));
	if (c->bad)
		hv_text_printf(&line, ", %llu frame%s with invalid contents",
			       (unsigned long long)c->bad, hv_plural(c->bad));
	note(g, line.data);
}

static void note_headless(const struct hv_stream_guest *g, const char *why)
{
	HV_AUTO_FREE char *line = NULL;
	char from[HV_STREAM_ADDRESS_LEN];

	hv_stream_address_text(&g->from, from);
	line = hv_format("%s: %s: no file written: the symbols and formats of this stream are "
			 "incomplete",
			 from, why);
	note(g, line);
}

static void stream_guest_end(struct hv_stream_guest *g, const char *why)
{
	struct hv_stream_held held;
	struct hv_err *err = NULL;

	if (g->phase == HV_STREAM_ENDED)
		return;
	while (g->phase != HV_STREAM_ENDED && hv_stream_window_flush(&g->window, &held))
		take_held(g, &held);
	if (g->phase == HV_STREAM_ENDED)
		return;
	if (g->phase == HV_STREAM_WRITES)
		err = hv_export_end(g->file);
	if (g->path)
		hv_err_keep_first(&err, stream_guest_save_counts(g, why));
	if (err)
		note(g, err->message);
	hv_err_free(err);
	if (g->path)
		note_end(g, why);
	else
		note_headless(g, why);
	g->phase = HV_STREAM_ENDED;
	release(g);
}

/* -- the streams ------------------------------------------------------------------------------ */

#define NOTE_NS (10 * HV_NS_PER_S)

static void remove_at(struct hv_stream_collector *c, unsigned i)
{
	stream_guest_deinit(c->guests[i]);
	free(c->guests[i]);
	c->guests[i] = c->guests[--c->nr_guests];
}

void hv_stream_collector_deinit(struct hv_stream_collector *c)
{
	while (c->nr_guests)
		remove_at(c, c->nr_guests - 1);
	free(c->guests);
	c->guests = NULL;
}

bool hv_stream_collector_allows(const struct hv_stream_collector *c,
				const struct hv_stream_address *from)
{
	for (unsigned i = 0; i < c->nr_allow; i++)
		if (hv_stream_network_has(&c->allow[i], from))
			return true;
	return !c->nr_allow;
}

static struct hv_stream_guest *find(struct hv_stream_collector *c, uint64_t session)
{
	if (c->last < c->nr_guests && c->guests[c->last]->session == session)
		return c->guests[c->last];
	for (unsigned i = 0; i < c->nr_guests; i++)
		if (c->guests[i]->session == session) {
			c->last = i;
			return c->guests[i];
		}
	return NULL;
}

/* Returns whether another stream fits, if necessary by dropping a stream that has ended. */
static bool has_room(struct hv_stream_collector *c)
{
	if (c->nr_guests < c->max_guests)
		return true;
	for (unsigned i = 0; i < c->nr_guests; i++)
		if (c->guests[i]->phase == HV_STREAM_ENDED) {
			remove_at(c, i);
			return true;
		}
	return false;
}

static struct hv_stream_guest *add(struct hv_stream_collector *c, uint64_t session,
				   const struct hv_stream_address *from)
{
	struct hv_stream_guest *g;

	if (!has_room(c))
		return NULL;
	g = hv_alloc(sizeof(*g));
	c->store.budget = &c->budget;
	stream_guest_init(g, session, &c->store, from);
	c->guests = hv_realloc_array(c->guests, c->nr_guests + 1, sizeof(struct hv_stream_guest *));
	c->last = c->nr_guests;
	c->guests[c->nr_guests++] = g;
	return g;
}

bool hv_stream_collector_take(struct hv_stream_collector *c, const struct hv_stream_address *from,
			      struct hv_span frame, uint64_t now_ns)
{
	struct hv_stream_guest *g;
	struct hv_stream_frame f;
	enum hv_stream_verdict v;

	if (!hv_stream_collector_allows(c, from)) {
		c->nr_strangers++;
		return false;
	}
	v = hv_stream_decode(frame, &c->key, &f);
	if (v != HV_STREAM_GOOD) {
		c->refused[v]++;
		return false;
	}
	g = find(c, f.session);
	if (!g)
		g = add(c, f.session, from);
	if (!g) {
		c->nr_too_many++;
		return false;
	}
	stream_guest_take(g, frame, now_ns);
	return true;
}

static uint64_t nr_refused(const struct hv_stream_collector *c)
{
	uint64_t nr = c->nr_strangers + c->nr_too_many;

	for (unsigned v = 0; v < HV_STREAM_NR_VERDICTS; v++)
		nr += c->refused[v];
	return nr;
}

static void note_refused(struct hv_stream_collector *c)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	uint64_t nr = nr_refused(c);

	if (nr == c->noted || !c->store.note)
		return;
	hv_text_printf(&line, "%llu frame%s refused in total", (unsigned long long)nr,
		       hv_plural(nr));
	for (unsigned v = 0; v < HV_STREAM_NR_VERDICTS; v++)
		if (c->refused[v])
			hv_text_printf(&line, ", %llu: %s", (unsigned long long)c->refused[v],
				       hv_stream_verdict_name(v));
	if (c->nr_strangers)
		hv_text_printf(&line, ", %llu: from addresses that are not allowed",
			       (unsigned long long)c->nr_strangers);
	if (c->nr_too_many)
		hv_text_printf(&line, ", %llu: over the limit of %u guests",
			       (unsigned long long)c->nr_too_many, c->max_guests);
	c->noted = nr;
	c->store.note(line.data);
}

void hv_stream_collector_turn(struct hv_stream_collector *c, uint64_t now_ns)
{
	for (unsigned i = c->nr_guests; i-- > 0;) {
		struct hv_stream_guest *g = c->guests[i];

		stream_guest_turn(g, now_ns);
		if (now_ns - g->came_ns < c->idle_ns)
			continue;
		stream_guest_end(g, "silence");
		remove_at(c, i);
	}
	/* Note the first refusal immediately, later ones at intervals. */
	if (!c->noted || now_ns - c->noted_ns >= NOTE_NS) {
		note_refused(c);
		c->noted_ns = now_ns;
	}
}

void hv_stream_collector_end(struct hv_stream_collector *c)
{
	for (unsigned i = 0; i < c->nr_guests; i++)
		stream_guest_end(c->guests[i], "the collector ends");
	note_refused(c);
}
