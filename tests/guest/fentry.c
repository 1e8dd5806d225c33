/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the calls of a function by one task with a BPF program, without libbpf. Runs in the guest;
 * built by scripts/initramfs.
 *
 *	fentry PID FUNCTION		at the calls
 *	fentry PID FUNCTION returns	at the returns
 *
 * Prints "counts" when it has begun. At SIGUSR1 it prints the number, and ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BTF "/sys/kernel/btf/vmlinux"

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fentry: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Returns the bytes after a struct btf_type. */
static size_t more(unsigned kind, unsigned nr)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* BTF_KIND_DECL_TAG */
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case 19: /* BTF_KIND_ENUM64 */
		return 12ul * nr;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return 8ul * nr;
	default:
		return 0;
	}
}

/* Returns the id of the function's type. The kernel's own BTF is well formed. */
static uint32_t find(const char *function)
{
	int fd = open(BTF, O_RDONLY);
	struct stat st;
	const struct btf_header *h;
	const char *at, *end, *strings;
	char *bytes;
	size_t len = 0;
	ssize_t n;

	must(fd >= 0 && fstat(fd, &st) == 0, BTF);
	bytes = malloc((size_t)st.st_size);
	must(bytes != NULL, "memory");
	while ((n = read(fd, bytes + len, (size_t)st.st_size - len)) > 0)
		len += (size_t)n;
	h = (const struct btf_header *)bytes;
	at = bytes + h->hdr_len + h->type_off;
	end = at + h->type_len;
	strings = bytes + h->hdr_len + h->str_off;
	for (uint32_t id = 1; at < end; id++) {
		const struct btf_type *t = (const struct btf_type *)at;

		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC &&
		    strcmp(strings + t->name_off, function) == 0)
			return id;
		at += sizeof(*t) + more(BTF_INFO_KIND(t->info), BTF_INFO_VLEN(t->info));
	}
	errno = ENOENT;
	must(0, function);
	return 0;
}

static int make_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	return bpf(BPF_MAP_CREATE, &attr);
}

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

/* Adds 1 to the value of the map if the task's id is PID. */
static int load(int map, int pid, uint32_t function, int returns)
{
	struct bpf_insn insns[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU | BPF_MOV | BPF_X, 0, 0, 0, 0), /* w0 = w0: the lower half */
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 4, pid),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 1),
		INSN(BPF_STX | 0xc0 | BPF_DW, 1, 2, 0, 0), /* atomic add */
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static char log[4096];
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = returns ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	attr.attach_btf_id = function;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = sizeof(insns) / sizeof(*insns);
	attr.license = (uintptr_t) "GPL";
	attr.log_buf = (uintptr_t)log;
	attr.log_size = sizeof(log);
	attr.log_level = 1;
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		fprintf(stderr, "%s", log);
	return fd;
}

static int attach(int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

static uint64_t count(int map)
{
	union bpf_attr attr;
	uint32_t key = 0;
	uint64_t value = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	must(bpf(BPF_MAP_LOOKUP_ELEM, &attr) == 0, "the map");
	return value;
}

int main(int argc, char **argv)
{
	int returns = argc == 4 && strcmp(argv[3], "returns") == 0, map, program, signal;
	sigset_t usr1;

	if (argc < 3 || argc > 3 + returns) {
		fprintf(stderr, "usage: fentry PID FUNCTION [returns]\n");
		return 2;
	}
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	map = make_map();
	must(map >= 0, "a map");
	program = load(map, atoi(argv[1]), find(argv[2]), returns);
	must(program >= 0, "a program");
	must(attach(program) >= 0, argv[2]);
	printf("counts\n");
	fflush(stdout);
	sigwait(&usr1, &signal);
	printf("%llu\n", (unsigned long long)count(map));
	return 0;
}
