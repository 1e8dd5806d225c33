/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injected calls: the part that does not depend on the host's architecture. */
#include "vmm/inject/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "vmm/process/maps.h"

#define CODE_MAX_BYTES (64u << 20)
#define CHUNK_BYTES    (1u << 20)

static void look_for(const struct hv_call_pattern *pattern, const uint8_t *bytes, size_t len,
		     uint64_t at, uint64_t *ret)
{
	const uint8_t *from = bytes, *found;

	while (!*ret && (found = memmem(from, len - (size_t)(from - bytes), pattern->bytes,
					pattern->len_bytes))) {
		uint64_t found_at = at + (uint64_t)(found - bytes);

		if (found_at % pattern->align == 0)
			*ret = found_at;
		from = found + 1;
	}
}

/* Chunks overlap, so that a pattern that crosses a chunk boundary is found. */
static void scan(pid_t pid, uint64_t start, uint64_t end, struct hv_call_code *code)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(CHUNK_BYTES);

	if (end - start > CODE_MAX_BYTES)
		end = start + CODE_MAX_BYTES;
	while (start < end && !(code->syscall_ret && code->sigreturn)) {
		size_t len = end - start < CHUNK_BYTES ? (size_t)(end - start) : CHUNK_BYTES;

		if (!hv_thread_read(pid, start, bytes, len))
			return;
		look_for(&hv_call_syscall_ret, bytes, len, start, &code->syscall_ret);
		look_for(&hv_call_sigreturn, bytes, len, start, &code->sigreturn);
		start += len == CHUNK_BYTES ? len - hv_call_sigreturn.len_bytes : len;
	}
}

/* Whether it is code of a file or of the kernel's [vdso]. Not [vsyscall]: the kernel emulates it
 * and never executes it. */
static bool is_code(const struct hv_vma *vma)
{
	return vma->readable && vma->executable &&
	       (vma->name[0] == '/' || !strcmp(vma->name, "[vdso]"));
}

#define ALL_ARGS ((1u << HV_CALL_ARGS) - 1)

struct hv_err *hv_call_code_find(pid_t pid, struct hv_call_code *ret)
{
	static const char *const names[] = {"libc", "ld-", "[vdso]", ""};
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_call_code code = {0};
	struct hv_err *err = hv_maps_read(pid, &maps);

	if (err)
		return err;
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		for (size_t at = 0; at < maps.nr; at++) {
			const struct hv_vma *vma = &maps.list[at];

			if (is_code(vma) && strstr(vma->name, names[i]))
				scan(pid, vma->start, vma->end, &code);
		}
		if (!code.syscall_ret || !code.sigreturn)
			continue;
		*ret = code;
		return NULL;
	}
	return hv_err_new(
		ENOTSUP,
		"process %d: no system call before a return, or no rt_sigreturn, in its code",
		(int)pid);
}

/* CALL as its thread's filters see it: the instruction pointer is after the instruction. */
static struct hv_filter_call seen_by_filters(const struct hv_call_code *code,
					     const struct hv_call *call, uint64_t data_at)
{
	struct hv_filter_call f = {
		.data = {.nr = (int)call->nr,
			 .arch = hv_call_audit_arch,
			 .instruction_pointer = code->syscall_ret + hv_call_syscall_bytes},
		.unknown_args = call->unknown_args | (data_at ? 0 : call->data_args),
	};

	for (unsigned i = 0; i < HV_CALL_ARGS; i++)
		f.data.args[i] = call->args[i] + (call->data_args >> i & 1 ? data_at : 0);
	return f;
}

static struct hv_err *read_filters(struct hv_thread *t, const struct hv_call_code *code)
{
	struct hv_err *err;

	if (t->has_filters)
		return NULL;
	err = hv_filters_read(t->tid, code->unread_filters, &t->filters);
	t->has_filters = !err;
	return err;
}

void hv_call_end_wait(struct hv_thread *t, const struct hv_call_code *code)
{
	struct hv_filter_call restart = {
		.data = {.nr = SYS_restart_syscall, .arch = hv_call_audit_arch},
		.unknown_args = ALL_ARGS,
	};
	uint64_t ip;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_call_restarts(t, &ip))
		return;
	restart.data.instruction_pointer = ip;
	err = read_filters(t, code);
	if (!err)
		err = hv_filters_check(t->filters, t->tid, &restart, 1);
	if (err)
		hv_call_interrupt(t);
}

/* DATA_AT is 0 if the address of the data is not known yet. */
static struct hv_err *check_filters(struct hv_thread *t, const struct hv_call_code *code,
				    const struct hv_call *calls, size_t nr, uint64_t data_at)
{
	struct hv_filter_call back = {
		.data = {.nr = SYS_rt_sigreturn,
			 .arch = hv_call_audit_arch,
			 .instruction_pointer = code->sigreturn + hv_call_sigreturn.len_bytes},
		.unknown_args = ALL_ARGS,
	};
	struct hv_err *err = read_filters(t, code);

	for (size_t i = 0; !err && i < nr; i++) {
		struct hv_filter_call call = seen_by_filters(code, &calls[i], data_at);

		err = hv_filters_check(t->filters, t->tid, &call, 1);
	}
	return err ? err : hv_filters_check(t->filters, t->tid, &back, 1);
}

