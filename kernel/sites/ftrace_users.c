/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sites/ftrace_users.h"

#include <stdlib.h>

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/sites/sites.h"

/* Limits on guest data */
#define OPS_MAX	      4096u
#define DIRECTS_MAX   16384u
#define HASH_BITS_MAX 20u

static const char *const callers[] = {"ftrace_caller", "ftrace_regs_caller"};

#define KPROBES_MAX 65536u
#define NR_HEADS    64u /* KPROBE_HASH_BITS is 6 in every kernel */

/* The function of struct ftrace_ops that calls kprobes, and the function of a kprobe of a trace event,
 * which only records (kernel/trace/trace_kprobe.c). */
#define OF_KPROBES "kprobe_ftrace_handler"
#define RECORDS	   "kprobe_dispatcher"

/* Functions of struct ftrace_ops that do not replace return addresses. */
static const char *const keep_returns[] = {
	"function_trace_call",
	"function_args_trace_call",
	"function_stack_trace_call",
	"function_no_repeats_trace_call",
	"function_stack_no_repeats_trace_call",
	"klp_ftrace_handler",
};

void hv_ftrace_users_deinit(struct hv_ftrace_users *u)
{
	free(u->targets);
	free(u->directs);
	free(u->kprobes);
	*u = (struct hv_ftrace_users){0};
}

static int by_address(const void *a, const void *b)
{
	const struct hv_ftrace_target *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int by_call(const void *a, const void *b)
{
	const struct hv_direct_call *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->target < y->target ? -1 : x->target > y->target;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_symbol(const struct hv_kernel_core *core, const char *name, uint64_t address)
{
	struct hv_gva known;

	return hv_core_symbol(core, name, &known) && known.v == address;
}

/* FUNCTION is that of the target's struct ftrace_ops; 0: there are several. */
static void add_target(const struct hv_kernel_core *core, struct hv_ftrace_users *u, uint64_t at,
		       uint64_t function)
{
	struct hv_ftrace_target target = {.at = at, .returns = HV_RETURNS_UNKNOWN};

	if (is_symbol(core, OF_KPROBES, function))
		target.returns = HV_RETURNS_OF_KPROBES;
	for (size_t i = 0; i < HV_ARRAY_LEN(keep_returns); i++)
		if (is_symbol(core, keep_returns[i], function))
			target.returns = HV_RETURNS_KEPT;
	u->targets = hv_realloc_array(u->targets, u->nr_targets + 1, sizeof(*u->targets));
	u->targets[u->nr_targets++] = target;
}

/* Returns whether all of FIELDS are known. */
static bool find(const struct hv_kernel_core *core, const char *type, const struct hv_field *fields,
		 size_t nr)
{
	HV_AUTO_ERR struct hv_err *unknown = hv_fields_find(core, type, fields, nr);

	return !unknown;
}

/* The list ends with ftrace_list_end, a struct ftrace_ops that has no trampoline. */
static struct hv_err *read_ops(const struct hv_kernel_core *core, struct hv_ftrace_users *u)
{
	uint32_t next, trampoline, func;
	const struct hv_field fields[] = {
		{"next", 8, &next}, {"trampoline", 8, &trampoline}, {"func", 8, &func}};
	struct hv_circle circle = {0};
	struct hv_gva list, end = {0};
	uint64_t at, target, function;
	struct hv_err *err;

	if (!hv_core_symbol(core, "ftrace_ops_list", &list) ||
	    !find(core, "ftrace_ops", fields, HV_ARRAY_LEN(fields)))
		return NULL;
	hv_core_symbol(core, "ftrace_list_end", &end);
	err = hv_read_u64(&core->as, list, &at);
	for (unsigned nr = 0; !err && at && at != end.v; nr++) {
		if (nr == OPS_MAX || hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "ftrace_ops_list does not end after %u", nr);
		err = hv_read_u64(&core->as, hv_gva(at + trampoline), &target);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at + func), &function);
		if (!err && target)
			add_target(core, u, target, function);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at + next), &at);
	}
	return err;
}

