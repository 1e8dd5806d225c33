/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/sleeper.h"

#include "base/guard.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/core/function_code.h"
#include "kernel/kernel.h"

/* Returns whether the return address *RET at address AT, which is in WANTED's range, belongs to a
 * call from there. If it only replaces another return address, *RET becomes the replaced one, and
 * the result depends on whether that one is in the range. */
static bool is_call(const struct hv_scan_for *wanted, struct hv_gva at, struct hv_gva *ret)
{
	return hv_gva_in(*ret, wanted->calling) || !wanted->find_caller ||
	       !wanted->find_caller(wanted->ctx, at, ret) || hv_scan_wants(wanted, *ret);
}

/* On architectures with frame_chain (struct hv_kernel_arch), the record of a frame (the caller's
 * frame pointer and the return address) is below the frame pointer. If the return address is in
 * exception code, the frame pointer belongs to the exception handler and points to the struct
 * pt_regs of the interrupted code. The struct pt_regs of a task's last kernel entry is at the end
 * of its stack. Source: arch/riscv/kernel/stacktrace.c, entry.S. */

#define FRAMES_MAX 256
#define ALIGNMENT  16u /* of the stack pointer and of the registers at the stack's end */
#define WORD	   8u

struct chain {
	struct hv_span copy;
	struct hv_gva start;
	struct hv_gva_range exceptions; /* the exception code */
	uint64_t last;			/* address of the registers at the stack's end */
	uint32_t fp_off;		/* offset in struct pt_regs, like code_offs */
	uint32_t code_offs[HV_REGS_CODE];
};

static bool find_chain(const struct hv_kernel *k, struct hv_span copy, struct hv_gva start,
		       struct chain *ret)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	uint32_t len;

	*ret = (struct chain){.copy = copy, .start = start};
	if (!hv_kernel_symbol(k, arch->hides_return[0], &ret->exceptions.start) ||
	    !hv_kernel_symbol(k, arch->hides_return[1], &ret->exceptions.end) ||
	    !hv_btf_size(k->core.btf, "pt_regs", &len) ||
	    !hv_btf_member(k->core.btf, "pt_regs", arch->frame_chain.regs_fp, &ret->fp_off, NULL))
		return false;
	for (unsigned i = 0; i < HV_REGS_CODE; i++)
		if (!hv_btf_member(k->core.btf, "pt_regs", arch->frame_chain.regs_code[i],
				   &ret->code_offs[i], NULL))
			return false;
	ret->last = start.v + copy.len_bytes - (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return true;
}

static bool chain_word_at(const struct chain *c, uint64_t at, uint64_t *ret)
{
	return hv_span_u64(c->copy, at - c->start.v, ret);
}

/* Checks the interrupted code whose registers are at REGS. */
static enum hv_sleeper look_at_exception(const struct chain *c, const struct hv_scan_for *wanted,
					 uint64_t regs, uint64_t *ret_fp)
{
	uint64_t word;

	for (unsigned i = 0; i < HV_REGS_CODE; i++) {
		if (!chain_word_at(c, regs + c->code_offs[i], &word))
			return HV_SLEEPER_UNKNOWN;
		if (hv_scan_wants(wanted, hv_gva(word)))
			return HV_SLEEPER_INSIDE;
	}
	return chain_word_at(c, regs + c->fp_off, ret_fp) ? HV_SLEEPER_ELSEWHERE
							  : HV_SLEEPER_UNKNOWN;
}

/* COPY contains the live words of a stack, from START up to the stack's end. FP is the frame
 * pointer. Looks for return addresses and interrupted addresses in WANTED's range. */
static enum hv_sleeper frame_chain_look(const struct hv_kernel *k, const struct hv_scan_for *wanted,
					struct hv_span copy, struct hv_gva start, uint64_t fp)
{
	struct chain c;

	if (!find_chain(k, copy, start, &c))
		return HV_SLEEPER_UNKNOWN;
	if (start.v == c.last) /* the task has not run yet */
		return HV_SLEEPER_ELSEWHERE;
	for (unsigned i = 0; i < FRAMES_MAX && fp != c.last; i++) {
		enum hv_sleeper found = HV_SLEEPER_ELSEWHERE;
		struct hv_gva caller;
		uint64_t next, to;

		if (fp % WORD || !chain_word_at(&c, fp - 2 * WORD, &next) ||
		    !chain_word_at(&c, fp - WORD, &to))
			return HV_SLEEPER_UNKNOWN;
		caller = hv_gva(to);
		if (hv_scan_wants(wanted, caller) && is_call(wanted, hv_gva(fp - WORD), &caller))
			return HV_SLEEPER_INSIDE;
		if (hv_gva_in(caller, c.exceptions))
			found = look_at_exception(&c, wanted, fp, &next);
		if (found != HV_SLEEPER_ELSEWHERE)
			return found;
		if (next <= fp)
			return HV_SLEEPER_UNKNOWN;
		fp = next;
	}
	return fp == c.last ? HV_SLEEPER_ELSEWHERE : HV_SLEEPER_UNKNOWN;
}

