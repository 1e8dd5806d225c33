/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/type_sources.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kernel/core/btf_file.h"
#include "kernel/core/btf_members.h"
#include "kernel/core/btf_proof.h"
#include "kernel/image/identity.h"
#include "kernel/image/release.h"
#include "kernel/image/vmlinux.h"
#include "kernel/types/dwarf.h"

/* Sets core->btf, or leaves it NULL if the source has no types. */
typedef struct hv_err *(*source_fn)(struct hv_kernel_core *core, const struct hv_type_files *files,
				    const struct hv_identity *id);

struct hv_err *hv_types_read_memory(struct hv_kernel_core *core)
{
	struct hv_gva start, stop;
	struct hv_span btf = {0};
	struct hv_err *err;

	if (hv_core_symbol(core, "__start_BTF", &start) &&
	    hv_core_symbol(core, "__stop_BTF", &stop) && stop.v > start.v)
		btf = hv_image_part(&core->image, start, stop.v - start.v);
	if (!btf.len_bytes || stop.v - start.v > btf.len_bytes)
		return NULL;
	err = hv_btf_new_over(btf, &core->btf);
	if (err)
		return err;
	hv_image_hold(&core->image, (struct hv_gva_range){start, stop});
	core->types.from = HV_TYPES_IN_MEMORY;
	return NULL;
}

static struct hv_err *from_memory(struct hv_kernel_core *core,
				  const struct hv_type_files *files hv_unused,
				  const struct hv_identity *id hv_unused)
{
	return hv_types_read_memory(core);
}

/* Takes some seconds for a distribution's kernel. */
static struct hv_err *read_dwarf(struct hv_vmlinux *v)
{
	HV_AUTO_FD int own = v->file.fd < 0 ? open(v->file.path, O_RDONLY | O_CLOEXEC) : -1;
	struct hv_err *err;

	if (v->file.fd < 0 && own < 0)
		return hv_err_new(errno, "%s: %s", v->file.path, strerror(errno));
	err = hv_dwarf_to_btf(own < 0 ? v->file.fd : own, HV_DWARF_TYPES_MAX, &v->btf,
			      &v->btf_len_bytes);
	return hv_err_in(err, "%s", v->file.path);
}

static struct hv_err *from_vmlinux(struct hv_kernel_core *core, const struct hv_type_files *files,
				   const struct hv_identity *id hv_unused)
{
	struct hv_vmlinux *v = files->vmlinux;
	bool is_dwarf = v && !v->btf && v->has_dwarf;
	struct hv_err *err = is_dwarf ? read_dwarf(v) : NULL;

	if (err || !v || !v->btf)
		return err;
	err = hv_btf_new((struct hv_span){v->btf, v->btf_len_bytes}, NULL, &core->btf);
	if (!err)
		core->types.from = is_dwarf ? HV_TYPES_IN_DWARF : HV_TYPES_IN_VMLINUX;
	return err;
}

/* Names both builds. A BTF file has no build id, unless it is an ELF file. */
static struct hv_err *of_another_build(struct hv_err *why, const struct hv_btf_file *file,
				       const struct hv_identity *id)
{
	HV_AUTO_FREE char *guest_id = hv_build_id_text(id->build_id, id->build_id_len_bytes);
	HV_AUTO_FREE char *file_id = hv_build_id_text(file->build_id, file->build_id_len_bytes);

	return hv_err_in(why,
			 "this file (build id %s) is of another build than the guest's Linux %s "
			 "(build id %s)",
			 file_id, id->release, guest_id);
}

