/* What calls of functions do to recording: the list that sites are changed by. */
#include <string.h>

#include "tracer/session_state.h"

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

static const struct hv_site_actions *find(const struct hv_session *s, uint64_t ip)
{
	struct hv_site_actions key = {.ip = ip};

	if (!s->nr_actions)
		return NULL;
	return bsearch(&key, s->actions, s->nr_actions, sizeof(key), compare_ips);
}

struct hv_err *hv_session_set_actions(struct hv_session *s, const struct hv_site_actions *list,
				      size_t nr)
{
	free(s->actions);
	s->actions = hv_alloc(nr * sizeof(*list));
	if (nr)
		memcpy(s->actions, list, nr * sizeof(*list));
	s->nr_actions = nr;
	return NULL;
}

int64_t hv_session_action_left(const struct hv_session *s, uint64_t ip, enum hv_action action,
			       int64_t not_set)
{
	const struct hv_site_actions *a = find(s, ip);

	return a && a->bits >> action & 1 ? a->left[action] : not_set;
}
