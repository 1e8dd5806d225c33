/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the fake kernel, and its memory: a circular list of three tasks at
 * FAKE_MEMORY_START, with zeros up to FAKE_MEMORY_END. Nothing is mapped beyond it. */
#include <string.h>

#include "kernel/kernel.h"
#include "tests/unit/cli/fake_layers.h"
#include "tests/unit/kernel/types/btf_build.h"

#define FAKE_MEMORY_START 0xffffffff82000000u
#define FAKE_MEMORY_END	  0xffffffff82015000u
#define TASKS		  3
#define TASK_BYTES	  128
#define FAKE_CPUS	  2
#define FAKE_CPU_BYTES	  0x1000u

struct fake_task {
	uint32_t flags; /* bit 3: one; bits 4 to 9: six, -2 */
	int32_t pid;
	char comm[16];
	uint64_t next, prev;
	uint64_t parent;
	uint64_t whole; /* an anonymous union: low and high */
	uint64_t args[3];
	uint64_t vruntime; /* struct sched_entity */
	int16_t nice;
	uint16_t unused;
	uint8_t is_fair;
};
_Static_assert(offsetof(struct fake_task, vruntime) == 80, "fake_types()");
_Static_assert(sizeof(struct fake_task) <= TASK_BYTES, "fake_task_memory()");

static uint32_t number(const char *name, uint32_t size, uint32_t encoding)
{
	uint32_t id = type(INT, name, 0, 0, size);

	u32(encoding << 24 | size * 8);
	return id;
}

struct ids {
	uint32_t s32, u32, u64, s16, flag, float_, comm, args, rest, pid, list, parent, halves, se;
};

/* The two types after these are struct task_struct, whose id is *RET_TASK, and a pointer to it. */
static struct ids make_parts(uint32_t *ret_task)
{
	struct ids is = {
		.s32 = number("int", 4, 1),
		.u32 = number("unsigned int", 4, 0),
		.u64 = number("unsigned long", 8, 0),
		.s16 = number("short", 2, 1),
		.flag = number("_Bool", 1, 4),
		.comm = array(number("char", 1, 1), 16),
	};
	uint32_t half, self;

	is.float_ = number("__int128", 16, 1);
	is.args = array(is.u64, 3);
	is.rest = array(is.flag, 0);
	is.pid = type(TYPEDEF, "pid_t", 0, 0, is.s32);
	self = nr_types + 2;
	is.list = type(STRUCT, "list_head", 2, 0, 16);
	member("next", self, 0);
	member("prev", self, 64);
	type(PTR, "", 0, 0, is.list);
	half = type(STRUCT, "", 2, 0, 8);
	member("low", is.u32, 0);
	member("high", is.u32, 32);
	is.halves = type(UNION, "", 2, 0, 8);
	member("whole", is.u64, 0);
	member("", half, 0);
	is.se = type(STRUCT, "sched_entity", 3, 0, 16);
	member("vruntime", is.u64, 0);
	member("nice", is.s16, 64);
	member("is_fair", is.flag, 96);
	*ret_task = nr_types + 2;
	is.parent = type(PTR, "", 0, 0, *ret_task);
	return is;
}

struct hv_btf *fake_types(void)
{
	HV_AUTO_TEXT struct hv_text file = {0};
	struct hv_btf *btf = NULL;
	uint32_t task;
	struct ids is;

	begin();
	is = make_parts(&task);
	type(STRUCT, "task_struct", 11, 1, TASK_BYTES);
	member("one", is.u32, 1u << 24 | 3);
	member("six", is.s32, 6u << 24 | 4);
	member("pid", is.pid, 32);
	member("comm", is.comm, 64);
	member("tasks", is.list, 192);
	member("parent", is.parent, 320);
	member("", is.halves, 384);
	member("args", is.args, 448);
	member("se", is.se, 640);
	member("wide", is.float_, 768);
	member("rest", is.rest, TASK_BYTES * 8);
	file = assemble();
	hv_err_free(hv_btf_new((struct hv_span){(uint8_t *)file.data, file.len_bytes}, NULL, &btf));
	begin();
	hv_text_deinit(&strings);
	return btf;
}

static struct fake_task task_of(unsigned i)
{
	uint64_t lists = FAKE_MEMORY_START + offsetof(struct fake_task, next);
	struct fake_task t = {
		.flags = 1u << 3 | 0x3eu << 4,
		.pid = (int32_t)i * 100,
		.next = lists + (i + 1) % TASKS * TASK_BYTES,
		.prev = lists + (i + TASKS - 1) % TASKS * TASK_BYTES,
		.parent = FAKE_MEMORY_START,
		.whole = UINT64_C(0x500000004),
		.args = {i, i + 1, UINT64_MAX},
		.vruntime = 12345,
		.nice = -5,
		.is_fair = 1,
	};

	strcpy(t.comm, ((const char *[TASKS]){"swapper", "init", "evil\x1b[1m"})[i]);
	return t;
}

struct hv_err *hv_read(const struct hv_address_space *as hv_unused, struct hv_gva gva, void *buf,
		       size_t len_bytes)
{
	uint8_t *bytes = buf;

	memset(buf, 0, len_bytes);
	for (size_t i = 0; i < len_bytes; i++) {
		uint64_t at = gva.v + i - FAKE_MEMORY_START;
		struct fake_task t;

		if (at >= FAKE_MEMORY_END - FAKE_MEMORY_START)
			return hv_err_new(EFAULT, "nothing is mapped at 0x%llx",
					  (unsigned long long)(gva.v + i));
		if (at / TASK_BYTES >= TASKS || at % TASK_BYTES >= sizeof(t))
			continue;
		t = task_of((unsigned)(at / TASK_BYTES));
		bytes[i] = ((const uint8_t *)&t)[at % TASK_BYTES];
	}
	return NULL;
}

struct hv_err *hv_kernel_percpu(const struct hv_kernel *k hv_unused, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret)
{
	if (cpu >= FAKE_CPUS)
		return hv_err_new(EINVAL, "CPU %u does not exist: the guest has %d", cpu,
				  FAKE_CPUS);
	*ret = hv_gva(percpu + FAKE_MEMORY_START + FAKE_CPU_BYTES * cpu);
	return NULL;
}
