// SPDX-License-Identifier: GPL-2.0-only
/*
 * Positions are in per cent of the width, so that the graph fills any window; the script truncates
 * the names anew. The script needs only a frame's samples and the samples left of it. Full names
 * are in the titles only, as text.
 */
#include "draw/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "draw/flamegraph-script.h"
#include "draw/flamegraph-style.h"

#define ROW 16
#define HEAD_ROW 15
#define TOP 76 /* room for title, search, legend and the frame under the pointer */
#define BOTTOM 10
#define WIDTH 1200 /* names are truncated for this width until the script runs */
#define CHARACTER 6.6
#define SHADES 4

static const char letters[FLAME_KINDS] = { 'a', 'c', 'k', 'p', 'g', 'j', 'v', 'u' };

/*
 * XML allows only three control characters, and none of them belongs into a name. The others listed
 * here are invisible or change the direction of writing.
 */
static bool flamegraph_is_shown(uint32_t code)
{
	return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && code != 0xfffe && code != 0xffff &&
	       !(code >= 0x200b && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2060 && code <= 0x206f) && code != 0x61c && code != 0xfeff &&
	       !(code >= 0xe0000 && code <= 0xe0fff);
}

static void put_character(struct buffer *text, const char *at, size_t size, uint32_t code)
{
	switch (code) {
	case '&':
		buffer_text(text, "&amp;");
		break;
	case '<':
		buffer_text(text, "&lt;");
		break;
	case '>':
		buffer_text(text, "&gt;");
		break;
	case '"':
		buffer_text(text, "&quot;");
		break;
	default:
		buffer_bytes(text, at, size);
	}
}

/* Puts at most characters_max characters; the last two of a truncated name are dots. */
static void flamegraph_put_name(struct buffer *text, const char *name, size_t characters_max)
{
	const char *end = name + strlen(name), *at = name;
	size_t characters = 0;

	for (; at < end; characters++) {
		size_t size = utf8_take((const uint8_t *)at, end - at, NULL);

		at += MAX(size, (size_t)1);
	}
	for (at = name; at < end;) {
		uint32_t code = 0;
		size_t size = utf8_take((const uint8_t *)at, end - at, &code);

		if (characters > characters_max && characters_max-- <= 2) {
			buffer_text(text, "..");
			return;
		}
		characters--;
		if (size && flamegraph_is_shown(code))
			put_character(text, at, size, code);
		else
			buffer_text(text, "\ufffd");
		at += MAX(size, (size_t)1);
	}
}

static double flamegraph_percent(const struct flame *flame, uint64_t samples)
{
	return 100.0 * samples / MAX(flame->frames.items[0].samples, 1ull);
}

static unsigned int head_lines(const char *head)
{
	unsigned int lines = 0;

	for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
		lines++;
	return lines;
}

static unsigned int top_of(const struct flamegraph *graph)
{
	return TOP + HEAD_ROW * (head_lines(graph->head) + (graph->flame->left_out != 0));
}

static unsigned int height_of(const struct flamegraph *graph)
{
	return top_of(graph) + ROW * (graph->flame->depth + 1) + BOTTOM;
}

static void put_omitted(const struct flame *flame, unsigned int y, struct buffer *text)
{
	buffer_printf(text,
		      "<text class=\"head\" x=\"10\" y=\"%u\">%" PRIu64
		      " frame%s under %.3g %% omitted</text>\n",
		      y, flame->left_out, flame->left_out == 1 ? "" : "s", 100 * flame->least);
}

static void flamegraph_put_head(const struct flamegraph *graph, struct buffer *text)
{
	unsigned int y = 46;

	buffer_text(text, "<text id=\"title\" x=\"50%\" y=\"24\">");
	flamegraph_put_name(text, graph->title, SIZE_MAX);
	buffer_text(text, "</text>\n");
	for (const char *head = graph->head; *head; y += HEAD_ROW) {
		size_t size = strcspn(head, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)size, head);
		buffer_printf(text, "<text class=\"head\" x=\"10\" y=\"%u\">", y);
		flamegraph_put_name(text, line, SIZE_MAX);
		buffer_text(text, "</text>\n");
		head += size + (head[size] == '\n');
	}
	if (graph->flame->left_out)
		put_omitted(graph->flame, y, text);
}