static struct hv_err *check_machine(const struct hv_kernel_core *core,
				    const struct hv_btf_file *file)
{
	static const struct {
		unsigned elf;
		const char *arch;
	} machines[] = {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"}};

	if (!file->machine)
		return NULL;
	for (size_t i = 0; i < HV_ARRAY_LEN(machines); i++)
		if (machines[i].elf == file->machine &&
		    strcmp(machines[i].arch, core->as.arch->name) == 0)
			return NULL;
	return hv_err_new(EINVAL, "it is of another architecture (ELF machine %u) than %s",
			  file->machine, core->as.arch->name);
}

/* Compares the build ids, if the file has one. A guest without one is an error: a hostile guest
 * could hide its build id to avoid the comparison. */
static struct hv_err *check_build_id(const struct hv_btf_file *file, const struct hv_identity *id,
				     bool *ret_equal)
{
	if (!file->build_id_len_bytes)
		return NULL;
	if (!id->build_id_len_bytes)
		return hv_err_new(ENOTSUP,
				  "the file has a build id and the guest's kernel shows none: give "
				  "raw BTF");
	if (file->build_id_len_bytes != id->build_id_len_bytes ||
	    memcmp(file->build_id, id->build_id, id->build_id_len_bytes) != 0)
		return hv_err_new(EINVAL, "the build ids differ");
	*ret_equal = true;
	return NULL;
}

static struct hv_err *read_file(struct hv_kernel_core *core, const struct hv_btf_given *given,
				const struct hv_identity *id)
{
	struct hv_btf_file file = {0};
	bool same_build_id = false;
	struct hv_err *err = hv_btf_file_read(given->fd, &file);

	if (err)
		return err;
	err = check_machine(core, &file);
	if (!err)
		err = check_build_id(&file, id, &same_build_id);
	if (!err && !given->is_proved)
		err = hv_btf_prove(core, file.btf, id->release,
				   same_build_id ? HV_BUILD_IDS_EQUAL : HV_BUILD_IDS_UNKNOWN,
				   &core->types.proof, &core->types.unproved);
	if (!err && given->is_proved) {
		core->types.proof.build_id_equal = same_build_id;
		core->types.unproved = same_build_id ? 0 : hv_btf_members_never_proved();
	}
	if (err)
		hv_btf_free(file.btf);
	if (err && err->code == EINVAL)
		return of_another_build(err, &file, id);
	if (err && err->code == ENOTSUP)
		return hv_err_in(err,
				 "cannot tell whether this file belongs to the guest's Linux %s",
				 id->release);
	if (err)
		return err;
	core->btf = file.btf;
	core->types.from = HV_TYPES_IN_FILE;
	return NULL;
}

static void given_deinit(struct hv_btf_given *g)
{
	hv_close_at(&g->fd);
	free(g->path);
}

static struct hv_err *from_file(struct hv_kernel_core *core, const struct hv_type_files *files,
				const struct hv_identity *id)
{
	const struct hv_btf_files *btf = files->btf;
	hv_cleanup(given_deinit) struct hv_btf_given given = {.fd = -1};
	struct hv_err *err;

	if (!btf)
		return NULL;
	err = btf->open(btf->ctx, id->release, &given);
	if (err && err->code == ENOENT) {
		core->no_types = err;
		return NULL;
	}
	if (err)
		return err;
	err = read_file(core, &given, id);
	if (err)
		return hv_err_in(err, "%s", given.path);
	core->types.path = hv_take(given.path);
	return NULL;
}

struct hv_err *hv_types_find(struct hv_kernel_core *core, const struct hv_type_files *files,
			     const struct hv_identity *id)
{
	static const source_fn sources[] = {from_memory, from_vmlinux, from_file};
	struct hv_err *damaged = NULL, *err = NULL;

	for (size_t i = 0; !err && !core->btf && i < HV_ARRAY_LEN(sources); i++) {
		err = sources[i](core, files, id);
		/* A file can replace damaged BTF in the guest's memory. */
		if (err && sources[i] == from_memory && err->code == EINVAL)
			damaged = hv_take(err);
	}
	if (err || core->btf || !damaged) {
		hv_err_free(damaged);
		return err;
	}
	if (core->no_types)
		damaged = hv_err_add(damaged, "; %s", core->no_types->message);
	hv_err_free(core->no_types);
	core->no_types = damaged;
	return NULL;
}