struct hv_err *hv_call_check(struct hv_thread *t, const struct hv_call_code *code,
			     const struct hv_call *calls, size_t nr)
{
	return check_filters(t, code, calls, nr, 0);
}

/* Converts the offsets in DATA to addresses. DATA will be at DATA_AT. */
static void make_pointers(const struct hv_call *calls, size_t nr, uint64_t data_at, uint8_t *data,
			  size_t len_bytes)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t pointer;

		if (!calls[i].pointer_off || calls[i].pointer_off + sizeof(pointer) > len_bytes)
			continue;
		memcpy(&pointer, data + calls[i].pointer_off, sizeof(pointer));
		pointer += data_at;
		memcpy(data + calls[i].pointer_off, &pointer, sizeof(pointer));
	}
}

/* Lets the thread run to the end of a system call. */
static struct hv_err *await_end(struct hv_thread *t, uint64_t deadline_ns,
				struct __ptrace_syscall_info *ret)
{
	do {
		struct hv_err *err = hv_thread_await_syscall(t, deadline_ns);

		if (err)
			return err;
		*ret = (struct __ptrace_syscall_info){0};
		if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof(*ret), ret) < 0)
			return hv_err_new(errno, "thread %d: its system call cannot be read: %s",
					  (int)t->tid, strerror(errno));
	} while (ret->op != PTRACE_SYSCALL_INFO_EXIT);
	return NULL;
}

/* Makes one call; the thread is stopped at its end. */
static struct hv_err *make_call(struct hv_thread *t, const struct hv_call_code *code,
				const struct hv_call_image *image, uint64_t data_at,
				struct hv_call *call, uint64_t deadline_ns)
{
	uint64_t args[HV_CALL_ARGS];
	struct __ptrace_syscall_info info;
	struct hv_call_at end = {0};
	struct hv_err *err;

	for (unsigned i = 0; i < HV_CALL_ARGS; i++)
		args[i] = call->args[i] + (call->data_args >> i & 1 ? data_at : 0);
	hv_inject_at("set");
	err = hv_call_set(t, code, image, call->nr, args, &end);
	if (err)
		return err;
	hv_inject_at("call");
	do {
		err = await_end(t, deadline_ns, &info);
		if (err)
			return err;
		/* a signal handler's call has another stack or instruction pointer */
	} while (info.stack_pointer != end.sp || info.instruction_pointer != end.ip);
	call->result = info.exit.rval;
	return NULL;
}

/* Lets the thread return through `ret` and rt_sigreturn to its original position, and stops it
 * there. */
static struct hv_err *come_back(struct hv_thread *t, const struct hv_call_image *image,
				uint64_t deadline_ns)
{
	struct hv_call_at from = hv_call_from(image), now = {0};
	struct __ptrace_syscall_info info;
	bool is_same = false;

	do {
		struct hv_err *err = await_end(t, deadline_ns, &info);

		if (err)
			return err;
		if (!hv_call_look(t, image, &now, &is_same))
			return hv_err_new(errno, "thread %d: its registers cannot be read: %s",
					  (int)t->tid, strerror(errno));
	} while (now.sp != from.sp);
	t->at_rest = true;
	if (!is_same)
		return hv_err_new(EPROTO, "thread %d: returned to 0x%" PRIx64 ", not 0x%" PRIx64,
				  (int)t->tid, now.ip, from.ip);
	return hv_call_settle(t, deadline_ns);
}

struct hv_err *hv_call_run(pid_t pid, struct hv_thread *t, const struct hv_call_code *code,
			   struct hv_call *calls, size_t nr, void *data, size_t len_bytes,
			   uint64_t deadline_ns)
{
	HV_AUTO_FREE struct hv_call_image *image = NULL;
	uint64_t data_at = 0;
	struct hv_err *err = hv_call_image_make(t, code, &image, &data_at);
	bool failed = false;

	if (!err)
		err = check_filters(t, code, calls, nr, data_at);
	if (!err) {
		make_pointers(calls, nr, data_at, data, len_bytes);
		err = hv_call_image_put(pid, image, data, len_bytes);
	}
	for (size_t i = 0; i < nr; i++)
		calls[i].result = -ECANCELED;
	for (size_t i = 0; !err && !failed && i < nr; i++) {
		err = make_call(t, code, image, data_at, &calls[i], deadline_ns);
		failed = calls[i].result < 0 && calls[i].result > -4096;
	}
	if (!err && len_bytes && !hv_thread_read(pid, data_at, data, len_bytes))
		err = hv_err_new(EFAULT, "process %d: its stack at 0x%" PRIx64 " cannot be read",
				 (int)pid, data_at);
	if (!err && nr)
		err = come_back(t, image, deadline_ns);
	return err;
}