static void flamegraph_put_legend(const struct flamegraph *graph, struct buffer *text)
{
	static const char *const names[] = { "thread", "kernel", "program", "Go",
					     "JIT",    "vdso",	 "unknown" };
	bool present[FLAME_KINDS] = { false };

	for (size_t i = 0; i < graph->flame->frames.count; i++)
		present[graph->flame->frames.items[i].kind] = true;
	buffer_printf(text, "<text class=\"head\" x=\"10\" y=\"%u\">", top_of(graph) - 26);
	for (int kind = FLAME_COMM; kind < FLAME_KINDS; kind++)
		if (present[kind])
			buffer_printf(text, "<tspan class=\"%c1\">\u25a0</tspan> %s  ",
				      letters[kind], names[kind - FLAME_COMM]);
	buffer_text(text, "</text>\n");
	buffer_printf(text, "<text id=\"details\" class=\"head\" x=\"10\" y=\"%u\"> </text>\n",
		      top_of(graph) - 10);
}

/* SVG has no input field, so the search is HTML. */
static void put_controls(struct buffer *text)
{
	buffer_text(text,
		    "<foreignObject id=\"controls\" x=\"0\" y=\"4\" width=\"100%\" height=\"30\">");
	buffer_text(text, "<div xmlns=\"http://www.w3.org/1999/xhtml\">");
	buffer_text(text, "<button id=\"reset\" hidden=\"hidden\">Reset zoom</button> ");
	buffer_text(text, "<span id=\"matched\"></span> ");
	buffer_text(text, "<input id=\"search\" type=\"search\" placeholder=\"search (/)\" ");
	buffer_text(text, "aria-label=\"search\" spellcheck=\"false\"/>");
	buffer_text(text, "</div></foreignObject>\n");
}

static unsigned int shade_of(const char *name)
{
	return hash_bytes(name, strlen(name)) % SHADES;
}

static void flamegraph_put_frame(const struct flamegraph *graph, const struct flame_frame *frame,
				 struct buffer *text)
{
	const struct flame *flame = graph->flame;
	double x = flamegraph_percent(flame, frame->start),
	       width = flamegraph_percent(flame, frame->samples);
	unsigned int y = top_of(graph) + ROW * frame->depth;
	size_t room = width / 100 * WIDTH > 6 ? (width / 100 * WIDTH - 6) / CHARACTER : 0;

	buffer_printf(text,
		      "<g class=\"%c%u\" data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\"><title>",
		      letters[frame->kind], shade_of(frame->name), frame->start, frame->samples);
	flamegraph_put_name(text, frame->name, SIZE_MAX);
	buffer_printf(text, "\n%" PRIu64 " sample%s, %.2f %%</title>", frame->samples,
		      frame->samples == 1 ? "" : "s", width);
	buffer_printf(text, "<rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\"/>", x, y,
		      width, ROW - 1);
	buffer_printf(text, "<text x=\"%.4f%%\" y=\"%u\">", x, y + 11);
	if (room >= 3)
		flamegraph_put_name(text, frame->name, room);
	buffer_text(text, "</text></g>\n");
}

int flamegraph_write(const struct flamegraph *graph, struct output *output)
{
	struct buffer *text = &output->text;
	unsigned int height = height_of(graph);

	buffer_printf(text,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%u\">\n"
		      "<style>\n%s</style>\n"
		      "<rect id=\"ground\" width=\"100%%\" height=\"%u\"/>\n",
		      height, flamegraph_style, height);
	flamegraph_put_head(graph, text);
	flamegraph_put_legend(graph, text);
	buffer_text(text, "<svg id=\"frames\">\n");
	for (size_t i = 0; i < graph->flame->frames.count; i++) {
		flamegraph_put_frame(graph, &graph->flame->frames.items[i], text);
		output_flush(output);
	}
	buffer_text(text, "</svg>\n");
	put_controls(text);
	buffer_printf(text, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flamegraph_script);
	return buffer_failed(text) ? -ENOMEM : 0;
}
