/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One const table per architecture, chosen by the *guest*: registers as QEMU tells them, page-table
 * entries, ftrace sites, calls, stubs. Pure: bytes in, bytes out; every table is built and tested
 * on every host. Nothing outside arch/ knows an instruction, a register name or a page-table bit.
 * Leaves to others: I/O and loops over guest memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/detour.h"
#include "arch/stub_image.h"
#include "arch/unwind.h"
#include "base/addr.h"
#include "base/bytes.h"
#include "base/guard.h"
#include "ringbuf/abi.h"

#define HV_VCPU_NR_GENERAL 32

/* Whether a vCPU is hidden: it executes something that interrupted the kernel at a place that
 * nobody knows, firmware (x86: in system management mode, which the gdb stub does not tell) or a
 * guest of the kernel's own. Its registers are not the kernel's then. */
enum hv_hidden { HV_HIDDEN_NO, HV_HIDDEN_MAYBE, HV_HIDDEN_YES };

/* One vCPU as far as hvtrace needs it. */
struct hv_vcpu_regs {
	struct hv_gva ip;
	struct hv_gva sp;
	uint64_t root;	 /* the register that points at the page tables, as it is */
	unsigned levels; /* of page tables: 4 or 5; 0 when paging (or 64-bit mode) is off, and where
			    nothing tells them (formats) */
	/* Every page may be executed, and entries of page tables cannot say otherwise (x86:
	 * EFER.NXE is off, and the bit for it is a reserved one). False where entries always can.
	 */
	bool executes_all;
	/* Where ip is in physical memory, of an architecture with formats: told by the guest's own
	 * tables. 0: not known, or IP is not of the kernel. */
	struct hv_gpa ip_gpa;
	struct hv_gva trap_table; /* x86: IDT base; 0 when unknown (the gdb stub does not tell) */
	enum hv_hidden hidden;
	/* It executes with a hypervisor's privileges, which a kernel has that hosts guests. False
	 * on architectures where no kernel differs in that. */
	bool is_hypervisor;
	/* All registers that may have an address, in an order of the architecture's own; unused
	 * ones are 0. */
	uint64_t general[HV_VCPU_NR_GENERAL];
};

struct hv_pt_entry {
	bool present;
	bool leaf;
	bool writable;
	bool executable;
	struct hv_gpa to; /* next table, or the memory of a leaf */
};

/* Which bits of the words of a record tell what was going on. */
struct hv_context_bits {
	/* Masks of the thread flags that ask for a reschedule; 0: not known or not there, never
	 * shown. */
	uint16_t need;
	uint16_t lazy; /* at the next tick or way to user mode, since 6.13 (26baa1f1c4bd) */
	/* 8 in a kernel whose preempt count has 8 bits between those of soft and of hard
	 * interrupts: for how often interrupts were switched off (HARDIRQ_DISABLE_BITS, 7.3). Else
	 * 0. */
	uint8_t count_shift;
};

/* A record has one byte of the thread flags, the one with the first flag that asks for a
 * reschedule: the number of that byte's first bit. */
static inline unsigned hv_resched_shift(struct hv_context_bits bits)
{
	unsigned flags = bits.need | bits.lazy;

	return flags ? (unsigned)__builtin_ctz(flags) / 8 * 8 : 0;
}

/* What was going on when a record was written, as the guest's kernel counts it. */
struct hv_context {
	uint8_t flags; /* HV_CONTEXT_* */
	uint8_t preempt_depth;
};

/* The kernel's own bits (enum trace_flag_type), so that nobody needs to translate them. */
#define HV_CONTEXT_IRQS_OFF	     0x01
#define HV_CONTEXT_NEED_RESCHED_LAZY 0x02
#define HV_CONTEXT_NEED_RESCHED	     0x04
#define HV_CONTEXT_HARDIRQ	     0x08
#define HV_CONTEXT_SOFTIRQ	     0x10 /* serving one */
#define HV_CONTEXT_PREEMPT_RESCHED   0x20
#define HV_CONTEXT_NMI		     0x40
#define HV_CONTEXT_BH_OFF	     0x80