/* A copy of a stack and its address. */
struct words {
	struct hv_gva at;
	struct hv_span copy;
	uint64_t text; /* smaller words are not code addresses */
};

static bool word_at(void *ctx, uint32_t at, uint64_t *ret)
{
	const struct words *w = ctx;

	if (!hv_span_u64(w->copy, (at - w->at.v) & HV_STACK_ADDRESS_MASK, ret))
		return false;
	if (*ret < w->text)
		*ret &= HV_STACK_ADDRESS_MASK;
	return true;
}

/* Finds the frame in which a task resumes. SP is its saved stack pointer. */
static bool first_frame(const struct hv_kernel *k, const struct words *w, struct hv_gva sp,
			struct hv_unwind_frame *ret)
{
	const char *name = hv_kernel_arch_of(&k->core)->switch_frame;
	uint32_t len, bp_off, ip_off;
	uint64_t bp;

	if (!hv_btf_size(k->core.btf, name, &len) ||
	    !hv_btf_member(k->core.btf, name, "bp", &bp_off, NULL) ||
	    !hv_btf_member(k->core.btf, name, "ret_addr", &ip_off, NULL) ||
	    !hv_span_u64(w->copy, sp.v - w->at.v + bp_off, &bp) ||
	    !hv_span_u64(w->copy, sp.v - w->at.v + ip_off, &ret->ip.v))
		return false;
	ret->sp = (uint32_t)(sp.v + len) & HV_STACK_ADDRESS_MASK;
	ret->bp = (uint32_t)bp & HV_STACK_ADDRESS_MASK;
	return true;
}

/* Returns whether F, whose address is in the range, is a frame of the code there. If its address
 * only replaces another return address, F gets the replaced one, which decides. */
static bool frame_is_inside(const struct hv_scan_for *wanted, const struct words *w,
			    struct hv_unwind_frame *f)
{
	uint64_t retp = w->at.v + ((f->sp - 8 - w->at.v) & HV_STACK_ADDRESS_MASK);

	return f->exact || hv_gva_in(f->ip, wanted->calling) || !wanted->find_caller ||
	       !wanted->find_caller(wanted->ctx, hv_gva(retp), &f->ip) ||
	       hv_scan_wants(wanted, f->ip);
}

static enum hv_sleeper follow_frames(const struct hv_kernel *k, struct hv_orc *orc,
				     const struct hv_scan_for *wanted, struct words *w,
				     struct hv_unwind_frame f)
{
	const struct hv_arch *arch = k->core.as.arch;

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		struct hv_unwind_rule rule;
		enum hv_unwound unwound;

		if (hv_scan_wants(wanted, f.ip) && frame_is_inside(wanted, w, &f))
			return HV_SLEEPER_INSIDE;
		if (wanted->is_user &&
		    (f.exact || wanted->is_user(wanted->ctx, hv_gva(f.ip.v - 1))))
			return HV_SLEEPER_INSIDE;
		if (!hv_orc_is_text(orc, f.ip))
			return hv_orc_is_init_text(orc, f.ip) ? HV_SLEEPER_ELSEWHERE
							      : HV_SLEEPER_UNKNOWN;
		if (!hv_orc_find(orc, hv_gva(f.exact ? f.ip.v : f.ip.v - 1), &rule))
			return HV_SLEEPER_UNKNOWN;
		unwound = arch->unwind(&rule, word_at, w, &f);
		if (unwound == HV_UNWOUND_END)
			return HV_SLEEPER_ELSEWHERE;
		if (unwound == HV_UNWOUND_EARLY)
			return HV_SLEEPER_UNKNOWN;
	}
	return HV_SLEEPER_UNKNOWN;
}

/* Returns the address of the last frame record, at the end of a task's stack. */
static bool find_last_record(const struct hv_kernel *k, const struct hv_task *task, uint64_t *ret)
{
	uint32_t len, off;

	if (!hv_btf_size(k->core.btf, "pt_regs", &len) ||
	    !hv_btf_member(k->core.btf, "pt_regs", "stackframe", &off, NULL))
		return false;
	*ret = task->stack.end.v - len + off;
	return true;
}

/* Offsets from an exception's frame record to the interrupted registers in its struct pt_regs. */
struct exception {
	bool is_known;
	uint32_t record, ip, link;
};

