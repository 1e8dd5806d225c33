/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/sandbox.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/guard.h"
#include "vmm/rights.h"

#define FILE_BYTES_MAX (128ull << 20) /* keeps its log and dumps from filling a file system */

static struct hv_err *failed(const char *what)
{
	return hv_rights_failed(what, errno);
}

/* A seccomp filter that allows reads of the VMM's memory only in the readable RAM. libseccomp 2.5.4
 * cannot build it: it hangs on a range that crosses 4 GiB. The kernel uses the low 32 bits of a
 * file descriptor, and all 64 bits of offset and length. */

#define LOW(arg)  (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (arg))
#define HIGH(arg) (LOW(arg) + 4)
#define RULE_LEN  11 /* instructions per part */

enum { ARG_FILE = 0, ARG_LENGTH = 2, ARG_OFFSET = 3 };

static struct sock_filter load(uint32_t at)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
}

static struct sock_filter jump(uint16_t condition, uint32_t value, uint8_t if_so, uint8_t if_not)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | condition | BPF_K, value, if_so, if_not);
}

static struct sock_filter give(uint32_t result)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result);
}

/* Allows the call if its offset is in [OFF, END); otherwise falls through. */
static void add_part(struct sock_filter *f, uint64_t off, uint64_t end)
{
	const struct sock_filter rule[RULE_LEN] = {
		load(HIGH(ARG_OFFSET)),
		jump(BPF_JGT, (uint32_t)(off >> 32), 3, 0),
		jump(BPF_JEQ, (uint32_t)(off >> 32), 0, 8),
		load(LOW(ARG_OFFSET)),
		jump(BPF_JGE, (uint32_t)off, 0, 6),
		load(HIGH(ARG_OFFSET)),
		jump(BPF_JGT, (uint32_t)(end >> 32), 4, 0),
		jump(BPF_JEQ, (uint32_t)(end >> 32), 0, 2),
		load(LOW(ARG_OFFSET)),
		jump(BPF_JGE, (uint32_t)end, 1, 0),
		give(SECCOMP_RET_ALLOW),
	};

	memcpy(f, rule, sizeof(rule));
}

static struct hv_err *leave_other_memory(const struct hv_readable_ram *ram)
{
	const struct sock_filter head[] = {
		load(offsetof(struct seccomp_data, nr)),
		jump(BPF_JEQ, SYS_pread64, 1, 0),
		give(SECCOMP_RET_ALLOW),
		load(LOW(ARG_FILE)),
		jump(BPF_JGE, HV_READABLE_FD_MIN, 1, 0),
		give(SECCOMP_RET_ALLOW),
		load(HIGH(ARG_LENGTH)),
		jump(BPF_JEQ, 0, 0, 2),
		load(LOW(ARG_LENGTH)),
		jump(BPF_JGT, HV_READABLE_BYTES_MAX, 0, 1),
		give(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_filter f[HV_ARRAY_LEN(head) + HV_BROKER_RAM_MAX * RULE_LEN + 1];
	struct sock_fprog program = {HV_ARRAY_LEN(head), f};

	memcpy(f, head, sizeof(head));
	for (size_t i = 0; i < ram->nr; i++) {
		const struct hv_readable_part *part = &ram->list[i];

		if (part->host || part->len_bytes <= HV_READABLE_BYTES_MAX)
			continue;
		add_part(f + program.len, part->off,
			 part->off + part->len_bytes - HV_READABLE_BYTES_MAX);
		program.len += RULE_LEN;
	}
	f[program.len++] = give(SECCOMP_RET_ERRNO | EPERM);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return failed("a filter of reads");
	return NULL;
}

static struct hv_err *leave_system_calls(int broker)
{
	static const int calls[] = {
		SCMP_SYS(fstatfs),    SCMP_SYS(close_range), SCMP_SYS(accept4),
		SCMP_SYS(getsockopt), SCMP_SYS(pidfd_open),
	};
	const struct hv_syscall_if some[] = {
		{SCMP_SYS(read), SCMP_A0(SCMP_CMP_LT, HV_READABLE_FD_MIN)},
		{SCMP_SYS(readv), SCMP_A0(SCMP_CMP_LT, HV_READABLE_FD_MIN)},
	};

	return hv_rights_leave_calls(broker, &(struct hv_syscalls){
						     .calls = calls,
						     .nr_calls = HV_ARRAY_LEN(calls),
						     .some = some,
						     .nr_some = HV_ARRAY_LEN(some),
						     .most_frequent = -1,
					     });
}

struct hv_err *hv_sandbox_keep(int *broker)
{
	int fd = fcntl(*broker, F_DUPFD_CLOEXEC, HV_READABLE_FD_MIN);

	if (fd < 0)
		return failed("the broker's socket");
	close(*broker);
	*broker = fd;
	return NULL;
}

struct hv_err *hv_sandbox_enter(int broker, const struct hv_readable_ram *readable)
{
	struct hv_err *err;

	if (geteuid() != 0)
		return NULL;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){HV_READABLE_FD_MIN, HV_READABLE_FD_MIN}) != 0)
		return failed("number of files");
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_BYTES_MAX, FILE_BYTES_MAX}) != 0)
		return failed("size of files");
	err = hv_rights_leave_root();
	if (!err)
		err = leave_other_memory(readable);
	return err ? err : leave_system_calls(broker);
}
