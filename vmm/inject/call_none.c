/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injection for hosts of architectures whose signal frame is not known here: it is not supported.
 */
#include "vmm/inject/sync.h"

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

void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k)
{
	*s = (struct hv_sync){.pid = k->pid};
}

void hv_sync_deinit(struct hv_sync *s)
{
	(void)s;
}

void hv_sync_ask(const struct hv_sync *s)
{
	(void)s;
}

bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, bool all_in_run,
		  struct hv_vcpu_regs *ret)
{
	(void)s, (void)arch, (void)all_in_run, (void)ret;
	return false;
}

bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret)
{
	(void)k;
	(void)ret;
	return false;
}