/* Of a recorded call, as offsets from text_base without HV_TEXT_BIT. */
struct hv_call_addresses {
	uint32_t site_end; /* the address that follows the site */
	uint32_t caller;   /* the address that the function returns to */
};

enum hv_access { /* of a mapping made for the guest kernel; never writable and executable */
		 HV_ACCESS_READ,
		 HV_ACCESS_READ_WRITE,
		 HV_ACCESS_READ_EXECUTE,
};

enum hv_site_kind {
	HV_SITE_NOP,	    /* the kernel's own nop: traceable */
	HV_SITE_CALL,	    /* a call: *ret_target says to where */
	HV_SITE_JUMP,	    /* likewise a jump */
	HV_SITE_BREAKPOINT, /* somebody is changing it right now, or a kprobe */
	HV_SITE_OTHER,
};

/* What code does with a variable. */
struct hv_data_use {
	struct hv_gva at; /* of the variable, or of a part of it */
	enum {
		HV_DATA_ADDRESS, /* its address is computed */
		HV_DATA_READ,	 /* LEN_BYTES are read there */
		HV_DATA_WRITE,
		HV_DATA_PASS, /* the 8 bytes that were read there are ARGUMENT of a call of CALLED
			       */
	} kind;
	unsigned len_bytes;
	unsigned argument; /* the first one is 0 */
	struct hv_gva called;
};

typedef void (*hv_data_use_fn)(void *ctx, const struct hv_data_use *use);

#define HV_GDB_NAMED_MAX 3

struct hv_gdb_named {
	const char *name;
	bool may_lack; /* a CPU without what it is for does not have it */
};

#define HV_SITE_LEN_MAX	  8
/* Addresses that the same bytes of an instruction may be. */
#define HV_REFERENCES_MAX 2
#define HV_LANDING_LEN	  16

/* Set in the offset of every address of kernel text from text_base. */
#define HV_TEXT_BIT UINT64_C(0x80000000)

#define HV_ARCH_NO_WORD 0xff

/* A register of a call that was recorded with its registers (HV_EVENT_ID_REGS). */
struct hv_arch_register {
	uint8_t word;	/* of the entry; HV_ARCH_NO_WORD: none, it is always ADDEND */
	int64_t addend; /* is added to the word */
};

/* How many of a function's arguments are in registers. */
#define HV_ARCH_ARGS_MAX 8

struct hv_arch {
	const char *name; /* as QEMU names the target: "x86_64" */
	/* What trace_clock calls the CPU's counter: as the kernel does, if it has that clock. */
	const char *counter_name;

