/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signature depends on the stack pointer at function entry, which is unknown for untraced
 * functions. It is above the function's record and at most at the next record, its caller's. Trying
 * all stack pointers in between can find a matching signature by chance. So each match counts the
 * bits of a signature minus those lost to the number of attempts. */
#include "kernel/tasks/signing.h"

#include <string.h>

#include "kernel/arch/kernel_arch.h"

#define ALIGNMENT   16 /* of the stack pointer */
#define CHOICES_MAX 64u
#define SAMPLE	    64u /* number of records to check */
#define MISSES_MAX  16u
#define ENOUGH_BITS 48u

struct key {
	uint64_t words[2];
};

static bool read_key(const struct hv_kernel *k, struct hv_gva task, struct key *ret)
{
	const char *path = hv_kernel_arch_of(&k->core)->signing_key;
	uint32_t off, len;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!path || !task.v || !hv_btf_member(k->core.btf, "task_struct", path, &off, &len) ||
	    len != sizeof(ret->words))
		return false;
	err = hv_read(&k->core.as, hv_gva_add(task, off), ret->words, sizeof(ret->words));
	return !err;
}

/* Returns whether R contains a signed address of the image. */
static bool is_signed(const struct hv_kernel *k, const struct hv_frame_record *r)
{
	uint64_t plain = k->core.as.arch->strip_signature(r->word);

	return plain != r->word && hv_gva_in(hv_gva(plain), k->text);
}

/* Returns the number of bits that a match of algorithm WAY on R is worth, or 0 if it does not
 * match. */
static unsigned try_record(const struct hv_kernel *k, unsigned way, const struct hv_frame_record *r,
			   const struct key *key)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t plain = arch->strip_signature(r->word), slot = r->at.v + 8;
	unsigned tried = 0, bits = arch->signature_bits(way);

	slot += -slot % ALIGNMENT;
	for (; slot <= r->next && tried < CHOICES_MAX; slot += ALIGNMENT) {
		tried++;
		if (arch->sign(way, plain, slot, key->words) != r->word)
			continue;
		while (tried >>= 1)
			bits -= bits > 0;
		return bits;
	}
	return 0;
}

static bool is_right(const struct hv_kernel *k, unsigned way,
		     const struct hv_frame_records *records)
{
	unsigned nr = 0, hits = 0, bits = 0;
	size_t step = records->nr / SAMPLE + 1;

	for (size_t i = 0; i < records->nr && bits < ENOUGH_BITS; i += step) {
		const struct hv_frame_record *r = &records->list[i];
		struct key key;
		unsigned worth;

		if (!is_signed(k, r) || !read_key(k, r->task, &key))
			continue;
		worth = try_record(k, way, r, &key);
		nr++;
		hits += worth > 0;
		bits += worth;
		if (!hits && nr == MISSES_MAX)
			return false;
	}
	return bits >= ENOUGH_BITS && 2 * hits >= nr;
}

struct hv_signing hv_signing_find(const struct hv_kernel *k, const struct hv_frame_records *records)
{
	const struct hv_arch *arch = k->core.as.arch;
	bool any = false;

	for (size_t i = 0; arch->strip_signature && !any && i < records->nr; i++)
		any = is_signed(k, &records->list[i]);
	if (!any)
		return (struct hv_signing){HV_SIGNING_NONE, 0};
	for (unsigned way = 0; way < arch->nr_signings; way++)
		if (is_right(k, way, records))
			return (struct hv_signing){HV_SIGNING_KNOWN, way};
	return (struct hv_signing){HV_SIGNING_UNKNOWN, 0};
}

bool hv_signing_sign(const struct hv_kernel *k, const struct hv_signing *s, struct hv_gva task,
		     struct hv_gva slot, uint64_t address, uint64_t *ret)
{
	struct key key;

	if (s->state != HV_SIGNING_KNOWN || !read_key(k, task, &key))
		return false;
	*ret = k->core.as.arch->sign(s->way, address, slot.v, key.words);
	return true;
}