static struct exception find_exception(const struct hv_kernel *k)
{
	struct exception e = {0};
	uint32_t registers = 0;

	e.is_known = hv_btf_member(k->core.btf, "pt_regs", "stackframe", &e.record, NULL) &&
		     hv_btf_member(k->core.btf, "pt_regs", "pc", &e.ip, NULL) &&
		     hv_btf_member(k->core.btf, "pt_regs", "regs", &registers, NULL);
	e.link = registers + k->core.as.arch->link_register * 8;
	return e;
}

/* Returns whether the function interrupted at WORD had its return address only in the link
 * register, and that address is in the range. FP is the record that contains WORD. */
static bool returns_inside(const struct hv_kernel *k, const struct hv_scan_for *wanted,
			   const struct words *w, const struct exception *e, uint64_t fp,
			   uint64_t word)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t regs = fp - w->at.v - e->record, ip, link;

	if (!e->is_known || !hv_span_u64(w->copy, regs + e->ip, &ip) || ip != word ||
	    !hv_span_u64(w->copy, regs + e->link, &link))
		return false;
	if (arch->strip_signature)
		link = arch->strip_signature(link);
	return hv_scan_wants(wanted, hv_gva(link));
}

/* An exception also creates a frame record, with the interrupted address. */
static enum hv_sleeper follow_records(const struct hv_kernel *k, const struct hv_scan_for *wanted,
				      const struct words *w, uint64_t fp, uint64_t last)
{
	const struct hv_arch *arch = k->core.as.arch;
	const struct exception e = find_exception(k);

	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		uint64_t next, word;
		struct hv_gva to;

		if (fp % 8 || !hv_span_u64(w->copy, fp - w->at.v, &next) ||
		    !hv_span_u64(w->copy, fp - w->at.v + 8, &word))
			return HV_SLEEPER_UNKNOWN;
		if (!next && !word)
			return fp == last ? HV_SLEEPER_ELSEWHERE : HV_SLEEPER_UNKNOWN;
		to = hv_gva(arch->strip_signature ? arch->strip_signature(word) : word);
		if (hv_scan_wants(wanted, to) && is_call(wanted, hv_gva(fp + 8), &to))
			return HV_SLEEPER_INSIDE;
		if (returns_inside(k, wanted, w, &e, fp, word))
			return HV_SLEEPER_INSIDE;
		if (next <= fp)
			return HV_SLEEPER_UNKNOWN;
		fp = next;
	}
	return HV_SLEEPER_UNKNOWN;
}

/* Reads the frame pointer of the sleeping TASK from MEMBER of its struct task_struct. */
static bool find_frame(const struct hv_kernel *k, const struct hv_task *task, const char *member,
		       uint64_t *ret)
{
	uint32_t off;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_btf_member(k->core.btf, "task_struct", member, &off, NULL))
		return false;
	err = hv_read_u64(&k->core.as, hv_gva_add(task->task, off), ret);
	return !err;
}

/* Copies the live part of TASK's stack, from SP on. The caller frees the copy in *RET. */
static bool copy_stack(const struct hv_kernel *k, const struct hv_task *task, struct hv_gva sp,
		       struct words *ret)
{
	uint64_t len = task->stack.end.v - sp.v;
	HV_AUTO_FREE uint8_t *copy = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_gva_in(sp, task->stack) || len > k->layout.stack_bytes)
		return false;
	copy = hv_alloc(len);
	err = hv_read(&k->core.as, sp, copy, len);
	if (err)
		return false;
	*ret = (struct words){.at = sp,
			      .copy = {hv_take(copy), len},
			      .text = hv_reach_of(&k->core).text_base.v + HV_TEXT_BIT};
	return true;
}

static void words_deinit(struct words *w)
{
	free((void *)w->copy.data);
}

bool hv_sleeper_can_look(const struct hv_kernel *k, const struct hv_orc *orc)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);

	return orc || arch->saved_fp || arch->frame_chain.saved_fp;
}

enum hv_sleeper hv_sleeper_look(const struct hv_kernel *k, struct hv_orc *orc,
				const struct hv_scan_for *wanted, const struct hv_task *task)
{
	hv_cleanup(words_deinit) struct words w = {0};
	struct hv_unwind_frame f = {0};
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	uint64_t fp, last;

	if (!copy_stack(k, task, task->sp, &w))
		return HV_SLEEPER_UNKNOWN;
	if (arch->frame_chain.saved_fp)
		return find_frame(k, task, arch->frame_chain.saved_fp, &fp)
			       ? frame_chain_look(k, wanted, w.copy, w.at, fp)
			       : HV_SLEEPER_UNKNOWN;
	if (!arch->saved_fp)
		return first_frame(k, &w, task->sp, &f) ? follow_frames(k, orc, wanted, &w, f)
							: HV_SLEEPER_UNKNOWN;
	if (!find_frame(k, task, arch->saved_fp, &fp) || !find_last_record(k, task, &last))
		return HV_SLEEPER_UNKNOWN;
	return follow_records(k, wanted, &w, fp, last);
}

