/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/guest_memory.h"

#include "kernel/kernel.h"
#include "kernel/types/type_text.h"

#define PAGE_BYTES 4096u /* of the smallest pages */

static struct hv_err *get_address(const struct wire_frame *frame, struct hv_gva *ret)
{
	if (frame->data.len_bytes != sizeof(ret->v) || !hv_span_u64(frame->data, 0, &ret->v))
		return hv_err_new(EINVAL, "the request does not contain an address");
	return NULL;
}

/* On each architecture the kernel has the upper half of the address space. */
static bool is_of_kernel(struct hv_gva at)
{
	return at.v >> 63;
}

/* Reads page by page, because each page may be mapped or not. */
static struct hv_err *read_pages(const struct hv_address_space *as, struct hv_gva at, uint8_t *buf,
				 size_t len_bytes, size_t *ret_len)
{
	size_t done = 0;

	while (done < len_bytes && is_of_kernel(at)) {
		size_t part = PAGE_BYTES - at.v % PAGE_BYTES;
		struct hv_err *err;

		part = part < len_bytes - done ? part : len_bytes - done;
		err = hv_read(as, at, buf + done, part);
		if (err && !done)
			return err;
		if (err) {
			hv_err_free(err);
			break;
		}
		done += part;
		at.v += part;
	}
	*ret_len = done;
	return NULL;
}

/* Logs the first read of each connection. */
static void note_reader(struct service *s, struct peer *p)
{
	struct audit_entry e;

	if (p->reads_memory)
		return;
	p->reads_memory = true;
	e = audit_begin(&s->audit, &p->who, "memory");
	audit_end(&e);
}

struct hv_err *guest_memory_read(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	size_t len = frame->arg < WIRE_DATA_MAX ? frame->arg : WIRE_DATA_MAX;
	HV_AUTO_FREE uint8_t *buf = hv_alloc(len);
	struct hv_gva at = {0};
	struct hv_err *err = get_address(frame, &at);

	if (!err && !is_of_kernel(at))
		err = hv_err_new(EFAULT, "0x%llx is not an address of the kernel",
				 (unsigned long long)at.v);
	if (err)
		return err;
	note_reader(s, p);
	err = read_pages(&s->kernel->core.as, at, buf, len, &len);
	if (!err)
		peer_answer_bytes(p, buf, len);
	return err;
}

struct hv_err *guest_memory_percpu(struct service *s, struct peer *p,
				   const struct wire_frame *frame)
{
	struct hv_gva variable = {0}, at = {0};
	struct hv_err *err = get_address(frame, &variable);

	if (!err)
		err = hv_kernel_percpu(s->kernel, variable.v, frame->arg, &at);
	if (!err)
		peer_answer_bytes(p, &at.v, sizeof(at.v));
	return err;
}

struct hv_err *guest_type_text(const struct hv_kernel *k, const char *name, struct hv_text *ret)
{
	return hv_type_text(k->core.btf, name, hv_types_are_whole(&k->core), ret);
}