struct direct_layout {
	uint32_t size_bits, buckets; /* of struct ftrace_hash */
	uint32_t ip, direct;	     /* of struct ftrace_func_entry, which begins with its link */
};

static bool find_directs(const struct hv_kernel_core *core, struct direct_layout *l)
{
	uint32_t link;
	const struct hv_field hash[] = {{"size_bits", 8, &l->size_bits},
					{"buckets", 8, &l->buckets}};
	const struct hv_field entry[] = {
		{"hlist", 8, &link}, {"ip", 8, &l->ip}, {"direct", 8, &l->direct}};

	return find(core, "ftrace_hash", hash, HV_ARRAY_LEN(hash)) &&
	       find(core, "ftrace_func_entry", entry, HV_ARRAY_LEN(entry)) && link == 0;
}

static struct hv_err *read_bucket(const struct hv_kernel_core *core, const struct direct_layout *l,
				  uint64_t at, struct hv_ftrace_users *u)
{
	struct hv_circle circle = {0};
	struct hv_err *err = NULL;

	while (!err && at) {
		struct hv_direct_call call;

		if (u->nr_directs == DIRECTS_MAX || hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "direct_functions does not end after %zu entries",
					  u->nr_directs);
		err = hv_read_u64(&core->as, hv_gva(at + l->ip), &call.ip);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at + l->direct), &call.target);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at), &at);
		if (err)
			break;
		u->directs = hv_grow(u->directs, u->nr_directs, &u->directs_cap, 64,
				     sizeof(*u->directs));
		u->directs[u->nr_directs++] = call;
	}
	return err;
}

static struct hv_err *read_directs(const struct hv_kernel_core *core, struct hv_ftrace_users *u)
{
	HV_AUTO_FREE uint64_t *buckets = NULL;
	uint64_t hash = 0, bits = 0, at = 0;
	struct direct_layout l;
	struct hv_gva symbol;
	struct hv_err *err;

	if (!hv_core_symbol(core, "direct_functions", &symbol) || !find_directs(core, &l))
		return NULL;
	err = hv_read_u64(&core->as, symbol, &hash);
	if (err || !hash)
		return err;
	err = hv_read_u64(&core->as, hv_gva(hash + l.size_bits), &bits);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva(hash + l.buckets), &at);
	if (err || !at)
		return err;
	if (bits > HASH_BITS_MAX)
		return hv_err_new(EINVAL, "direct_functions has 2^%llu buckets",
				  (unsigned long long)bits);
	buckets = hv_alloc(sizeof(*buckets) << bits);
	err = hv_read(&core->as, hv_gva(at), buckets, sizeof(*buckets) << bits);
	for (uint64_t i = 0; !err && i < 1ull << bits; i++)
		err = read_bucket(core, &l, buckets[i], u);
	return err;
}

struct kprobe_reading {
	uint32_t next, addr, function; /* offsets in struct kprobe */
	unsigned nr;
};

/* AT is the address of the member `hlist` of the first kprobe. Returns false if the list cannot be
 * read or does not end. */
static bool read_kprobe_list(const struct hv_kernel_core *core, struct kprobe_reading *l,
			     uint64_t at, struct hv_ftrace_users *u)
{
	struct hv_circle circle = {0};

	while (at) {
		uint64_t kprobe = at - l->next, address, function;
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (l->nr++ == KPROBES_MAX || hv_circle_step(&circle, at))
			return false;
		err = hv_read_u64(&core->as, hv_gva(kprobe + l->addr), &address);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(kprobe + l->function), &function);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva(at), &at);
		if (err)
			return false;
		if (is_symbol(core, RECORDS, function))
			continue;
		u->kprobes = hv_grow(u->kprobes, u->nr_kprobes, &u->kprobes_cap, 64,
				     sizeof(*u->kprobes));
		u->kprobes[u->nr_kprobes++] = address;
	}
	return true;
}

