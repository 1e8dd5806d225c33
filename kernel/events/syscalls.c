/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the kernel's description of a system call, struct syscall_metadata
 * (include/trace/syscall.h). */
#include "kernel/events/reader.h"
#include "kernel/core/fields.h"

/* Reads the NR strings that the array of pointers at AT points to. */
static struct hv_err *read_words(struct hv_event_reader *r, uint64_t at, uint32_t nr,
				 const char *const **ret)
{
	const char **words = hv_store_alloc(&r->c->store, (nr + 1) * sizeof(*words));
	struct hv_err *err = NULL;

	for (uint32_t i = 0; !err && i < nr; i++) {
		uint64_t word;

		err = hv_pages_u64(&r->pages, hv_gva(at + 8 * i), &word);
		if (!err)
			err = hv_strings_read(&r->strings, hv_gva(word), HV_EVENT_WORD_MAX,
					      &words[i]);
	}
	*ret = words;
	return err;
}

/* Returns BITS of COPY as a signed number, or -1 if BITS is empty. */
static int32_t copy_signed(struct hv_span copy, struct hv_bits bits)
{
	unsigned unused_bits = 32 - bits.nr;

	if (!bits.nr)
		return -1;
	return (int32_t)(hv_copy_bits(copy, bits) << unused_bits) >> unused_bits;
}

static struct hv_err *read_new(struct hv_event_reader *r, struct hv_gva metadata,
			       struct hv_syscall *call)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->syscall.len_bytes};
	struct hv_err *err = hv_pages_read(&r->pages, metadata, bytes, copy.len_bytes);

	if (err)
		return err;
	call->nr = (int32_t)hv_copy_u32(copy, l->syscall.nr);
	call->nr_args = hv_copy_bits(copy, l->syscall.nr_args);
	if (call->nr_args > HV_SYSCALL_ARGS_MAX)
		return hv_err_new(EINVAL, "system call %d: %u arguments", call->nr, call->nr_args);
	call->user_mask = l->syscall.user_mask.nr ? hv_copy_bits(copy, l->syscall.user_mask) : 0;
	call->user_size_arg = copy_signed(copy, l->syscall.user_size_arg);
	err = hv_strings_read(&r->strings, hv_gva(hv_copy_u64(copy, l->syscall.name)),
			      HV_EVENT_WORD_MAX, &call->name);
	if (!err)
		err = read_words(r, hv_copy_u64(copy, l->syscall.types), call->nr_args,
				 &call->types);
	if (!err)
		err = read_words(r, hv_copy_u64(copy, l->syscall.args), call->nr_args, &call->args);
	return err;
}

struct hv_err *hv_syscall_read(struct hv_event_reader *r, struct hv_gva metadata,
			       const struct hv_syscall **ret)
{
	struct hv_syscall *call = hv_gva_map_find(&r->syscalls, metadata);
	struct hv_err *err;

	if (call) {
		*ret = call;
		return NULL;
	}
	call = hv_store_alloc(&r->c->store, sizeof(*call));
	err = read_new(r, metadata, call);
	if (err)
		return hv_err_in(err, "system call 0x%llx", (unsigned long long)metadata.v);
	hv_gva_map_add(&r->syscalls, metadata, call);
	*ret = call;
	return NULL;
}
