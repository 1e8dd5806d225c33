/* A QEMU machine reached by its monitor: what the parts of that way share. Internal to vmm/. */
#pragma once

#include "vmm/qemu/guardian.h"
#include "vmm/guest.h"
#include "vmm/qemu/monitor.h"
#include "vmm/qemu/process.h"
#include "vmm/qemu/ram.h"

struct hv_machine {
	char *name;
	char *id;
	char *monitor_kind; /* "libvirt", "qmp" */
	char *qmp_dir;	    /* directory of the QMP socket; NULL: libvirt's */
	struct hv_monitor *monitor;
	struct hv_process process;
	struct hv_process_memory *memory;
	int pidfd;
	enum hv_accel accel;
	const struct hv_arch *arch;
	unsigned nr_vcpus; /* when they were last counted */
	struct hv_ram ram;
	uint64_t ram_loaded_ns;
	struct hv_region region; /* host NULL: not mapped yet */
	int region_fd;		 /* borrowed from MEMORY */
	uint64_t region_file_off;

	/* hold.c */
	struct hv_guardian *guardian;
	char *stub_dir;	 /* made by us, to be removed; NULL: the domain's own */
	char *stub_path; /* the stub's socket */
	bool held;	 /* now, by the guardian or by injection */
	char **threads;	 /* the stub's name of each vCPU at the last hold */
	unsigned nr_threads;
	uint64_t held_ns; /* the last hold */
	bool prepared;	  /* holds are possible, with this guardian or the next */
	bool may_stand;	  /* a hold did not begin or end as it should */
};

/* region.c */
struct hv_err *hv_machine_region(struct hv_machine *m, struct hv_region *ret) hv_must_use;
/* ENOSPC: its file is sparse and the file system is full. */
struct hv_err *hv_machine_region_has_room(struct hv_machine *m) hv_must_use;
/* Has the memory of the region allocated, so that no write to it can fail later. */
struct hv_err *hv_machine_reserve_region(struct hv_machine *m) hv_must_use;
/* Unmaps pages of the region in the VMM and puts their contents back: KVM flushes. */
struct hv_err *hv_machine_remap_region(struct hv_machine *m, uint64_t off,
				       uint64_t len_bytes) hv_must_use;

/* refusal.c */
struct hv_err *hv_machine_refusal(struct hv_machine *m) hv_must_use;
/* EBUSY when the machine does not run. */
struct hv_err *hv_machine_is_running(struct hv_machine *m) hv_must_use;
/* Suspended (S3): every vCPU stands, until something wakes it up and its devices are reset. */
struct hv_err *hv_machine_sleeps(struct hv_machine *m, bool *ret) hv_must_use;
/* *RET_PATH (caller frees; NULL: none): the socket of a gdb stub that hvtrace left behind. EBUSY:
 * the stub is somebody else's. */
struct hv_err *hv_machine_stub_state(struct hv_machine *m, char **ret_path) hv_must_use;

/* ENOTSUP: a device of the host's, or another process, reaches pages of guest RAM by other ways
 * than the VMM's mappings, and would not see a page that replaces one. */
struct hv_err *hv_machine_pages_are_its_own(struct hv_machine *m) hv_must_use;

/* hold.c */
#define HV_STUB_SOCKET "hvtrace-gdb.sock"
struct hv_err *hv_machine_prepare_hold(struct hv_machine *m) hv_must_use;
struct hv_err *hv_machine_hold_begin(struct hv_machine *m, uint64_t max_ns) hv_must_use;
struct hv_err *hv_machine_hold_write_text(struct hv_machine *m, const struct hv_text_write *writes,
					  size_t nr) hv_must_use;
struct hv_err *hv_machine_hold_end(struct hv_machine *m) hv_must_use;
void hv_machine_drop_hold(struct hv_machine *m);
struct hv_err *hv_machine_let_run(struct hv_machine *m, bool *ret_stood) hv_must_use;

/* hold_vcpus.c, under a hold */
struct hv_err *hv_machine_count_threads(struct hv_machine *m) hv_must_use;
void hv_machine_forget_threads(struct hv_machine *m);
struct hv_err *hv_machine_hold_registers(struct hv_machine *m,
					 struct hv_vcpu_regs *ret) hv_must_use;
struct hv_err *hv_machine_hold_flush(struct hv_machine *m, uint64_t off,
				     uint64_t len_bytes) hv_must_use;

/* machine.c */
struct hv_err *hv_machine_open_qmp(const char *path, struct hv_machine **ret) hv_must_use;
struct hv_err *hv_machine_open_libvirt(const char *spec, const char *uri,
				       struct hv_machine **ret) hv_must_use;
struct hv_err *hv_machine_open_pid(pid_t pid, const char *uri, struct hv_machine **ret) hv_must_use;
void hv_machine_free(struct hv_machine *m);
/* Reached by its monitor alone. Takes M. */
struct hv_guest *hv_machine_guest(struct hv_machine *m) hv_must_use;
/* By the monitor, or under a hold those that are held. */
struct hv_err *hv_machine_count_vcpus(struct hv_machine *m, unsigned *ret) hv_must_use;
/* Of some moment, by the human monitor. EAGAIN: of others than were counted. */
struct hv_err *hv_machine_registers(struct hv_machine *m, struct hv_vcpu_regs *ret) hv_must_use;
/* KVM only. */
struct hv_err *hv_machine_tsc(const struct hv_machine *m, unsigned vcpu,
			      struct hv_tsc *ret) hv_must_use;
/* Before a hold: what is written under it goes to the RAM that the guest has then. Pages of memory
 * devices come and go only by the doing of vCPUs, which stand. */
struct hv_err *hv_machine_look_at_ram(struct hv_machine *m) hv_must_use;
struct hv_err *hv_machine_read(struct hv_machine *m, struct hv_gpa gpa, void *buf,
			       size_t len) hv_must_use;
struct hv_err *hv_machine_write(struct hv_machine *m, struct hv_gpa gpa, const void *buf,
				size_t len) hv_must_use;