	/* One vCPU's part of the monitor's `info registers`. False: not understood. */
	bool (*parse_registers)(const char *text, struct hv_vcpu_regs *ret);
	/* NULL: registers tell the page tables. Else they do not, nor how large pages and addresses
	 * are (arm64, where the monitor does not show TTBR1 and TCR): these are the tables of this
	 * architecture for each format that Linux has, NULL at the end. kernel/root_search.h finds
	 * the guest's. Until then this table is used, which has the most usual format. Where two
	 * may find the same root, the right one comes first. */
	const struct hv_arch *const *formats;
	unsigned format_levels; /* of page tables, where registers do not tell them */
	/* The gdb stub's `g` packet, decoded from hex. */
	bool (*decode_gdb_registers)(struct hv_span g, struct hv_vcpu_regs *ret);
	/* What KVM_GET_REGS and KVM_GET_SREGS give (struct kvm_regs, struct kvm_sregs of this
	 * architecture); or where KVM gives registers one by one, those of kvm_ids, 8 bytes each,
	 * as REGS, and nothing as SREGS. NULL: guests of this architecture are not reached by
	 * injection. */
	bool (*decode_kvm_registers)(struct hv_span regs, struct hv_span sregs,
				     struct hv_vcpu_regs *ret);
	/* The ids of registers for KVM_GET_ONE_REG; 0 ends them. NULL: KVM gives all at once. */
	const uint64_t *kvm_ids;
	/* The root's number in the stub's register file; 8 bytes, little endian. Writing it back
	 * to itself makes TCG forget every translation. */
	unsigned gdb_root_register;
	/* Registers that the `g` packet does not have, by the names of the stub's description,
	 * since their numbers differ from CPU to CPU. They can only be read. NULL ends them; if
	 * there is one, gdb_root_register is not used. */
	struct hv_gdb_named gdb_named[HV_GDB_NAMED_MAX + 1];
	/* Adds what their values say of a vCPU to what decode_gdb_registers has told of it: its
	 * root and levels, and whether it is hidden. 0: a register that this CPU lacks. */
	void (*take_gdb_named)(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs);
	/* Where a hidden vCPU is, for messages. */
	const char *hidden_in;
	/* Whether the values of gdb_named tell the kernel's root of a hidden vCPU, too. */
	bool hidden_keeps_root;

	/* Where a kernel image can be, and every address a call from it can reach */
	struct hv_gva_range image_window;
	/* Where hvtrace may have filled in unused page-table slots, and the part of it where it
	 * does (docs/internals/ring.md). Where text_base is 0, what holds the former in every
	 * kernel (struct hv_reach); empty: the image window does. */
	struct hv_gva_range free_window;
	struct hv_gva_range chosen_window;

