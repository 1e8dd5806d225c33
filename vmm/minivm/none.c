/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace machines on hosts where they are not implemented. */
#include "vmm/minivm/minivm.h"

static struct hv_err *none(void)
{
	return hv_err_new(ENOTSUP, "hvtrace can run machines on x86-64 hosts only");
}

struct hv_err *hv_minivm_new(const struct hv_minivm_config *config, struct hv_minivm **ret)
{
	(void)config;
	(void)ret;
	return none();
}

void hv_minivm_free(struct hv_minivm *o)
{
	(void)o;
}

struct hv_err *hv_minivm_start(struct hv_minivm *o)
{
	(void)o;
	return none();
}

void hv_minivm_stop(struct hv_minivm *o)
{
	(void)o;
}

int hv_minivm_end_fd(const struct hv_minivm *o)
{
	(void)o;
	return -1;
}

struct hv_err *hv_minivm_end_error(struct hv_minivm *o)
{
	(void)o;
	return none();
}

bool hv_minivm_is_patched(struct hv_minivm *o)
{
	(void)o;
	return false;
}

struct hv_guest *hv_minivm_guest(struct hv_minivm *o)
{
	(void)o;
	return NULL;
}

void hv_minivm_let_go(struct hv_minivm *o)
{
	(void)o;
}

struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o)
{
	(void)o;
	return none();
}

struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at)
{
	(void)o;
	(void)at;
	return none();
}

void hv_minivm_go(struct hv_minivm *o)
{
	(void)o;
}

struct hv_err *hv_minivm_sandbox_enter(int broker, int client)
{
	(void)broker;
	(void)client;
	return none();
}
