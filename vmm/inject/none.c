/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injection is not supported on other host architectures, because their signal frames are not
 * implemented. */
#include "vmm/inject/call.h"
#include "vmm/inject/icache.h"
#include "vmm/inject/kvm.h"

struct hv_err *hv_call_code_find(pid_t pid, struct hv_call_code *ret)
{
	(void)pid;
	(void)ret;
	return hv_err_new(ENOTSUP, "injection does not support this host's architecture");
}

bool hv_call_can(const struct hv_thread *t)
{
	(void)t;
	return false;
}

bool hv_call_in_kvm_run(const struct hv_thread *t)
{
	(void)t;
	return false;
}

void hv_call_end_wait(struct hv_thread *t, const struct hv_call_code *code)
{
	(void)t, (void)code;
}

struct hv_err *hv_call_check(struct hv_thread *t, const struct hv_call_code *code,
			     const struct hv_call *calls, size_t nr)
{
	(void)t, (void)code, (void)calls, (void)nr;
	return hv_err_new(ENOTSUP, "injection does not support this host's architecture");
}

struct hv_err *hv_call_run(pid_t pid, struct hv_thread *t, const struct hv_call_code *code,
			   struct hv_call *calls, size_t nr, void *data, size_t len_bytes,
			   uint64_t deadline_ns)
{
	(void)pid, (void)t, (void)code, (void)calls, (void)nr, (void)data, (void)len_bytes;
	(void)deadline_ns;
	return hv_err_new(ENOTSUP, "injection does not support this host's architecture");
}

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper, unsigned *ret)
{
	(void)k, (void)keeper, (void)ret;
	return hv_err_new(ENOTSUP, "injection does not support this host's architecture");
}

/* Instruction fetches always see writes. */
bool hv_icache_is_coherent(void)
{
	return true;
}
