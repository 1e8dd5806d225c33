/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/inject.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "vmm/inject/icache.h"
#include "vmm/inject/state.h"
#include "vmm/shared_memory.h"
#include "vmm/tsc.h"

/* ---- holds ---- */

static struct hv_err *inject_prepare_hold(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = j->vmm.ops->is_running(j->vmm.self);

	if (!err)
		err = hv_inject_check_debugger(j);
	if (!err)
		hv_inject_want_huge(j);
	return err ? err : hv_inject_need_keeper(j);
}

static struct hv_err *inject_hold_begin(void *self, uint64_t max_ns)
{
	struct hv_inject *j = self;
	struct hv_err *err = j->vmm.ops->is_running(j->vmm.self);

	if (!err)
		err = j->vmm.ops->look_at_ram(j->vmm.self);
	if (!err)
		err = hv_inject_hold(j, max_ns);
	j->is_held = !err;
	if (!err)
		j->vmm.ops->held(j->vmm.self);
	else
		j->vmm.ops->released(j->vmm.self);
	return err;
}

static struct hv_err *inject_hold_end(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_keeper_release(j->keeper, &j->held_ns);

	j->is_held = false;
	j->vmm.ops->released(j->vmm.self);
	if (err && err->code == EPIPE) {
		hv_err_free(err);
		return hv_err_new(ETIMEDOUT,
				  "hold: its keeper was killed, so the guest is running again");
	}
	return err;
}

static uint64_t inject_held_ns(void *self)
{
	return ((struct hv_inject *)self)->held_ns;
}

static uint64_t inject_held_from_ns(void *self)
{
	return ((struct hv_inject *)self)->held_from_ns;
}

/* ---- registers, memory ---- */

static struct hv_err *inject_count_vcpus(void *self, unsigned *ret)
{
	struct hv_inject *j = self;

	if (!j->is_held)
		return j->vmm.ops->count_vcpus(j->vmm.self, ret);
	*ret = j->kvm.nr_vcpus;
	return NULL;
}

static struct hv_err *inject_hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_vcpus_check_room(j->kvm.nr_vcpus, nr);

	if (!err && !j->has_regs) {
		err = hv_kvm_registers(&j->kvm, j->keeper, j->vmm.arch, j->regs);
		j->has_regs = !err;
	}
	if (!err)
		memcpy(ret, j->regs, nr * sizeof(*ret));
	return err;
}

static struct hv_err *stop_for_registers(struct hv_inject *j, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_inject_stop(j);

	return err ? err : hv_inject_go_on(j, inject_hold_registers(j, ret, nr));
}

/* Outside a hold, asks the VMM, which reads one vCPU at a time and does not stop the guest. */
static struct hv_err *inject_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_inject *j = self;

	if (j->is_held)
		return inject_hold_registers(self, ret, nr);
	return j->vmm.ops->registers ? j->vmm.ops->registers(j->vmm.self, ret, nr)
				     : stop_for_registers(j, ret, nr);
}

#define PAGE_BYTES 4096

/* Returns the length of the first piece of [GPA, GPA + LEN) to access. While the guest has copies
 * of pages, a piece ends at the page boundary. */
static size_t next_piece(const struct hv_inject *j, struct hv_gpa gpa, size_t len)
{
	size_t room = PAGE_BYTES - gpa.v % PAGE_BYTES;

	return !j->shadow.nr_in_place || len < room ? len : room;
}

static struct hv_err *inject_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct hv_inject *j = self;
	struct hv_err *err = NULL;
	uint8_t *to = buf;

	for (size_t piece; !err && len; to += piece, len -= piece, gpa = hv_gpa_add(gpa, piece)) {
		const uint8_t *shadow = hv_shadow_at(&j->shadow, gpa);

		piece = next_piece(j, gpa, len);
		if (shadow)
			memcpy(to, shadow, piece);
		else
			err = j->vmm.ops->read(j->vmm.self, gpa, to, piece);
	}
	return err;
}

static struct hv_err *inject_want_shadow(void *self)
{
	return hv_shadow_want(self);
}

