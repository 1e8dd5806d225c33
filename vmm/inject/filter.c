/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes classic BPF as the kernel's seccomp does (kernel/seccomp.c, seccomp_check_filter, and
 * net/core/filter.c, bpf_check_classic). */
#include "vmm/inject/filter.h"

#include <string.h>

#include "base/guard.h"

struct value {
	uint32_t v;
	bool is_known;
};

struct state {
	const struct hv_filter_call *call;
	struct value a, x;
	struct value mem[BPF_MEMWORDS];
	uint32_t is_stored; /* bit N: mem[N] was written */
};

/* The next step of a program. */
enum step { NEXT, JUMPED, RETURNED, INVALID };

static struct value known(uint32_t v)
{
	return (struct value){v, true};
}

/* A word of struct seccomp_data, as BPF_LD | BPF_W | BPF_ABS loads it. */
static bool load_word(const struct state *s, uint32_t off, struct value *ret)
{
	const size_t args_off = offsetof(struct seccomp_data, args);

	if (off % 4 || off > sizeof(s->call->data) - 4)
		return false;
	memcpy(&ret->v, (const uint8_t *)&s->call->data + off, 4);
	ret->is_known = off < args_off || !(s->call->unknown_args >> (off - args_off) / 8 & 1);
	return true;
}

static bool load_stored(const struct state *s, uint32_t at, struct value *ret)
{
	if (at >= BPF_MEMWORDS || !(s->is_stored >> at & 1))
		return false;
	*ret = s->mem[at];
	return true;
}

static enum step load(struct state *s, const struct sock_filter *f)
{
	struct value *to = BPF_CLASS(f->code) == BPF_LD ? &s->a : &s->x;
	bool is_valid = true;

	switch (f->code & ~(unsigned)BPF_CLASS(f->code)) {
	case BPF_W | BPF_ABS:
		is_valid = to == &s->a && load_word(s, f->k, to);
		break;
	case BPF_W | BPF_LEN:
		*to = known(sizeof(struct seccomp_data));
		break;
	case BPF_IMM:
		*to = known(f->k);
		break;
	case BPF_MEM:
		is_valid = load_stored(s, f->k, to);
		break;
	default:
		is_valid = false;
	}
	return is_valid ? NEXT : INVALID;
}

static enum step store(struct state *s, const struct sock_filter *f)
{
	if (f->k >= BPF_MEMWORDS || f->code != BPF_CLASS(f->code))
		return INVALID;
	s->mem[f->k] = BPF_CLASS(f->code) == BPF_ST ? s->a : s->x;
	s->is_stored |= 1u << f->k;
	return NEXT;
}

/* A shift by more than 31 bits differs between kernels (BPF_X) or is not accepted (BPF_K). */
static enum step shift(struct state *s, unsigned op, const struct value *by)
{
	if (!by->is_known || by->v > 31) {
		s->a.is_known = false;
		return NEXT;
	}
	s->a.v = op == BPF_LSH ? s->a.v << by->v : s->a.v >> by->v;
	return NEXT;
}

/* A division by the constant 0 is not accepted; one by a register ends the program with 0. */
static enum step divide(struct state *s, const struct value *by, uint32_t *ret)
{
	if (!by->is_known)
		return INVALID;
	if (by->v == 0) {
		*ret = 0;
		return RETURNED;
	}
	s->a.v /= by->v;
	return NEXT;
}

static enum step compute(struct state *s, const struct sock_filter *f, uint32_t *ret)
{
	const struct value by = BPF_SRC(f->code) == BPF_X ? s->x : known(f->k);
	unsigned op = BPF_OP(f->code);

	if (BPF_SRC(f->code) == BPF_K &&
	    ((op == BPF_DIV && f->k == 0) || ((op == BPF_LSH || op == BPF_RSH) && f->k > 31)))
		return INVALID;
	if (op == BPF_NEG) {
		s->a.v = -s->a.v;
		return BPF_SRC(f->code) == BPF_K ? NEXT : INVALID;
	}
	switch (op) {
	case BPF_LSH:
	case BPF_RSH:
		return shift(s, op, &by);
	case BPF_DIV:
		return divide(s, &by, ret);
	case BPF_ADD:
		s->a.v += by.v;
		break;
	case BPF_SUB:
		s->a.v -= by.v;
		break;
	case BPF_MUL:
		s->a.v *= by.v;
		break;
	case BPF_AND:
		s->a.v &= by.v;
		break;
	case BPF_OR:
		s->a.v |= by.v;
		break;
	case BPF_XOR:
		s->a.v ^= by.v;
		break;
	default:
		return INVALID;
	}
	s->a.is_known = s->a.is_known && by.is_known;
	return NEXT;
}

