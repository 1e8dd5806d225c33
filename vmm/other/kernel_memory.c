/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/other/kernel_memory.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/guard.h"

/* The value of the map's only element: the task that runs the program, then the bytes that were
 * read. */
#define TASK_OFF    0
#define BYTES_OFF   8
#define VALUE_BYTES 4096

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static struct bpf_insn insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	return (struct bpf_insn){
		.code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm};
}

/* The program: args[0] of its context is an address, args[1] a length. It stores the current task
 * and a copy of the memory in the map, and returns the helper's error. */
static int load(int map_fd)
{
	static const char license[] = "GPL";
	const struct bpf_insn insns[] = {
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0),
		insn(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0), /* the key */
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		insn(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map_fd),
		insn(0, 0, 0, 0, 0),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 1, 0),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_7, BPF_REG_0, 0, 0),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_task),
		insn(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_0, TASK_OFF, 0),
		insn(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_7, 0, 0),
		insn(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, BYTES_OFF),
		insn(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_2, BPF_REG_6, 8, 0),
		/* the verifier must know that it is at most HV_KERNEL_READ_MAX */
		insn(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 2 * HV_KERNEL_READ_MAX - 1),
		insn(BPF_JMP | BPF_JLE | BPF_K, BPF_REG_2, 0, 2, HV_KERNEL_READ_MAX),
		insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		insn(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_6, 0, 0),
		insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel),
		insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = HV_ARRAY_LEN(insns),
		.insns = (uint64_t)(uintptr_t)insns,
		.license = (uint64_t)(uintptr_t)license,
	};

	return (int)bpf(BPF_PROG_LOAD, &attr);
}

static struct hv_err *failed(const char *what)
{
	return hv_err_new(ENOTSUP, "the host's kernel does not let hvtrace read its memory: %s: %s",
			  what, strerror(errno));
}

struct hv_err *hv_kernel_memory_open(struct hv_kernel_memory *ret)
{
	hv_cleanup(hv_kernel_memory_close) struct hv_kernel_memory k = HV_KERNEL_MEMORY_NONE;
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = VALUE_BYTES,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	void *value;

	_Static_assert(BYTES_OFF + HV_KERNEL_READ_MAX <= VALUE_BYTES, "there is room for it");
	k.map_fd = (int)bpf(BPF_MAP_CREATE, &attr);
	if (k.map_fd < 0)
		return failed("BPF map");
	value = mmap(NULL, VALUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, k.map_fd, 0);
	if (value == MAP_FAILED)
		return failed("BPF map");
	k.value = value;
	k.prog_fd = load(k.map_fd);
	if (k.prog_fd < 0)
		return failed("BPF program");
	if (!hv_kernel_this_task(&k))
		return failed("running a BPF program");
	*ret = k;
	k = HV_KERNEL_MEMORY_NONE;
	return NULL;
}

void hv_kernel_memory_close(struct hv_kernel_memory *k)
{
	hv_close_at(&k->prog_fd);
	hv_close_at(&k->map_fd);
	if (k->value)
		munmap(k->value, VALUE_BYTES);
	*k = HV_KERNEL_MEMORY_NONE;
}

/* Returns whether the program ran, with the helper's result. */
static bool run(const struct hv_kernel_memory *k, uint64_t at, size_t len_bytes, uint32_t *ret)
{
	uint64_t args[2] = {at, len_bytes};
	union bpf_attr attr = {
		.test = {.prog_fd = (uint32_t)k->prog_fd,
			 .ctx_in = (uint64_t)(uintptr_t)args,
			 .ctx_size_in = sizeof(args)},
	};

	if (bpf(BPF_PROG_TEST_RUN, &attr) != 0)
		return false;
	*ret = attr.test.retval;
	return true;
}

bool hv_kernel_read(const struct hv_kernel_memory *k, uint64_t at, void *to, size_t len_bytes)
{
	uint32_t result = 1;

	if (!len_bytes || len_bytes > HV_KERNEL_READ_MAX || !run(k, at, len_bytes, &result) ||
	    result)
		return false;
	memcpy(to, k->value + BYTES_OFF, len_bytes);
	return true;
}

uint64_t hv_kernel_this_task(const struct hv_kernel_memory *k)
{
	uint32_t result;
	uint64_t task;

	if (!run(k, 0, 0, &result))
		return 0;
	memcpy(&task, k->value + TASK_OFF, sizeof(task));
	return task;
}
