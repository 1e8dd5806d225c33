/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/change.h"

bool hv_change_is_text(enum hv_change_kind kind)
{
	return kind == HV_CHANGE_TEXT || kind == HV_CHANGE_YIELD || kind == HV_CHANGE_HIBERNATION ||
	       kind == HV_CHANGE_DETOUR || kind == HV_CHANGE_PLACE || kind == HV_CHANGE_KEY ||
	       kind == HV_CHANGE_EVENT_CALL || kind == HV_CHANGE_STATIC_CALL ||
	       kind == HV_CHANGE_RENAME;
}

bool hv_change_is_of_site(const struct hv_arch *arch, const struct hv_change *change)
{
	return change->kind == HV_CHANGE_TEXT && change->len_bytes == arch->site_len_bytes;
}

bool hv_change_has_inside(const struct hv_arch *arch, const struct hv_change *change,
			  struct hv_gva ip)
{
	uint64_t off = ip.v - change->gva.v;

	if (!hv_change_is_text(change->kind) || off == 0 || off >= change->len_bytes)
		return false;
	return change->kind != HV_CHANGE_TEXT || off != arch->site_first_bytes;
}

bool hv_change_is_half_gone(const struct hv_arch *arch, const struct hv_change *change,
			    const uint8_t *now)
{
	struct hv_gva before = {0}, after = {0};

	return change->kind == HV_CHANGE_TEXT && change->len_bytes == arch->site_len_bytes &&
	       arch->classify_site(now, change->gva, &before) == HV_SITE_NOP && before.v &&
	       arch->classify_site(change->to, change->gva, &after) == HV_SITE_NOP && after.v;
}
