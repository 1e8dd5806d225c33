/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture of a profile: SVG with a program in it. Each frame is a group of a rectangle and a
 * text, whose title appears when the pointer is on it. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/guard.h"
#include "profile/flame.h"

#define WIDTH	   1200.0
#define MARGIN	   10.0
#define ROW	   17
#define TOP	   52
#define BOTTOM	   34
#define CHAR_WIDTH 6.6
#define MIN_WIDTH  0.15 /* narrower frames are left out */
#define DEPTH_MAX  1024

static const char style[] = "text{font:12px monospace;fill:#111;pointer-events:none}"
			    "#hvt{font-size:17px;text-anchor:middle}"
			    ".hvf rect{cursor:pointer;stroke:#fff;stroke-width:.4}.hvf "
			    "rect:hover{stroke:#000;stroke-width:1}"
			    ".hvb{cursor:pointer;pointer-events:all;fill:#05a}";

/* The program. `hvZoom`, `hvSearch` and `hvReset` are also for tests. */
static const char script[] =
	"(function(){'use strict';\n"
	"var W=1180,M=10,C=6.6,F=[].slice.call(document.querySelectorAll('.hvf')),found=null;\n"
	"F.forEach(function(g){var r=g.querySelector('rect');g.r=r;g.t=g.querySelector('text');\n"
	" g.x=+r.getAttribute('x')-M;g.w=+r.getAttribute('width');g.y=+r.getAttribute('y');\n"
	" g.c=r.getAttribute('fill');g.n=g.getAttribute('data-n');g.s=+g.getAttribute('data-s');\n"
	" g.addEventListener('click',function(){hvZoom(g)})});\n"
	"function put(g,x,w){g.style.display=w<.15?'none':'';g.r.setAttribute('x',x+M);\n"
	" g.r.setAttribute('width',w);g.t.setAttribute('x',x+M+3);\n"
	" var "
	"k=Math.floor((w-6)/C);g.t.textContent=k<3?'':g.n.length<=k?g.n:g.n.slice(0,k-2)+'..'}\n"
	"window.hvZoom=function(z){F.forEach(function(g){var e=1e-6;\n"
	" if(g.y>z.y&&g.x<=z.x+e&&g.x+g.w>=z.x+z.w-e){g.r.style.opacity=.5;put(g,0,W)}\n"
	" else if(g.x<z.x-e||g.x+g.w>z.x+z.w+e||g.y>z.y){put(g,0,0)}\n"
	" else{g.r.style.opacity=1;put(g,(g.x-z.x)*W/z.w,g.w*W/z.w)}})};\n"
	"window.hvReset=function(){F.forEach(function(g){g.r.style.opacity=1;put(g,g.x,g.w)})};\n"
	"window.hvSearch=function(word){var sum=0,end=-1;found=word||null;\n"
	" var p=null;try{p=word?new RegExp(word):null}catch(e){p=null}\n"
	" F.forEach(function(g){var "
	"hit=p&&p.test(g.n);g.r.setAttribute('fill',hit?'#e0e':g.c);g.h=hit});\n"
	" F.filter(function(g){return g.h}).sort(function(a,b){return "
	"a.x-b.x||b.w-a.w}).forEach(function(g){\n"
	"  if(g.x>=end-1e-6){sum+=g.s;end=g.x+g.w}});\n"
	" var all=F.length?F[0].s:0;document.getElementById('hvm').textContent=\n"
	"  p?'found: '+(all?(100*sum/all).toFixed(1):'0.0')+' %':'';return sum};\n"
	"function ask(){if(found){hvSearch('')}else{var w=prompt('Search for a name (regular "
	"expression)');\n"
	" if(w){hvSearch(w)}}}\n"
	"document.getElementById('hvs').addEventListener('click',ask);\n"
	"document.getElementById('hvr').addEventListener('click',hvReset);\n"
	"window.addEventListener('keydown',function(e){if(e.key==='f'&&(e.ctrlKey||e.metaKey)){\n"
	" e.preventDefault();ask()}else if(e.key==='Escape'){hvReset()}});\n"
	"})();\n";

/* Adds NAME as text of XML or as the value of an attribute. XML permits no U+FFFE and U+FFFF. */
static void add_xml(struct hv_text *out, const char *name, size_t max_bytes)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_utf8(&safe, name, max_bytes);
	hv_text_add(&safe, "");
	for (const char *at = safe.data; *at; at++) {
		if (*at == '&')
			hv_text_add(out, "&amp;");
		else if (*at == '<')
			hv_text_add(out, "&lt;");
		else if (*at == '>')
			hv_text_add(out, "&gt;");
		else if (*at == '"')
			hv_text_add(out, "&quot;");
		else if (*at == '\'')
			hv_text_add(out, "&#39;");
		else if ((uint8_t)at[0] == 0xef && (uint8_t)at[1] == 0xbf &&
			 (uint8_t)at[2] >= 0xbe) {
			hv_text_add_char(out, '?');
			at += 2;
		} else
			hv_text_add_char(out, *at);
	}
}

/* The colour is strong if the share changed by a fifth of all samples or more. */
static void add_growth_color(struct hv_text *out, double growth)
{
	double strength = growth < 0 ? -growth * 5 : growth * 5;
	unsigned pale = (unsigned)(240.5 - (strength > 1 ? 160 : 160 * strength));

	if (growth < 0)
		hv_text_printf(out, "rgb(%u,%u,240)", pale, pale);
	else
		hv_text_printf(out, "rgb(240,%u,%u)", pale, pale);
}

