/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest for tests with only the operations that the test needs. */
#pragma once

#include "vmm/guest.h"

static void part_free(void *self hv_unused)
{
}

static struct hv_err *part_lacks(void)
{
	return hv_err_new(ENOTSUP, "the guest of this test has no such operation");
}

static struct hv_err *part_read(void *self hv_unused, struct hv_gpa gpa hv_unused,
				void *buf hv_unused, size_t len hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_registers(void *self hv_unused, struct hv_vcpu_regs *ret hv_unused,
				     size_t nr hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_region(void *self hv_unused, struct hv_region *ret hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_hold_begin(void *self hv_unused, uint64_t max_ns hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_hold_write(void *self hv_unused,
				      const struct hv_hold_write *writes hv_unused,
				      size_t nr hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_hold_flush(void *self hv_unused, uint64_t off hv_unused,
				      uint64_t len_bytes hv_unused)
{
	return part_lacks();
}

static struct hv_err *part_hold_end(void *self hv_unused)
{
	return NULL;
}

/* Like hv_guest_new(). Fills in the operations that every implementation must have and OPS lacks:
 * they do nothing or fail with ENOTSUP. */
static inline struct hv_guest *part_guest_new(struct hv_guest_ops *ops, void *self,
					      const struct hv_guest_info *info)
{
	ops->free = ops->free ? ops->free : part_free;
	ops->read = ops->read ? ops->read : part_read;
	ops->registers = ops->registers ? ops->registers : part_registers;
	ops->region = ops->region ? ops->region : part_region;
	ops->hold_begin = ops->hold_begin ? ops->hold_begin : part_hold_begin;
	ops->hold_registers = ops->hold_registers ? ops->hold_registers : part_registers;
	ops->hold_write = ops->hold_write ? ops->hold_write : part_hold_write;
	ops->hold_flush_translations =
		ops->hold_flush_translations ? ops->hold_flush_translations : part_hold_flush;
	ops->hold_end = ops->hold_end ? ops->hold_end : part_hold_end;
	return hv_guest_new(ops, self, info);
}
