/* What guest and host share: parameters a stub reads, state and records a stub writes.
 * Included by C and by assembly. The region as a whole is patcher/region.h's.
 *
 *   params (guest: read-only)          state, one a vCPU (guest: read-write)
 *   0x00 mode        nr_cpus           0x00 head       records ever reserved
 *   0x08 gs offset of cpu number       0x08 last_pid   who the last record was of
 *   0x10 gs offset of current task     0x0c ..0x3f     unused, zero
 *   0x18 gs offset of preempt count
 *   0x20 task: pid       comm          ring, one a vCPU: nr_slots records of 32 bytes
 *   0x28 task: flags     migration     position p is written at slot p % nr_slots
 *   0x30 gva of states                 lap bit of position p: !((p / nr_slots) & 1)
 *   0x38 gva of rings
 *   0x40 slot mask
 *   0x48 ring shift      lap shift     record: four words, each with the lap bit in bit 63, so
 *   0x50 gva of pid bitmap             zeroed memory is "not yet written" and a record of which a
 *   0x58 pids in bitmap  max_cpus      late writer tore a word is seen to be torn
 */
#pragma once

/* Bytes from the params to the first byte of stub code. */
#define HV_STUBS_CODE_OFF 0x1000

#define HV_MODE_OFF	   1 /* tracing_on is 0: write nothing */
#define HV_MODE_PID_FILTER 2 /* only pids whose bit in the pid bitmap is set */

#define HV_PARAM_MODE	       0x00 /* u32, HV_MODE_* */
#define HV_PARAM_NR_CPUS       0x04 /* u32, states and rings there are */
#define HV_PARAM_CPU_NUMBER    0x08 /* u64, per-CPU offset, u32 there */
#define HV_PARAM_CURRENT       0x10 /* u64, per-CPU offset, pointer there */
#define HV_PARAM_PREEMPT_COUNT 0x18 /* u64, per-CPU offset, u32 there */
#define HV_PARAM_TASK_PID      0x20 /* u32, offset in the task, u32 there */
#define HV_PARAM_TASK_COMM     0x24 /* u32, offset in the task, 16 bytes there */
#define HV_PARAM_TASK_FLAGS    0x28 /* u32, offset in the task of the thread flags, u16 taken */
#define HV_PARAM_TASK_MIGRATE                                                                      \
	0x2c			   /* u32, offset in the task of migration_disabled, u8 taken;     \
				      where the kernel has none, the offset of 8 zero bits or of   \
				      the pid with HV_PARAM_MIGRATE_MASK 0 */
#define HV_PARAM_STATES	      0x30 /* u64, gva */
#define HV_PARAM_RINGS	      0x38 /* u64, gva */
#define HV_PARAM_SLOT_MASK    0x40 /* u64, nr_slots - 1 */
#define HV_PARAM_RING_SHIFT   0x48 /* u32, log2 of the bytes from one ring to the next */
#define HV_PARAM_LAP_SHIFT    0x4c /* u32, log2 of nr_slots */
#define HV_PARAM_PIDS	      0x50 /* u64, gva of the pid bitmap */
#define HV_PARAM_NR_PIDS      0x58 /* u32, bits in the pid bitmap */
#define HV_PARAM_MIGRATE_MASK 0x5c /* u32, 0xff, or 0 where the kernel has no such count */
#define HV_PARAMS_LEN	      0x60

#define HV_STATE_HEAD	  0x00 /* u64 */
#define HV_STATE_LAST_PID 0x08 /* u32 */
#define HV_STATE_LEN	  64
#define HV_STATE_SHIFT	  6

#define HV_RECORD_LEN	32
#define HV_RECORD_SHIFT 5
#define HV_LAP_BIT	63

/* word 3, bits 48..51 */
#define HV_RECORD_KIND_SHIFT 48
#define HV_RECORD_FUNCTION   1
#define HV_RECORD_TASK	     2 /* precedes the first record of another task on this vCPU */

/* function: word 0  tsc (63 bits)
 *           word 1  bits 0-31 low half of the site's address, 32-62 low 31 bits of the caller's
 *                   (bit 31 of a kernel-image or module address is always 1)
 *           word 2  bits 0-31 pid, 32-47 thread flags, 48-55 migration-disable count
 *           word 3  bits 0-31 preempt count as the CPU keeps it, 32-47 low half of the CPU flags,
 *                   48-51 kind
 * task:     word 0  tsc
 *           word 1  comm[0..7] without the top bit of comm[7]
 *           word 2  comm[8..15] (comm[15] is NUL)
 *           word 3  bits 0-31 pid, 47 top bit of comm[7], 48-51 kind */
#define HV_TASK_COMM7_SHIFT 47

#ifndef __ASSEMBLER__

#include <stdint.h>

struct hv_params {
	uint32_t mode;
	uint32_t nr_cpus;
	uint64_t cpu_number_percpu;
	uint64_t current_percpu;
	uint64_t preempt_count_percpu;
	uint32_t task_pid_off;
	uint32_t task_comm_off;
	uint32_t task_flags_off;
	uint32_t task_migrate_off;
	uint64_t states_gva;
	uint64_t rings_gva;
	uint64_t slot_mask;
	uint32_t ring_shift;
	uint32_t lap_shift;
	uint64_t pids_gva;
	uint32_t nr_pids;
	uint32_t migrate_mask;
};

struct hv_state {
	uint64_t head;
	uint32_t last_pid;
	uint32_t unused[13];
};

struct hv_record {
	uint64_t word[4];
};

_Static_assert(sizeof(struct hv_params) == HV_PARAMS_LEN, "params");
_Static_assert(__builtin_offsetof(struct hv_params, task_pid_off) == HV_PARAM_TASK_PID, "params");
_Static_assert(__builtin_offsetof(struct hv_params, states_gva) == HV_PARAM_STATES, "params");
_Static_assert(__builtin_offsetof(struct hv_params, lap_shift) == HV_PARAM_LAP_SHIFT, "params");
_Static_assert(__builtin_offsetof(struct hv_params, nr_pids) == HV_PARAM_NR_PIDS, "params");
_Static_assert(sizeof(struct hv_state) == HV_STATE_LEN, "state");
_Static_assert(sizeof(struct hv_record) == HV_RECORD_LEN, "record");

#endif