	/* In records, an address of kernel text is an offset from here. The image and all modules
	 * are in the upper half of the 4 GiB that begin here, so HV_TEXT_BIT is set in every
	 * offset, and 31 bits of it are enough. Where the low 32 bits of text_base are 0, as on
	 * x86-64, the offset is the low half of the address, and stubs need not subtract. 0: it is
	 * not the same in every kernel. */
	struct hv_gva text_base;
	/* HV_SLOT_*, of what its stubs cannot do at a call. */
	uint32_t lacks_actions;
	/* The lowest address that only the kernel has, with page tables of LEVELS. */
	struct hv_gva (*kernel_start)(unsigned levels);
	/* Tables that may map the kernel, best first (x86: the root as it is, and with
	 * KPTI's user bit cleared). Returns their number, at most 2. */
	unsigned (*roots)(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
	/* How many entries the kernel's half of the root has at most while user mode runs with
	 * KPTI. The kernel's own root has more. */
	unsigned users_entries_max;
	/* Level LEVELS is the root's, level 1 has the smallest pages. */
	struct hv_gpa (*entry_at)(struct hv_gpa table, unsigned level, struct hv_gva gva);
	struct hv_pt_entry (*decode_entry)(unsigned level, uint64_t entry);
	/* Bytes that one entry of LEVEL maps. */
	uint64_t (*entry_span)(unsigned level);
	/* A leaf of LEVEL for TO; what is not said is copied from NEIGHBOUR, a present leaf of the
	 * kernel image at that level, or also one of level 1 if LEAF_OF_PAGE is set. */
	uint64_t (*make_leaf)(unsigned level, uint64_t neighbour, struct hv_gpa to,
			      enum hv_access access);
	bool leaf_of_page;
	unsigned map_level; /* of the slots that are filled for the guest (x86: 2, 2 MiB; 1: pages)
			     */
	/* An entry of map_level that leads to TABLE, a table of the pages that the region is mapped
	 * by; what is not said is copied from NEIGHBOUR, such an entry of the image. NULL: a slot
	 * gets a leaf. */
	uint64_t (*make_table)(uint64_t neighbour, struct hv_gpa table);

	/* trap table -> an address in kernel text (x86: gate 14). TABLE: at least 4 KiB of it. */
	bool (*trap_target)(struct hv_span table, struct hv_gva *ret);

	size_t site_len_bytes;
	/* Of a site whose call is two instructions, the bytes of the first one. Alone it changes
	 * nothing: it loads an address that nobody uses. 0: a call is one instruction. */
	size_t site_first_bytes;
	/* How far behind a site's first byte the kernel's record says that it is, by the bytes that
	 * are BEFORE that address: half a site. NULL: there it begins. */
	unsigned (*record_off)(const uint8_t *before);
	/* Of a free site, a target that is not 0 is an address that its first instruction loads and
	 * that nobody uses. */
	enum hv_site_kind (*classify_site)(const uint8_t *site, struct hv_gva at,
					   struct hv_gva *ret_target);
	/* False: out of reach. */
	bool (*encode_call)(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
	/* A jump that is as long as a call. */
	bool (*encode_jump)(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
	/* A place of a static key, which has a nop or a jump to TARGET that is as long. CODE has
	 * site_len_bytes. Returns that length; 0: it has something else. */
	size_t (*classify_jump_site)(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				     bool *ret_jumps);
	/* The jump to TARGET of LEN_BYTES. False: out of reach. */
	bool (*encode_jump_site)(struct hv_gva at, struct hv_gva target, size_t len_bytes,
				 uint8_t *ret);
	/* Code that goes on at TARGET and changes nothing that counts at a function's entry: what a
	 * site calls whose call does not reach TARGET. False: this does not reach it either. NULL:
	 * all sites reach the stubs. */
	bool (*encode_landing)(struct hv_gva at, struct hv_gva target, uint8_t ret[HV_LANDING_LEN]);
	/* The address of code that WORD, which a stack or a register has, is without the signature
	 * by which the kernel protects return addresses. Of any other word the result means
	 * nothing. NULL: none are signed. */
	uint64_t (*strip_signature)(uint64_t word);
	/* ADDRESS as the CPU signs it with KEY, the low half first, and MODIFIER. Which of
	 * NR_SIGNINGS ways a CPU has, no register of it that is seen tells. */
	uint64_t (*sign)(unsigned way, uint64_t address, uint64_t modifier, const uint64_t key[2]);
	unsigned (*signature_bits)(unsigned way);
	unsigned nr_signings; /* 0: no addresses are signed */
	/* Of an architecture whose return addresses are in frame records: which of the general
	 * registers points to the last record, and which has the only copy of a return address
	 * while a function makes or leaves its frame. Both 0: return addresses are at the slots of
	 * frames. */
	unsigned frame_register;
	unsigned link_register;
	/* How the kernel itself returns, read from the code at an empty function of its own
	 * (ftrace_stub): bare return (*ret_thunk is 0), or a jump to a thunk. False: not
	 * understood. */
	bool (*classify_return)(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);
	/* Whether CODE, a thunk by which the kernel jumps to the address in a register, is only
	 * that jump. */
	bool (*is_bare_jump)(struct hv_span code);
	/* Makes CODE, a copy of the image's code, into what runs at AT: writes VALUES
	 * into it. Returns NULL, or the name of a value that does not fit its form or is out of
	 * reach (static; CODE is then of no use). */
	const char *(*link)(const struct hv_stub_image *image, const struct hv_stub_values *values,
			    struct hv_gva at, uint8_t *code);

	/* Whether CODE, which uses a per-CPU variable, takes the CPU's offset from the register
	 * that a hypervisor has for it (HV_ALT_HYPERVISOR). False: that is not told. NULL: a kernel
	 * has one register for it. */
	bool (*classify_percpu)(struct hv_span code, bool *ret_is_hypervisor);

	/* Calls FN for each use of a variable by the function CODE, which is at AT and of which
	 * some KiB are looked at. What depends on the way that the CPU took through the function is
	 * left out: each use that is told is one. NULL: nobody needs to know, as kernels have the
	 * names of their variables. */
	void (*follow_data)(struct hv_span code, struct hv_gva at, hv_data_use_fn fn, void *ctx);

	/* The members from here to make_detour may be NULL: then the flags are not known, and there
	 * is no preemptoff and irqsoff. */
	/* TIF_NEED_RESCHED_LAZY likewise where PREEMPT_RT's own patch has it (before 6.12), from
	 * the code of its resched_curr_lazy; thread flags are at FLAGS_OFF in a task. 0: not
	 * understood. */
	uint32_t (*find_lazy_resched)(struct hv_span code, uint32_t flags_off);
	/* TIF_NEED_RESCHED as a mask of thread flags, read from the code of the kernel's
	 * resched_curr, which sets it. 0: not understood. */
	uint16_t (*find_need_resched)(struct hv_span code);

	/* Calls FN for each instruction of CODE, which is at AT, from its first byte on. Returns
	 * how many bytes were understood, up to the instruction at which FN ended the walk. */
	size_t (*walk_code)(struct hv_span code, struct hv_gva at, hv_insn_fn fn, void *ctx);
	/* Whether CODE, which is at AT, begins with the bytes of an instruction that adds to or
	 * subtracts from the counter at PERCPU, whether or not the guest would execute them. */
	bool (*classify_count)(struct hv_span code, struct hv_gva at, uint64_t percpu,
			       struct hv_count_insn *ret);
	uint8_t count_begins; /* the first byte of every such instruction */
	/* Whether CODE, which begins with an instruction, may have one that does not keep
	 * interrupts as they are (struct hv_insn). Takes much less time than walk_code(). */
	bool (*may_switch_irqs)(struct hv_span code);
	/* Whether CODE begins with the bytes of an instruction that switches interrupts off or on,
	 * *RET. Returns its length with the nops behind it, which the kernel has where it was built
	 * to call a hypervisor. 0: it does not. */
	size_t (*classify_irqs)(struct hv_span code, enum hv_irq_effect *ret);
	/* Finds at the start of CODE, which is at AT, a single instruction that a detour can stand
	 * for where the kernel is left. */
	struct hv_way_back (*classify_way_back)(struct hv_span code, struct hv_gva at);
	/* What is written over the first bytes of the instruction of LEN_BYTES at AT: a jump to
	 * TARGET. The bytes that stay are part of instructions that are not executed, and the next
	 * instruction begins where it did. Returns the number of bytes; 0: out of reach. */
	size_t (*encode_detour_jump)(size_t len_bytes, struct hv_gva at, struct hv_gva target,
				     uint8_t ret[HV_DETOUR_PATCH_MAX]);
	/* Finds the instructions that have to move so that a jump can be written over the first one
	 * of CODE, which is at AT: they are whole, and *RET_LEN bytes long. Returns NULL, or why
	 * they cannot be executed elsewhere (static). */
	const char *(*find_movable)(struct hv_span code, struct hv_gva at, size_t *ret_len,
				    unsigned *ret_nr);
	/* Whether CODE begins with an instruction that is there to raise an exception. */
	bool (*raises_exception)(struct hv_span code);
	/* Whether the HV_DETOUR_LEN_MAX bytes of CODE begin with the detour D, HV_DETOUR_PLACE,
	 * with one probe or more, of any slots, and with any stub. */
	bool (*is_place_detour)(const struct hv_detour *d, const uint8_t *code);
	/* Whether anything in TEXT, which is at START, may be a jump or call into RANGE: any bytes
	 * that would be its distance, except for a jump of two bytes. */
	bool (*leads_into)(struct hv_span text, struct hv_gva start, struct hv_gva_range range);
	/* Returns how many addresses the first bytes of CODE, which is at AT, may be, as part of an
	 * instruction that refers to one, and writes these to RET. NULL: not known. */
	unsigned (*references_at)(struct hv_span code, struct hv_gva at,
				  struct hv_gva ret[HV_REFERENCES_MAX]);
	/* Returns how many blocks the detour has, and writes these to RET: one, but up to
	 * HV_DETOUR_BLOCKS_MAX of HV_DETOUR_PLACE with several probes. Where it is makes no
	 * difference to their number. 0: something is out of reach, or a probe is where no
	 * instruction begins. */
	size_t (*make_detour)(const struct hv_detour *d, uint8_t *ret);

	struct hv_stub_image stubs; /* no code: functions of such guests cannot be traced yet */
	/* Where exceptions have their own stacks: calls there are left out of a graph. */
	struct hv_gva_range exception_stacks;
	/* Goes one frame up by RULE. *FRAME is untouched unless the caller was found. */
	enum hv_unwound (*unwind)(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
				  struct hv_unwind_frame *frame);
	/* Follows CODE from its first instruction, where the rule is START, through instructions
	 * whose effect on the frame is understood: those at the start of functions, and those by
	 * which the kernel changes to its interrupt stack. RET has room for MAX steps, one behind
	 * each instruction that changes the rule. Returns their number. */
	size_t (*follow_code)(struct hv_span code, const struct hv_unwind_rule *start,
			      struct hv_unwind_step *ret, size_t max);
	/* Length of the code that changes to another stack. */
	size_t switch_len_bytes;
	/* The rule of a function's first instruction, and of a function that keeps a frame pointer.
	 */
	struct hv_unwind_rule entry_rule;
	struct hv_unwind_rule frame_pointer_rule;
	/* Word 1 of a call's record. */
	struct hv_call_addresses (*decode_call)(uint64_t word);
	/* By the name that the kernel's probes have for it, without a sign in front. False: the
	 * kernel has no such register, or a stub cannot record it. */
	bool (*find_register)(const char *name, struct hv_arch_register *ret);
	/* Likewise when a function has returned (HV_EVENT_ID_RETURN). */
	bool (*find_return_register)(const char *name, struct hv_arch_register *ret);
	/* Likewise at a place inside a function, or at the entry of one whose calls are recorded
	 * with all registers (HV_EVENT_ID_PLACE). NULL: there are no such. */
	bool (*find_place_register)(const char *name, struct hv_arch_register *ret);
	/* Whether the kernel has it. */
	bool (*has_register)(const char *name);
	const char *argument_registers[HV_ARCH_ARGS_MAX]; /* NULL ends them */
	/* The raw words of a function record (ringbuf/abi.h). */
	struct hv_context (*decode_context)(uint32_t preempt_count, uint16_t cpu_flags,
					    uint16_t thread_flags, struct hv_context_bits bits);
};

/* Whether a site at AT, a virtual or physical address, lies in two pages: then no single write can
 * change it. */
static inline bool hv_site_crosses_pages(const struct hv_arch *arch, uint64_t at)
{
	uint64_t page_bytes = arch->entry_span(1);

	return at % page_bytes + arch->site_len_bytes > page_bytes;
}

/* The levels of the page tables that a vCPU uses, which ARCH, the table of the kernel's format, has
 * where registers do not tell them. 0: paging is off. */
static inline unsigned hv_arch_levels(const struct hv_arch *arch, const struct hv_vcpu_regs *regs)
{
	if (!arch->format_levels)
		return regs->levels;
	return regs->root ? arch->format_levels : 0;
}

/* Whether A and B are tables of the same architecture. */
static inline bool hv_arch_is(const struct hv_arch *a, const struct hv_arch *b)
{
	return strcmp(a->name, b->name) == 0;
}

extern const struct hv_arch hv_arch_arm64;
extern const struct hv_arch hv_arch_riscv64;
extern const struct hv_arch hv_arch_x86_64;

/* NULL when there is none of that name. */
const struct hv_arch *hv_arch_find(const char *name);
