/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF of a fake kernel with functions that take parameters of every form, for tests of probes. */
#include <stdlib.h>

#include "kernel/types/btf.h"
#include "kernel/sites/modules.h"
#include "tests/lib/fake_session.h"
#include "tests/unit/kernel/types/btf_build.h"

static void parameter(const char *name, uint32_t type_id)
{
	u32(*name ? str(name) : 0);
	u32(type_id);
}

static uint32_t number(const char *name, uint32_t size, uint32_t encoding)
{
	uint32_t id = type(INT, name, 0, 0, size);

	u32(encoding << 24 | size * 8);
	return id;
}

static uint32_t pointer(uint32_t to)
{
	return type(PTR, "", 0, 0, to);
}

struct ids {
	uint32_t s32, u32, u64, letter, text, any, file, kind, words;
};

/* Adds struct dentry and struct path, which %pd and %pD read. Returns struct path. */
static uint32_t make_path(uint32_t text, uint32_t u64)
{
	uint32_t string = type(STRUCT, "qstr", 2, 0, 16), dentry;

	member("hash_len", u64, 0);
	member("name", text, 64);
	dentry = type(STRUCT, "dentry", 2, 0, 24);
	member("d_flags", u64, 0);
	member("d_name", string, 64);
	dentry = pointer(dentry);
	type(STRUCT, "path", 2, 0, 16);
	member("mnt", u64, 0);
	member("dentry", dentry, 64);
	return dentry + 1;
}

static struct ids make_types(void)
{
	struct ids is = {
		.s32 = number("int", 4, 1),
		.u32 = number("unsigned int", 4, 0),
		.u64 = number("unsigned long", 8, 0),
		.letter = number("char", 1, 0),
	};
	uint32_t name, inner, parts, path;

	is.text = pointer(type(CONST, "", 0, 0, is.letter));
	is.any = pointer(0);
	name = array(is.letter, 16);
	is.words = array(is.u64, 2);
	is.kind = type(ENUM, "kind", 1, 0, 4);
	u32(str("KIND_ONE"));
	u32(1);
	inner = type(STRUCT, "inner", 4, 1, 8);
	member("nr", is.s32, 0);
	member("flag", is.u32, 3u << 24 | 35);
	member("low", is.u32, 8u << 24 | 40);
	member("far", is.u32, 31u << 24 | 39);
	parts = type(UNION, "", 2, 0, 8);
	member("kind", is.kind, 0);
	member("whole", is.u64, 0);
	path = make_path(is.text, is.u64);
	/* The type after struct file is the pointer to it. */
	is.file = type(STRUCT, "file", 9, 0, 88);
	member("mode", is.u32, 0);
	member("name", name, 64);
	member("title", is.text, 192);
	member("in", inner, 256);
	member("", parts, 320);
	member("next", is.file + 1, 384);
	member("words", is.words, 448);
	member("bad", 9999, 448);
	member("f_path", path, 576);
	is.file = pointer(is.file);
	return is;
}

static void function(const char *name, uint32_t proto)
{
	type(FUNC, name, 0, 0, proto);
}

static void make_functions(const struct ids *is)
{
	uint32_t proto = type(FUNC_PROTO, "", 2, 0, is->s32);

	parameter("file", is->file);
	parameter("title", is->text);
	function("vfs_open", proto);
	proto = type(FUNC_PROTO, "", 5, 0, is->file);
	parameter("any", is->any);
	parameter("nr", is->s32);
	parameter("kind", is->kind);
	parameter("size", is->u64);
	parameter("bad", 9999);
	function("vfs_read", proto);
	function("busy_one", type(FUNC_PROTO, "", 0, 0, 0));
	proto = type(FUNC_PROTO, "", 2, 0, 0);
	parameter(
		"a_name_that_alone_has_so_many_letters_that_few_others_fit_in_after_it_0123456789",
		1);
	parameter("and_another_name_that_is_as_long_as_it_takes_to_be_too_much", 1);
	function("longest", proto);
	proto = type(FUNC_PROTO, "", 3, 0, 0);
	parameter("__data", is->any);
	parameter("preempt", is->s32);
	parameter("file", is->file);
	function("__probestub_sched_switch", proto);
	proto = type(FUNC_PROTO, "", 2, 0, 0);
	parameter("", is->s32);
	parameter("+8(%di)", is->s32);
	function("unnamed", proto);
}

static struct hv_btf *finish(const struct hv_btf *base)
{
	HV_AUTO_TEXT struct hv_text bytes = assemble();
	struct hv_btf *btf = NULL;

	hv_err_free(
		hv_btf_new((struct hv_span){(uint8_t *)bytes.data, bytes.len_bytes}, base, &btf));
	hv_text_deinit(&types);
	hv_text_deinit(&strings);
	return btf;
}

/* BTF of any module: a function that takes a structure with a member of the kernel's type "file",
 * number FILE. */
static struct hv_btf *module_btf(const struct hv_btf *base, uint32_t file)
{
	uint32_t packet, proto;

	begin_module(base);
	packet = type(STRUCT, "packet", 2, 0, 80);
	member("len", 2, 0);
	member("file", file, 64);
	packet = pointer(packet);
	proto = type(FUNC_PROTO, "", 2, 0, packet);
	parameter("packet", packet);
	parameter("nr", 1);
	function("dummy_xmit", proto);
	return finish(base);
}

struct hv_err *hv_btf_of_module(const struct hv_kernel_core *core, struct hv_gva module,
				struct hv_btf **ret)
{
	struct hv_btf_func func = {0};
	uint32_t file = 0;

	(void)module;
	*ret = NULL;
	if (!core->btf || !hv_btf_func_find(core->btf, "vfs_open", &func))
		return NULL;
	hv_btf_param(core->btf, &func, 0, &file);
	*ret = module_btf(core->btf, file);
	return NULL;
}

static struct ids make_all(void)
{
	struct ids is;

	begin();
	is = make_types();
	make_functions(&is);
	return is;
}

struct hv_btf *hv_fake_btf(void)
{
	make_all();
	return finish(NULL);
}

struct hv_btf *hv_fake_btf_with_casts(void)
{
	struct ids is = make_all();

	type(STRUCT, "traceprobe_parse_context", 1, 0, 4);
	member("depth", is.s32, 0);
	type(STRUCT, "trace_user_buf_info", 1, 0, 8);
	member("ref", is.s32, 0);
	return finish(NULL);
}