static void read_kprobes(const struct hv_kernel_core *core, struct hv_ftrace_users *u)
{
	struct kprobe_reading l = {0};
	const struct hv_field fields[] = {
		{"hlist.next", 8, &l.next}, {"addr", 8, &l.addr}, {"pre_handler", 8, &l.function}};
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint64_t heads[NR_HEADS];
	struct hv_gva table;

	if (!hv_core_symbol(core, "kprobe_table", &table) ||
	    !find(core, "kprobe", fields, HV_ARRAY_LEN(fields)))
		return;
	err = hv_read(&core->as, table, heads, sizeof(heads));
	u->knows_kprobes = !err;
	for (size_t i = 0; u->knows_kprobes && i < NR_HEADS; i++)
		u->knows_kprobes = read_kprobe_list(core, &l, heads[i], u);
}

struct hv_err *hv_ftrace_users_read(const struct hv_kernel_core *core, struct hv_ftrace_users *ret)
{
	hv_cleanup(hv_ftrace_users_deinit) struct hv_ftrace_users u = {0};
	struct hv_err *err;

	for (size_t i = 0; i < HV_ARRAY_LEN(callers); i++) {
		struct hv_gva caller;

		if (hv_core_symbol(core, callers[i], &caller))
			add_target(core, &u, caller.v, 0);
	}
	err = read_ops(core, &u);
	if (!err)
		err = read_directs(core, &u);
	if (err)
		return hv_err_in(err, "users of ftrace");
	read_kprobes(core, &u);
	if (u.nr_targets)
		qsort(u.targets, u.nr_targets, sizeof(*u.targets), by_address);
	if (u.nr_directs)
		qsort(u.directs, u.nr_directs, sizeof(*u.directs), by_call);
	if (u.nr_kprobes)
		qsort(u.kprobes, u.nr_kprobes, sizeof(*u.kprobes), by_number);
	*ret = u;
	u = (struct hv_ftrace_users){0};
	return NULL;
}

static const struct hv_ftrace_target *find_target(const struct hv_ftrace_users *u,
						  struct hv_gva target)
{
	const struct hv_ftrace_target key = {.at = target.v};

	if (!u->nr_targets)
		return NULL;
	return bsearch(&key, u->targets, u->nr_targets, sizeof(key), by_address);
}

static bool is_direct(const struct hv_ftrace_users *u, struct hv_gva ip, struct hv_gva target)
{
	const struct hv_direct_call call = {ip.v, target.v};

	return u->nr_directs && bsearch(&call, u->directs, u->nr_directs, sizeof(call), by_call);
}

bool hv_ftrace_users_explain(const struct hv_ftrace_users *u, struct hv_gva ip,
			     struct hv_gva target)
{
	return find_target(u, target) || is_direct(u, ip, target);
}

bool hv_ftrace_users_keep_returns(const struct hv_ftrace_users *u, struct hv_gva ip,
				  struct hv_gva target)
{
	const struct hv_ftrace_target *found = find_target(u, target);

	if (!found)
		return is_direct(u, ip, target);
	if (found->returns != HV_RETURNS_OF_KPROBES)
		return found->returns == HV_RETURNS_KEPT;
	return u->knows_kprobes && !(u->nr_kprobes && bsearch(&ip.v, u->kprobes, u->nr_kprobes,
							      sizeof(*u->kprobes), by_number));
}

struct hv_err *hv_ftrace_users_count(const struct hv_kernel_core *core,
				     const struct hv_sites *sites, size_t *ret)
{
	hv_cleanup(hv_ftrace_users_deinit) struct hv_ftrace_users users = {0};
	const struct hv_arch *arch = core->as.arch;
	struct hv_err *err = NULL;
	size_t nr = 0;

	if (arch->trampolines.chain_function_off)
		err = hv_ftrace_users_read(core, &users);
	for (size_t i = 0; !err && i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];
		struct hv_gva target;

		if (!site->busy || site->invalid)
			continue;
		err = hv_read(&core->as, site->ip, bytes, arch->site_len_bytes);
		nr += !err && arch->classify_site(bytes, site->ip, &target) == HV_SITE_CALL &&
		      hv_ftrace_users_explain(&users, site->ip, target);
	}
	if (!err)
		*ret = nr;
	return err;
}
