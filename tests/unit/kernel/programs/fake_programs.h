/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake kernel with a process, its mappings, and files in the page cache, for unit tests and the
 * fuzzer. */
#pragma once

#include <elf.h>

#include "tests/unit/kernel/tasks/fake_tasks.h"

#define FP_PAGE	   4096u
#define FP_PID	   71u
#define FP_VMEMMAP 0xffffea0000000000ull
#define FP_STRUCT  64u /* size of struct page */
#define FP_EXEC	   4u
#define FP_VDSO	   0x7ffff7fc1000ull

/* struct mm_struct */
#define FP_ROOT	       8u
#define FP_FIRST       24u
#define FP_IMAGE       48u
/* struct vm_area_struct */
#define FP_START       0u
#define FP_END	       8u
#define FP_MM	       16u
#define FP_FLAGS       24u
#define FP_PGOFF       32u
#define FP_FILE	       40u
#define FP_NEXT	       48u
/* nodes of the maple tree */
#define FP_PIVOTS      8u
#define FP_LEAF_SLOTS  128u
#define FP_INNER_SLOTS 80u
#define FP_LEAF(node)  ((node) | 1u << 3 | 2)
#define FP_INNER(node) ((node) | 3u << 3 | 2)
/* struct file, dentry and mount */
#define FP_VFS	       0u
#define FP_DENTRY      8u
#define FP_MAPPING     16u
#define FP_PPREV       8u
#define FP_PARENT      16u
#define FP_LEN	       28u
#define FP_NAME	       32u
#define FP_IN_MOUNT    16u
/* struct address_space, inode and xa_node */
#define FP_HEAD	       16u
#define FP_INO	       0u
#define FP_SIZE	       8u
#define FP_IMAP	       16u
#define FP_SLOTS       16u

struct fp {
	struct ft t;
	uint64_t mm, root, mount; /* ROOT: the root directory */
};

static bool fp_has_tree;
static uint64_t fp_vmemmap; /* address of the symbol */

static inline void fp_declare(struct fk *f)
{
	uint32_t tree = FK_STRUCT("maple_tree", 16, {"ma_root", FP_ROOT, 8});
	uint32_t context = FK_STRUCT("mm_context", 24, {"vdso", 8, 8}, {"vdso_image", 16, 8});
	uint32_t path = FK_STRUCT("path", 16, {"mnt", FP_VFS, 8}, {"dentry", FP_DENTRY, 8});
	uint32_t hash = FK_STRUCT("hlist_bl_node", 16, {"next", 0, 8}, {"pprev", FP_PPREV, 8});
	uint32_t name = FK_STRUCT("qstr", 16, {"len", FP_LEN - 24, 4}, {"name", FP_NAME - 24, 8});
	uint32_t vfs = FK_STRUCT("vfsmount", 16, {"mnt_root", 0, 8});
	uint32_t pages = FK_STRUCT("xarray", 16, {"xa_head", FP_HEAD - 8, 8});

	if (fp_has_tree)
		FK_STRUCT("mm_struct", 64, {"mm_mt", 0, 0, tree}, {"context", 32, 0, context});
	else
		FK_STRUCT("mm_struct", 64, {"mmap", FP_FIRST, 8}, {"context", 32, 0, context});
	FK_STRUCT("vm_area_struct", 64, {"vm_start", FP_START, 8}, {"vm_end", FP_END, 8},
		  {"vm_mm", FP_MM, 8}, {"vm_flags", FP_FLAGS, 8}, {"vm_pgoff", FP_PGOFF, 8},
		  {"vm_file", FP_FILE, 8}, {"vm_next", FP_NEXT, 8});
	FK_STRUCT("maple_range_64", 256, {"pivot", FP_PIVOTS, 120}, {"slot", FP_LEAF_SLOTS, 128});
	FK_STRUCT("maple_arange_64", 256, {"pivot", FP_PIVOTS, 72}, {"slot", FP_INNER_SLOTS, 80});
	FK_STRUCT("file", 32, {"f_path", 0, 0, path}, {"f_mapping", FP_MAPPING, 8});
	FK_STRUCT("dentry", 48, {"d_hash", 0, 0, hash}, {"d_parent", FP_PARENT, 8},
		  {"d_name", 24, 0, name});
	FK_STRUCT("mount", 48, {"mnt_parent", 0, 8}, {"mnt_mountpoint", 8, 8},
		  {"mnt", FP_IN_MOUNT, 0, vfs});
	FK_STRUCT("address_space", 32, {"host", 0, 8}, {"i_pages", 8, 0, pages});
	FK_STRUCT("inode", 32, {"i_ino", FP_INO, 8}, {"i_size", FP_SIZE, 8},
		  {"i_mapping", FP_IMAP, 8});
	FK_STRUCT("xa_node", 16 + 8 * 64, {"shift", 0, 1}, {"slots", FP_SLOTS, 8 * 64});
	FK_STRUCT("page", FP_STRUCT, {"flags", 0, 8});
	FK_STRUCT("vdso_image", 16, {"data", 0, 8}, {"size", 8, 8});
	FK_STRUCT("css_set", 24, {"dfl_cgrp", 0, 8}, {"subsys", 8, 16});
	FK_STRUCT("cgroup_subsys_state", 8, {"cgroup", 0, 8});
	FK_STRUCT("cgroup", 8, {"kn", 0, 8});
	FK_STRUCT("kernfs_node", 16, {"__parent", 0, 8}, {"name", 8, 8});
	fp_vmemmap = fk_alloc(f, 8);
	fk_u64(f, fp_vmemmap, FP_VMEMMAP);
	fk_symbol(f, "vmemmap_base", fp_vmemmap);
}

