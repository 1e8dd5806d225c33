/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/image/address_space.h"

static struct hv_err *read_entry(void *ctx, struct hv_gpa at, uint64_t *ret)
{
	return hv_guest_read(ctx, at, ret, sizeof(*ret));
}

static struct hv_err *walk(const struct hv_address_space *as, struct hv_gva gva,
			   unsigned entry_level, struct hv_mapping *ret)
{
	const struct hv_page_tables tables = {as->arch, as->root, as->levels};

	return hv_page_walk(&tables, gva, entry_level, read_entry, as->guest, ret);
}

struct hv_err *hv_walk(const struct hv_address_space *as, struct hv_gva gva, struct hv_mapping *ret)
{
	return walk(as, gva, 0, ret);
}

struct hv_err *hv_walk_to_entry(const struct hv_address_space *as, struct hv_gva gva,
				struct hv_mapping *ret)
{
	return walk(as, gva, as->arch->make_table ? as->arch->map_level : 0, ret);
}

bool hv_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa)
{
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = hv_walk(as, gva, &m);

	return !err && m.present && m.gpa.v == gpa.v;
}

bool hv_entry_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa)
{
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = hv_walk_to_entry(as, gva, &m);

	return !err && m.present && m.gpa.v == gpa.v;
}

/* FN is hv_leads_to() or hv_entry_leads_to(). */
static bool vcpu_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
			  struct hv_gva gva, struct hv_gpa gpa,
			  bool (*fn)(const struct hv_address_space *, struct hv_gva, struct hv_gpa))
{
	struct hv_address_space of_vcpu = *as;
	struct hv_gpa roots[2];
	unsigned nr;

	of_vcpu.levels = hv_arch_levels(as->arch, vcpu);
	nr = of_vcpu.levels ? as->arch->roots(vcpu, roots) : 0;
	for (unsigned i = 0; i < nr; i++) {
		of_vcpu.root = roots[i];
		if (fn(&of_vcpu, gva, gpa))
			return true;
	}
	return false;
}

bool hv_vcpu_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
		      struct hv_gva gva, struct hv_gpa gpa)
{
	return vcpu_leads_to(as, vcpu, gva, gpa, hv_leads_to);
}

bool hv_vcpu_entry_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
			    struct hv_gva gva, struct hv_gpa gpa)
{
	return vcpu_leads_to(as, vcpu, gva, gpa, hv_entry_leads_to);
}

static struct hv_err *read_piece(const struct hv_address_space *as, struct hv_gva gva, void *buf,
				 size_t max_bytes, size_t *ret_len)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk(as, gva, &m);
	size_t len;

	if (err)
		return err;
	if (!m.present)
		return hv_err_new(EFAULT, "nothing is mapped at 0x%llx", (unsigned long long)gva.v);
	len = max_bytes < m.len_bytes ? max_bytes : (size_t)m.len_bytes;
	err = hv_guest_read(as->guest, m.gpa, buf, len);
	if (err)
		return hv_err_in(err, "0x%llx", (unsigned long long)gva.v);
	*ret_len = len;
	return NULL;
}

struct hv_err *hv_read(const struct hv_address_space *as, struct hv_gva gva, void *buf,
		       size_t len_bytes)
{
	uint8_t *to = buf;

	if (len_bytes && gva.v + (len_bytes - 1) < gva.v)
		return hv_err_new(EFAULT, "%zu bytes at 0x%llx end beyond the address space",
				  len_bytes, (unsigned long long)gva.v);
	while (len_bytes) {
		size_t len = 0;
		struct hv_err *err = read_piece(as, gva, to, len_bytes, &len);

		if (err)
			return err;
		to += len;
		gva.v += len;
		len_bytes -= len;
	}
	return NULL;
}

struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva, uint64_t *ret)
{
	uint64_t value;
	struct hv_err *err = hv_read(as, gva, &value, sizeof(value));

	if (!err)
		*ret = value;
	return err;
}

struct hv_err *hv_read_u32(const struct hv_address_space *as, struct hv_gva gva, uint32_t *ret)
{
	uint32_t value;
	struct hv_err *err = hv_read(as, gva, &value, sizeof(value));

	if (!err)
		*ret = value;
	return err;
}