bool hv_sleeper_waits(const struct hv_kernel *k, const struct hv_vcpu_regs *regs)
{
	uint32_t waits = hv_kernel_arch_of(&k->core)->waits, insn;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!waits || !hv_gva_in(regs->ip, k->text))
		return false;
	err = hv_read_u32(&k->core.as, hv_gva(regs->ip.v - 4), &insn);
	return !err && insn == waits;
}

#define FUNCTION_BYTES 4096u

struct insn_search {
	struct hv_gva at;
	bool is_found; /* a one-byte instruction begins there */
};

static bool look_for_insn(void *ctx, const struct hv_insn *insn)
{
	struct insn_search *s = ctx;

	s->is_found |= insn->at.v == s->at.v && insn->len_bytes == 1;
	return insn->at.v < s->at.v;
}

/* Returns the start of the kernel's function that has a one-byte instruction at AT, or 0 if no
 * instruction begins there. */
static struct hv_gva function_of_insn(const struct hv_kernel *k, struct hv_gva at)
{
	const struct hv_symbol *symbol = hv_symbols_at(&k->core.symbols, at);
	struct insn_search s = {.at = at};

	if (symbol && k->core.as.arch->walk_code)
		k->core.as.arch->walk_code(hv_function_code(&k->core, symbol->addr, FUNCTION_BYTES),
					   symbol->addr, look_for_insn, &s);
	return s.is_found ? symbol->addr : hv_gva(0);
}

/* Returns the return address of a function that has saved at most its frame pointer; 0 if it cannot
 * be read. */
static struct hv_gva return_address(const struct hv_kernel *k, const struct hv_task *task,
				    struct hv_gva sp)
{
	uint64_t word = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&k->core.as, sp, &word);

	if (!err && hv_gva_in(hv_gva(word), task->stack))
		err = hv_read_u64(&k->core.as, hv_gva_add(sp, 8), &word);
	return hv_gva(err ? 0 : word);
}

/* Returns whether FUNCTION is the start of one of the functions NAMES. */
static bool is_named(const struct hv_kernel *k, struct hv_gva function, const char *const *names,
		     size_t nr)
{
	struct hv_gva at;

	for (size_t i = 0; i < nr && names[i]; i++)
		if (hv_core_symbol(&k->core, names[i], &at) && at.v == function.v)
			return true;
	return false;
}

bool hv_sleeper_halts(const struct hv_kernel *k, const struct hv_task *task,
		      const struct hv_vcpu_regs *regs)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(&k->core);
	struct hv_gva at = hv_gva(regs->ip.v - 1), function;
	const struct hv_symbol *caller;
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint8_t insn;

	if (!arch->halts.insn || task->pid || !hv_gva_in(regs->ip, k->text))
		return false;
	err = hv_read(&k->core.as, at, &insn, 1);
	if (err || insn != arch->halts.insn)
		return false;
	function = function_of_insn(k, at);
	if (is_named(k, function, arch->halts.called, HV_ARRAY_LEN(arch->halts.called))) {
		caller = hv_symbols_at(&k->core.symbols, return_address(k, task, regs->sp));
		function = caller ? caller->addr : hv_gva(0);
	}
	return is_named(k, function, arch->halts.idle, HV_ARRAY_LEN(arch->halts.idle));
}

enum hv_sleeper hv_sleeper_look_waiting(const struct hv_kernel *k, const struct hv_scan_for *wanted,
					const struct hv_task *task, const struct hv_vcpu_regs *regs)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t link = regs->general[arch->link_register], last;
	hv_cleanup(words_deinit) struct words w = {0};

	if (arch->strip_signature)
		link = arch->strip_signature(link);
	if (hv_scan_wants(wanted, hv_gva(link)))
		return HV_SLEEPER_INSIDE;
	if (!copy_stack(k, task, regs->sp, &w))
		return HV_SLEEPER_UNKNOWN;
	if (hv_kernel_arch_of(&k->core)->frame_chain.saved_fp)
		return frame_chain_look(k, wanted, w.copy, w.at,
					regs->general[arch->frame_register]);
	if (!find_last_record(k, task, &last))
		return HV_SLEEPER_UNKNOWN;
	return follow_records(k, wanted, &w, regs->general[arch->frame_register], last);
}