static inline uint64_t fp_dentry(struct fp *p, uint64_t parent, const char *name)
{
	uint64_t dentry = fk_alloc(&p->t.f, 48), text = fk_alloc(&p->t.f, 256);

	fk_u64(&p->t.f, dentry + FP_PPREV, 1);
	fk_u64(&p->t.f, dentry + FP_PARENT, parent ? parent : dentry);
	fk_u32(&p->t.f, dentry + FP_LEN, (uint32_t)strlen(name));
	fk_u64(&p->t.f, dentry + FP_NAME, text);
	fk_str(&p->t.f, text, name);
	return dentry;
}

/* Mounts the directory ROOT on POINT of the mount PARENT; 0: nowhere. */
static inline uint64_t fp_mount(struct fp *p, uint64_t parent, uint64_t point, uint64_t root)
{
	uint64_t mount = fk_alloc(&p->t.f, 48);

	fk_u64(&p->t.f, mount, parent ? parent : mount);
	fk_u64(&p->t.f, mount + 8, point);
	fk_u64(&p->t.f, mount + FP_IN_MOUNT, root);
	return mount;
}

/* Returns the struct page of the page at GVA. */
static inline uint64_t fp_page(uint64_t gva)
{
	return FP_VMEMMAP + (FK_GPA + gva - FK_BASE) / FP_PAGE * FP_STRUCT;
}

/* Makes an open file with the pages HEAD, an entry of an xarray. */
static inline uint64_t fp_file(struct fp *p, uint64_t mount, uint64_t dentry, uint64_t len_bytes,
			       uint64_t head)
{
	struct fk *f = &p->t.f;
	uint64_t file = fk_alloc(f, 32), inode = fk_alloc(f, 32), mapping = fk_alloc(f, 32);

	fk_u64(f, file + FP_VFS, mount + FP_IN_MOUNT);
	fk_u64(f, file + FP_DENTRY, dentry);
	fk_u64(f, file + FP_MAPPING, mapping);
	fk_u64(f, mapping, inode);
	fk_u64(f, mapping + FP_HEAD, head);
	fk_u64(f, inode + FP_INO, 7);
	fk_u64(f, inode + FP_SIZE, len_bytes);
	fk_u64(f, inode + FP_IMAP, mapping);
	return file;
}

static inline uint64_t fp_vma(struct fp *p, uint64_t start, uint64_t end, uint64_t flags,
			      uint64_t file)
{
	struct fk *f = &p->t.f;
	uint64_t vma = fk_alloc(f, 64);

	fk_u64(f, vma + FP_START, start);
	fk_u64(f, vma + FP_END, end);
	fk_u64(f, vma + FP_MM, p->mm);
	fk_u64(f, vma + FP_FLAGS, flags);
	fk_u64(f, vma + FP_PGOFF, 1);
	fk_u64(f, vma + FP_FILE, file);
	return vma;
}

