/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/frame.h"

#define MAGIC	"HVTS"
#define VERSION 1

enum { /* byte offsets */
       AT_VERSION = 4,
       AT_KIND = 5,
       AT_FLAGS = 6,
       AT_SESSION = 8,
       AT_SEQUENCE = 16,
       AT_LEN = 24,
       AT_RAW_LEN = 28,
};

const char *hv_stream_verdict_name(enum hv_stream_verdict v)
{
	static const char *const names[HV_STREAM_NR_VERDICTS] = {
		[HV_STREAM_GOOD] = "good",
		[HV_STREAM_NOT_OURS] = "not a stream frame",
		[HV_STREAM_OTHER_VERSION] = "unsupported version",
		[HV_STREAM_BAD_LENGTH] = "wrong length",
		[HV_STREAM_BAD_HASH] = "wrong key",
		[HV_STREAM_BAD_BODY] = "invalid contents",
	};

	return names[v];
}

enum hv_stream_verdict hv_stream_decode_again(struct hv_span in, struct hv_stream_frame *ret)
{
	struct hv_stream_frame f = {0};
	uint32_t len;

	if (in.len_bytes < HV_STREAM_FRAME_LEN || memcmp(in.data, MAGIC, AT_VERSION) != 0)
		return HV_STREAM_NOT_OURS;
	if (in.data[AT_VERSION] != VERSION)
		return HV_STREAM_OTHER_VERSION;
	f.kind = in.data[AT_KIND];
	f.flags = in.data[AT_FLAGS];
	if (!hv_span_u64(in, AT_SESSION, &f.session) ||
	    !hv_span_u64(in, AT_SEQUENCE, &f.sequence) || !hv_span_u32(in, AT_LEN, &len) ||
	    !hv_span_u32(in, AT_RAW_LEN, &f.raw_bytes))
		return HV_STREAM_NOT_OURS;
	if (len > HV_STREAM_BODY_MAX || in.len_bytes != HV_STREAM_FRAME_LEN + (size_t)len ||
	    f.raw_bytes > HV_STREAM_RAW_MAX || (!(f.flags & HV_STREAM_ZSTD) && f.raw_bytes != len))
		return HV_STREAM_BAD_LENGTH;
	f.body = (struct hv_span){in.data + HV_STREAM_HEAD_LEN, len};
	*ret = f;
	return HV_STREAM_GOOD;
}

enum hv_stream_verdict hv_stream_decode(struct hv_span in, const struct hv_stream_key *key,
					struct hv_stream_frame *ret)
{
	struct hv_stream_frame f;
	enum hv_stream_verdict v = hv_stream_decode_again(in, &f);
	size_t len = in.len_bytes - HV_STREAM_HASH_LEN;

	if (v != HV_STREAM_GOOD)
		return v;
	if (!hv_stream_hash_is(key, (struct hv_span){in.data, len}, in.data + len))
		return HV_STREAM_BAD_HASH;
	*ret = f;
	return HV_STREAM_GOOD;
}

bool hv_stream_frame_bytes(struct hv_span in, size_t *ret)
{
	uint32_t len;

	*ret = 0;
	if (memcmp(in.data, MAGIC, in.len_bytes < AT_VERSION ? in.len_bytes : AT_VERSION) != 0)
		return false;
	if (!hv_span_u32(in, AT_LEN, &len))
		return true;
	if (len > HV_STREAM_BODY_MAX)
		return false;
	*ret = HV_STREAM_FRAME_LEN + (size_t)len;
	return true;
}

size_t hv_stream_encode(uint8_t *at, const struct hv_stream_frame *f, size_t len_bytes,
			const struct hv_stream_key *key)
{
	size_t hashed = HV_STREAM_HEAD_LEN + len_bytes;
	uint32_t len = (uint32_t)len_bytes;

	memcpy(at, MAGIC, AT_VERSION);
	at[AT_VERSION] = VERSION;
	at[AT_KIND] = f->kind;
	at[AT_FLAGS] = f->flags;
	at[AT_FLAGS + 1] = 0;
	memcpy(at + AT_SESSION, &f->session, sizeof(f->session));
	memcpy(at + AT_SEQUENCE, &f->sequence, sizeof(f->sequence));
	memcpy(at + AT_LEN, &len, sizeof(len));
	memcpy(at + AT_RAW_LEN, &f->raw_bytes, sizeof(f->raw_bytes));
	hv_stream_hash(key, (struct hv_span){at, hashed}, at + hashed);
	return hashed + HV_STREAM_HASH_LEN;
}

static struct hv_span behind(struct hv_span s, size_t off)
{
	return (struct hv_span){s.data + off, s.len_bytes - off};
}

bool hv_stream_part_decode(struct hv_span body, struct hv_stream_part *ret)
{
	struct hv_stream_part p = {0};

	if (!hv_span_u8(body, 0, &p.table) || !hv_span_u16(body, 2, &p.part_bytes) ||
	    !hv_span_u32(body, 4, &p.generation) || !hv_span_u32(body, 8, &p.total_bytes) ||
	    !hv_span_u32(body, 12, &p.raw_bytes) || !hv_span_u32(body, 16, &p.off))
		return false;
	p.bytes = behind(body, HV_STREAM_PART_LEN);
	*ret = p;
	return true;
}

void hv_stream_part_encode(uint8_t *at, const struct hv_stream_part *p)
{
	at[0] = p->table;
	at[1] = 0;
	memcpy(at + 2, &p->part_bytes, sizeof(p->part_bytes));
	memcpy(at + 4, &p->generation, sizeof(p->generation));
	memcpy(at + 8, &p->total_bytes, sizeof(p->total_bytes));
	memcpy(at + 12, &p->raw_bytes, sizeof(p->raw_bytes));
	memcpy(at + 16, &p->off, sizeof(p->off));
}

bool hv_stream_events_decode(struct hv_span body, struct hv_stream_events *ret)
{
	struct hv_stream_events e = {0};

	if (!hv_span_u32(body, 0, &e.cpu) || !hv_span_u32(body, 4, &e.nr) ||
	    !hv_span_u64(body, 8, &e.nr_before))
		return false;
	e.page = behind(body, HV_STREAM_EVENTS_LEN);
	*ret = e;
	return true;
}

void hv_stream_events_encode(uint8_t *at, const struct hv_stream_events *e)
{
	memcpy(at, &e->cpu, sizeof(e->cpu));
	memcpy(at + 4, &e->nr, sizeof(e->nr));
	memcpy(at + 8, &e->nr_before, sizeof(e->nr_before));
}

bool hv_stream_counts_decode(struct hv_span body, struct hv_stream_counts *ret)
{
	struct hv_stream_counts c = {0};

	if (!hv_span_u32(body, 0, &c.first_cpu) || !hv_span_u32(body, 4, &c.nr))
		return false;
	c.numbers = behind(body, HV_STREAM_COUNTS_LEN);
	if (c.numbers.len_bytes != c.nr * sizeof(uint64_t))
		return false;
	*ret = c;
	return true;
}

void hv_stream_counts_encode(uint8_t *at, const struct hv_stream_counts *c)
{
	memcpy(at, &c->first_cpu, sizeof(c->first_cpu));
	memcpy(at + 4, &c->nr, sizeof(c->nr));
}