static struct hv_err *inject_prepare_text(void *self, const struct hv_gpa *gpas, size_t nr)
{
	return hv_shadow_prepare(self, gpas, nr);
}

static struct hv_err *inject_hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes in_place = {0};
	struct hv_inject *j = self;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++) {
		size_t first = in_place.nr;

		err = hv_shadow_write(j, &writes[i], &in_place);
		for (size_t n = first; n < in_place.nr; n++)
			in_place.list[n].is_text = writes[i].is_text;
	}
	if (!err)
		err = hv_icache_prepare(j->vmm.process->pid, j->keeper, &in_place);
	if (!err)
		err = hv_keeper_write(j->keeper, &in_place);
	return hv_shadow_put_in_place(j, err);
}

/* vCPUs cache translations of memory that KVM has mapped. When it is unmapped, KVM flushes all
 * translations of every vCPU. */
static struct hv_err *inject_hold_flush(void *self, uint64_t off, uint64_t len_bytes)
{
	struct hv_inject *j = self;
	struct hv_err *err;

	if (!j->region.host)
		return hv_err_new(ENODEV, "the region is not mapped");
	err = hv_kvm_unmap(j->keeper, j->region_hva + off, len_bytes);
	if (!err || err->code != EINVAL)
		return err;
	/* This VMM has locked its memory: only removing pages from the file unmaps them. */
	hv_err_free(err);
	return hv_err_in(hv_region_drop_pages(&j->region, off, len_bytes), "region");
}

/* ---- the guest ---- */

static struct hv_err *inject_refusal(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = j->vmm.ops->refusal(j->vmm.self);

	if (!err)
		err = hv_inject_check_rights(j);
	if (!err)
		err = hv_inject_check_shadow_stacks(j);
	return err ? err : hv_inject_check_debugger(j);
}

static struct hv_err *inject_region(void *self, struct hv_region *ret)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_inject_region(j);

	if (err)
		return err;
	*ret = j->region;
	return NULL;
}

static struct hv_err *inject_pin(void *self)
{
	const struct hv_inject *j = self;

	return j->vmm.ops->pin_set ? hv_inject_not_possible(hv_inject_pin(self)) : NULL;
}

static struct hv_err *inject_unpin(void *self)
{
	struct hv_inject *j = self;
	struct hv_err *err = hv_shadow_put_back(j);

	return err || !j->vmm.ops->pin_clear ? err : j->vmm.ops->pin_clear(j->vmm.self);
}

static int inject_exit_fd(void *self)
{
	return ((struct hv_inject *)self)->vmm.pidfd;
}

static struct hv_err *inject_tsc(void *self, unsigned vcpu, struct hv_tsc *ret)
{
	return hv_kvm_tsc(HV_KVM_DEBUGFS, ((struct hv_inject *)self)->vmm.process->pid, vcpu, ret);
}

static struct hv_err *inject_vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	const struct hv_inject *j = self;

	return j->vmm.ops->vcpu_threads(j->vmm.self, ret, max, ret_nr);
}

/* Frees J, but not the VMM. */
static void drop(struct hv_inject *j)
{
	hv_keeper_free(j->keeper);
	hv_sync_deinit(&j->sync);
	hv_shadow_deinit(&j->shadow);
	free(j->regs);
	free(j->tids);
	hv_kvm_deinit(&j->kvm);
	hv_inject_drop_region(j);
	free(j);
}

static void inject_free(void *self)
{
	struct hv_inject *j = self;
	struct hv_vmm vmm = j->vmm;

	drop(j);
	vmm.ops->free(vmm.self);
}

/* The VMM's memory contains the copies of text pages; the RAM's files do not. */
static struct hv_err *inject_ram_files(void *self, struct hv_ram_file *ret, size_t max,
				       size_t *ret_nr)
{
	const struct hv_inject *j = self;
	bool has_shadow = j->shadow.wanted || j->shadow.fd >= 0;

	*ret_nr =
		hv_ram_files(j->vmm.ram, has_shadow ? HV_RAM_BY_MEMORY : HV_RAM_BY_FILES, ret, max);
	return NULL;
}