/* Makes NR vmas, at most 7, with gaps between them, the mappings of the process. */
static inline void fp_map(struct fp *p, const uint64_t *vmas, unsigned nr)
{
	struct fk *f = &p->t.f;
	uint64_t leaf = fk_alloc(f, 256), start, end;

	for (unsigned i = 0; i < nr; i++) {
		memcpy(&start, fk_host(f, vmas[i] + FP_START), 8);
		memcpy(&end, fk_host(f, vmas[i] + FP_END), 8);
		fk_u64(f, leaf + FP_PIVOTS + 16 * i, start - 1);
		fk_u64(f, leaf + FP_PIVOTS + 16 * i + 8, end - 1);
		fk_u64(f, leaf + FP_LEAF_SLOTS + 16 * i + 8, vmas[i]);
		fk_u64(f, vmas[i] + FP_NEXT, i + 1 < nr ? vmas[i + 1] : 0);
	}
	fk_u64(f, p->mm + FP_ROOT, FP_LEAF(leaf));
	if (!fp_has_tree)
		fk_u64(f, p->mm + FP_FIRST, vmas[0]);
}

/* Makes a page of an ELF file with a build id and the function "main" at 0x1000 of the file. */
static inline uint64_t fp_elf(struct fp *p)
{
	static const uint8_t note[] = {4, 0, 0,	  0,   4,   0, 0,    0,	   3, 0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 1, 2};
	uint64_t page = fk_alloc(&p->t.f, FP_PAGE);
	uint8_t *bytes = fk_host(&p->t.f, page);
	Elf64_Ehdr head = {.e_phoff = 0x100,
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 2,
			   .e_shoff = 0x400,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 2};
	const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD, .p_offset = 0x1000, .p_vaddr = 0x401000, .p_filesz = 0x1000},
		{.p_type = PT_NOTE, .p_offset = 0x200, .p_filesz = sizeof(note)}};
	const Elf64_Sym symbol = {.st_name = 1,
				  .st_value = 0x401000,
				  .st_size = 0x100,
				  .st_shndx = 1,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
	const Elf64_Shdr sections[] = {
		{.sh_type = SHT_STRTAB, .sh_offset = 0x700, .sh_size = 6},
		{.sh_type = SHT_SYMTAB, .sh_offset = 0x600, .sh_size = sizeof(symbol)}};

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + 0x100, phdrs, sizeof(phdrs));
	memcpy(bytes + 0x200, note, sizeof(note));
	memcpy(bytes + 0x400, sections, sizeof(sections));
	memcpy(bytes + 0x600, &symbol, sizeof(symbol));
	memcpy(bytes + 0x701, "main", 5);
	return page;
}

/* Makes the cgroup /web, with TASK in it. */
static inline void fp_cgroup(struct fk *f, uint64_t task)
{
	uint64_t set = fk_alloc(f, 24), group = fk_alloc(f, 8), root = fk_alloc(f, 16),
		 node = fk_alloc(f, 16), name = fk_alloc(f, 8);

	fk_u64(f, task + FT_CGROUPS, set);
	fk_u64(f, set, group);
	fk_u64(f, group, node);
	fk_u64(f, node, root);
	fk_u64(f, node + 8, name);
	fk_str(f, name, "web");
}

static inline void fp_init(struct fp *p)
{
	uint64_t task;

	*p = (struct fp){0};
	ft_init_with(&p->t, fp_declare);
	task = ft_process(&p->t, FP_PID, "cat", 0x3000);
	p->mm = fk_alloc(&p->t.f, 64);
	fk_u64(&p->t.f, task + FT_MM, p->mm);
	fp_cgroup(&p->t.f, task);
	fk_u64(&p->t.f, p->mm + 32 + 8, FP_VDSO);
	p->root = fp_dentry(p, 0, "/");
	p->mount = fp_mount(p, 0, 0, p->root);
}
