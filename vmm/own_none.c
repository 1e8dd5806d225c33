/* Hosts that no machine of our own is made for. */
#include "vmm/own.h"

static struct hv_err *none(void)
{
	return hv_err_new(ENOTSUP, "machines of our own are made on x86-64 hosts only");
}

struct hv_err *hv_own_new(const struct hv_own_config *config, struct hv_own **ret)
{
	(void)config;
	(void)ret;
	return none();
}

void hv_own_free(struct hv_own *o)
{
	(void)o;
}

struct hv_err *hv_own_start(struct hv_own *o)
{
	(void)o;
	return none();
}

void hv_own_stop(struct hv_own *o)
{
	(void)o;
}

int hv_own_end_fd(const struct hv_own *o)
{
	(void)o;
	return -1;
}

struct hv_err *hv_own_end_error(struct hv_own *o)
{
	(void)o;
	return none();
}

struct hv_guest *hv_own_guest(struct hv_own *o)
{
	(void)o;
	return NULL;
}

void hv_own_let_go(struct hv_own *o)
{
	(void)o;
}

struct hv_err *hv_own_run_to_kernel(struct hv_own *o)
{
	(void)o;
	return none();
}

struct hv_err *hv_own_run_to(struct hv_own *o, struct hv_gva at)
{
	(void)o;
	(void)at;
	return none();
}

void hv_own_go(struct hv_own *o)
{
	(void)o;
}