/* Adds the distance of the jump to *AT, which is the next instruction. */
static enum step jump(const struct state *s, const struct sock_filter *f, size_t *at)
{
	const struct value with = BPF_SRC(f->code) == BPF_X ? s->x : known(f->k);
	bool taken;

	if (BPF_OP(f->code) == BPF_JA) {
		*at += f->k;
		return BPF_SRC(f->code) == BPF_K ? JUMPED : INVALID;
	}
	if (!s->a.is_known || !with.is_known)
		return INVALID;
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		taken = s->a.v == with.v;
		break;
	case BPF_JGT:
		taken = s->a.v > with.v;
		break;
	case BPF_JGE:
		taken = s->a.v >= with.v;
		break;
	case BPF_JSET:
		taken = s->a.v & with.v;
		break;
	default:
		return INVALID;
	}
	*at += taken ? f->jt : f->jf;
	return JUMPED;
}

static enum step finish(const struct state *s, const struct sock_filter *f, uint32_t *ret)
{
	if (f->code == (BPF_RET | BPF_K)) {
		*ret = f->k;
		return RETURNED;
	}
	*ret = s->a.v;
	return f->code == (BPF_RET | BPF_A) && s->a.is_known ? RETURNED : INVALID;
}

static enum step move(struct state *s, const struct sock_filter *f)
{
	if (f->code == (BPF_MISC | BPF_TAX))
		s->x = s->a;
	else if (f->code == (BPF_MISC | BPF_TXA))
		s->a = s->x;
	else
		return INVALID;
	return NEXT;
}

static enum step execute(struct state *s, const struct sock_filter *f, size_t *at, uint32_t *ret)
{
	if (f->code > UINT8_MAX)
		return INVALID;
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return load(s, f);
	case BPF_ST:
	case BPF_STX:
		return store(s, f);
	case BPF_ALU:
		return compute(s, f, ret);
	case BPF_JMP:
		return jump(s, f, at);
	case BPF_RET:
		return finish(s, f, ret);
	default:
		return move(s, f);
	}
}

/* Every jump is forwards, so the program ends. */
bool hv_filter_decide(const struct hv_filter *f, const struct hv_filter_call *call, uint32_t *ret)
{
	struct state s = {.call = call, .a = known(0), .x = known(0)};
	enum step step = NEXT;
	uint32_t action = 0;
	size_t at = 0;

	if (f->nr > HV_FILTER_INSNS_MAX)
		return false;
	while (at < f->nr && (step == NEXT || step == JUMPED)) {
		const struct sock_filter *now = &f->insns[at++];

		step = execute(&s, now, &at, &action);
	}
	if (step != RETURNED)
		return false;
	*ret = action;
	return true;
}

/* LOG makes the call and writes a line to the host's log. */
bool hv_filter_action_allows(uint32_t action)
{
	uint32_t kind = action & SECCOMP_RET_ACTION_FULL;

	return kind == SECCOMP_RET_ALLOW || kind == SECCOMP_RET_LOG;
}

const char *hv_filter_action_name(uint32_t action)
{
	static const struct {
		uint32_t action;
		const char *name;
	} names[] = {
		{SECCOMP_RET_KILL_PROCESS, "kill_process"},
		{SECCOMP_RET_KILL_THREAD, "kill_thread"},
		{SECCOMP_RET_TRAP, "trap"},
		{SECCOMP_RET_ERRNO, "errno"},
		{SECCOMP_RET_USER_NOTIF, "user_notif"},
		{SECCOMP_RET_TRACE, "trace"},
		{SECCOMP_RET_LOG, "log"},
		{SECCOMP_RET_ALLOW, "allow"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		if ((action & SECCOMP_RET_ACTION_FULL) == names[i].action)
			return names[i].name;
	return "kill_process"; /* as the kernel treats unknown actions */
}