static const struct hv_guest_ops inject_ops = {
	.free = inject_free,
	.read = inject_read,
	.ram_files = inject_ram_files,
	.count_vcpus = inject_count_vcpus,
	.registers = inject_registers,
	.region = inject_region,
	.refusal = inject_refusal,
	.pin = inject_pin,
	.unpin = inject_unpin,
	.tsc = inject_tsc,
	.vcpu_threads = inject_vcpu_threads,
	.exit_fd = inject_exit_fd,
	.prepare_hold = inject_prepare_hold,
	.want_shadow = inject_want_shadow,
	.prepare_text = inject_prepare_text,
	.hold_begin = inject_hold_begin,
	.hold_registers = inject_hold_registers,
	.hold_write = inject_hold_write,
	.hold_flush_translations = inject_hold_flush,
	.hold_end = inject_hold_end,
	.held_ns = inject_held_ns,
	.held_from_ns = inject_held_from_ns,
};

bool hv_inject_has_region(const struct hv_vmm *vmm)
{
	return hv_process_has_file(vmm->process, "memfd:hvtrace-region-");
}

static struct hv_err *look(struct hv_inject *j, const struct hv_vmm *vmm)
{
	struct hv_err *err;

	if (vmm->accel != HV_ACCEL_KVM)
		return hv_err_new(ENOTSUP, "injection needs KVM, and the guest runs under TCG");
	if (!vmm->arch->decode_kvm_registers)
		return hv_err_new(ENOTSUP, "injection does not support %s guests", vmm->arch->name);
	if (vmm->stays_migratable)
		return hv_err_new(ENOTSUP, "the guest must stay migratable (-only-migratable), and "
					   "a region would prevent migration");
	err = hv_inject_check_rights(j);
	if (!err)
		err = hv_inject_check_shadow_stacks(j);
	if (!err)
		err = hv_call_code_find(vmm->process->pid, &j->code);
	if (!err)
		j->code.unread_filters =
			vmm->has_own_filter ? HV_UNREAD_ALLOW_ONE : HV_UNREAD_REFUSE;
	if (!err)
		err = hv_kvm_find(vmm->process->pid, &j->kvm);
	return err ? err : hv_inject_check_vcpus(j, vmm->nr_vcpus);
}

static struct hv_guest *make_guest(struct hv_inject *j)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	const struct hv_vmm *vmm = &j->vmm;
	struct hv_guest_info info = {
		.name = vmm->name,
		.id = vmm->id,
		.pid = vmm->process->pid,
		.accel = vmm->accel,
		.nr_vcpus = vmm->nr_vcpus,
		.arch = vmm->arch,
		.ram_bytes = vmm->ram->len_bytes,
		.injected = true,
		.has_other_region = vmm->ops->has_region(vmm->self),
		.can_be_saved = !vmm->ops->pin_set,
		.region_to_make_bytes = j->kvm.region_fd < 0 ? HV_INJECT_REGION_BYTES : 0,
	};

	hv_text_printf(&t, "injected calls (%s), RAM %s", vmm->monitor,
		       vmm->ram->mapped_bytes == vmm->ram->len_bytes ? "mapped"
		       : vmm->ram->mapped_bytes			     ? "partly mapped"
								     : "copied");
	info.transport = t.data;
	return hv_guest_new(&inject_ops, j, &info);
}

struct hv_err *hv_inject_guest(const struct hv_vmm *vmm, struct hv_guest **ret)
{
	struct hv_inject *j = hv_alloc(sizeof(*j));
	struct hv_err *err;

	j->kvm.vm_fd = j->kvm.region_fd = j->kvm.pin_fd = -1;
	j->vmm = *vmm;
	j->region.fd = -1;
	hv_shadow_init(&j->shadow);
	err = look(j, vmm);
	if (!err)
		err = hv_shadow_find(j);
	if (!err && j->kvm.region_fd < 0)
		err = hv_inject_check_filters(j);
	/* A service becomes a daemon later, and its helpers watch the process that started them. */
	hv_keeper_free(hv_take(j->keeper));
	if (err) {
		drop(j);
		return err;
	}
	*ret = make_guest(j);
	return NULL;
}