/* Kernel frames are orange, groups grey, programs green; the name varies the shade. */
static void add_color(struct hv_text *out, const struct hv_flame_node *node)
{
	unsigned h = 0;

	for (const char *at = node->name ? node->name : ""; *at; at++)
		h = h * 31 + (uint8_t)*at;
	h %= 48;
	if (node->kind == HV_CHAIN_KERNEL)
		hv_text_printf(out, "rgb(%u,%u,60)", 225 + h % 30, 120 + h);
	else if (node->kind == HV_CHAIN_USER)
		hv_text_printf(out, "rgb(%u,%u,%u)", 110 + h, 190 + h, 100 + h / 2);
	else
		hv_text_printf(out, "rgb(%u,%u,%u)", 190 + h / 2, 195 + h / 2, 205 + h / 2);
}

struct drawing {
	const struct hv_flame *f;
	double per_unit;
	double *lefts; /* owned; by node */
	unsigned height;
	struct hv_text *out;
};

static void add_label(struct drawing *d, const char *name, double width)
{
	size_t chars = width > 6 ? (size_t)((width - 6) / CHAR_WIDTH) : 0, len = strlen(name);

	if (chars < 3)
		return;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)name[i] >= 0x80)
			return; /* the program shortens it */
	add_xml(d->out, name, len <= chars ? len : chars - 2);
	hv_text_add(d->out, len <= chars ? "" : "..");
}

static void add_frame(struct drawing *d, uint32_t at)
{
	const struct hv_flame_node *node = &d->f->nodes[at];
	const char *name = at ? node->name : "all";
	double width = (double)node->total * d->per_unit, left = d->lefts[at];
	unsigned y = d->height - BOTTOM - ROW * (node->depth + 1);
	uint64_t all = d->f->nodes[0].total;

	hv_text_add(d->out, "<g class=\"hvf\" data-n=\"");
	add_xml(d->out, name, SIZE_MAX);
	hv_text_printf(d->out, "\" data-s=\"%" PRIu64 "\"><title>", node->total);
	add_xml(d->out, name, SIZE_MAX);
	hv_text_add(d->out, node->kind == HV_CHAIN_KERNEL ? " (kernel): " : ": ");
	if (d->f->unit == HV_CHAIN_NS)
		hv_text_printf(d->out, "%.6f s", (double)node->total / HV_NS_PER_S);
	else
		hv_text_printf(d->out, "%" PRIu64 " samples", node->total);
	hv_text_printf(d->out,
		       ", %.2f %%</title><rect x=\"%.4f\" y=\"%u\" width=\"%.4f\" "
		       "height=\"%u\" fill=\"",
		       all ? 100.0 * (double)node->total / (double)all : 0, MARGIN + left, y, width,
		       ROW - 1);
	if (d->f->compares)
		add_growth_color(d->out, node->growth);
	else
		add_color(d->out, node);
	hv_text_printf(d->out, "\"/><text x=\"%.4f\" y=\"%u\">", MARGIN + left + 3, y + 12);
	add_label(d, name, width);
	hv_text_add(d->out, "</text></g>\n");
}

static bool is_drawn(const struct drawing *d, uint32_t at)
{
	return (double)d->f->nodes[at].total * d->per_unit >= MIN_WIDTH &&
	       d->f->nodes[at].depth <= DEPTH_MAX;
}

/* Children of a node are side by side from its left edge. A node that is not drawn has no drawn
 * descendants. Parents precede children. */
static unsigned place(struct drawing *d)
{
	unsigned deepest = 0;

	for (uint32_t at = 0; at < d->f->nr; at++) {
		double left = d->lefts[at];

		if (is_drawn(d, at) && d->f->nodes[at].depth > deepest)
			deepest = d->f->nodes[at].depth;
		for (uint32_t child = d->f->nodes[at].child; child;
		     child = d->f->nodes[child].next) {
			d->lefts[child] = left;
			left += (double)d->f->nodes[child].total * d->per_unit;
		}
	}
	return deepest;
}

bool hv_flame_svg(const struct hv_flame *f, const char *title, size_t max_bytes,
		  struct hv_text *out)
{
	HV_AUTO_FREE double *lefts = hv_alloc((f->nr + 1) * sizeof(*lefts));
	uint64_t all = f->nodes[0].total;
	struct drawing d = {.f = f,
			    .per_unit = (WIDTH - 2 * MARGIN) / (double)(all ? all : 1),
			    .lefts = lefts,
			    .out = out};
	bool is_complete = true;

	d.height = TOP + BOTTOM + ROW * (place(&d) + 1);
	hv_text_printf(out,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		       "viewBox=\"0 0 %u %u\">\n<style>%s</style>\n"
		       "<rect width=\"100%%\" height=\"100%%\" fill=\"#fdfdf6\"/>\n"
		       "<text id=\"hvt\" x=\"%u\" y=\"24\">",
		       (unsigned)WIDTH, d.height, (unsigned)WIDTH, d.height, style,
		       (unsigned)WIDTH / 2);
	add_xml(out, title, SIZE_MAX);
	hv_text_printf(
		out,
		"</text>\n<text id=\"hvr\" class=\"hvb\" x=\"10\" y=\"44\">reset zoom</text>\n"
		"<text id=\"hvs\" class=\"hvb\" x=\"%u\" y=\"44\">search</text>\n"
		"<text id=\"hvm\" x=\"10\" y=\"%u\"></text>\n",
		(unsigned)WIDTH - 60, d.height - 12);
	for (uint32_t at = 0; is_complete && at < f->nr; at++) {
		if (!is_drawn(&d, at))
			continue;
		is_complete = out->len_bytes < max_bytes;
		if (is_complete)
			add_frame(&d, at);
	}
	hv_text_printf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
	return is_complete;
}
