// SPDX-License-Identifier: GPL-2.0-only
/*
 * Positions are in per cent of the width, so the graph fills any window; the script truncates the
 * names anew. For each frame, the script needs only the number of its samples, and the number of
 * samples to its left. Only the titles contain the full names, as text.
 *
 * The colours of the kinds differ in lightness. People who see few colours can tell them apart,
 * also in print. tests/browser/colours.py computes how much they differ.
 */
#include "draw/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/foreign.h"
#include "draw/flamegraph-controls.h"
#include "draw/flamegraph-script.h"
#include "draw/flamegraph-style.h"
#include "draw/lines.h"

#define ROW 16
#define HEAD_ROW 15
#define TOP 76 /* height of title, search, legend and the frame under the pointer */
#define BOTTOM 24 /* height of the line with the number of folded rows */
#define WIDTH 1200 /* names are truncated and rows folded for this width until the script runs */
#define CHARACTER 6.6
#define SHADES 4
/*
 * The width at which lines of the head break, because SVG does not break them. Such lines fit a
 * window of 900 pixels.
 */
#define HEAD_COLUMNS 130

static const char letters[FLAME_KINDS] = { 'a', 'c', 'k', 'p', 'g', 'j', 'v', 'u' };
static const char *const kind_names[FLAME_KINDS] = { "",   "thread", "kernel", "program",
						     "Go", "JIT",    "vdso",   "unknown" };

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

/* Puts at most characters_max characters. A truncated name ends in two dots. */
static void flamegraph_put_name(struct buffer *text, const char *name, size_t characters_max)
{
	const char *end = name + strlen(name), *at = name;
	size_t characters = 0;

	for (; at < end; characters++) {
		uint32_t code;

		at += foreign_take(at, end - at, &code);
	}
	for (at = name; at < end;) {
		uint32_t code;
		size_t size = foreign_take(at, end - at, &code);

		if (characters > characters_max && characters_max-- <= 2) {
			buffer_text(text, "..");
			return;
		}
		characters--;
		if (foreign_is_hidden(code))
			buffer_u8(text, FOREIGN_INSTEAD);
		else
			put_character(text, at, size, code);
		at += size;
	}
}

/*
 * The steps of a change, from a frame that only the earlier window has to one that only the later
 * one has. Blue and orange differ for all who see few colours, and the signs are in the titles.
 */
#define STEPS 7
#define STEP_SAME 3
/* The least change of each step, as a part of both windows together. */
#define STEP_LITTLE 0.05
#define STEP_MUCH 0.4

static const char *const step_names[STEPS] = { "gone", "much less", "less", "same",
					       "more", "much more", "new" };

static unsigned int step_of(const struct flame_frame *frame)
{
	uint64_t later = frame->samples - frame->earlier;
	double change = ((double)later - frame->earlier) / MAX(frame->samples, 1ull);
	unsigned int steps = fabs(change) < STEP_LITTLE ? 0 : fabs(change) < STEP_MUCH ? 1 : 2;

	if (!frame->earlier || !later)
		steps = 3;
	return change < 0 ? STEP_SAME - steps : STEP_SAME + steps;
}

/* Puts a width in the unit of the graph, such as "0.420", and with `sign` "+0.420". */
static void put_amount(const struct flamegraph *graph, double samples, bool sign,
		       struct buffer *text)
{
	double amount = samples / (graph->compared == FLAMEGRAPH_PARTS ? 1e4 : 1e6);
	char shown[32];

	snprintf(shown, sizeof(shown), "%.3f", amount);
	buffer_printf(text, "%s%s", sign && amount > 0 ? "+" : "", shown);
}

static const char *const unit_names[] = {
	[FLAMEGRAPH_ONE] = "",
	[FLAMEGRAPH_CPUS] = " CPUs",
	[FLAMEGRAPH_RATES] = " samples/s",
	[FLAMEGRAPH_PARTS] = " %",
};

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

/* Returns the depth of the last row that has a frame of at least a pixel. */
static uint32_t shown_depth(const struct flame *flame)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < flame->frames.count; i++)
		if (flamegraph_percent(flame, flame->frames.items[i].samples) / 100 * WIDTH >= 1)
			depth = MAX(depth, flame->frames.items[i].depth);
	return depth;
}

static unsigned int height_of(const struct flamegraph *graph)
{
	return top_of(graph) + ROW * (shown_depth(graph->flame) + 1) + BOTTOM;
}

static void put_omitted(const struct flame *flame, unsigned int y, struct buffer *text)
{
	buffer_printf(text,
		      "<text class=\"head\" x=\"10\" y=\"%u\">%" PRIu64
		      " frame%s under %.3g %% omitted</text>\n",
		      y, flame->left_out, plural(flame->left_out), 100 * flame->least);
}

static void flamegraph_put_head(const struct flamegraph *graph, struct buffer *text)
{
	unsigned int y = 46;

	buffer_text(text, "<text id=\"title\" x=\"10\" y=\"24\">");
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
	bool present[FLAME_KINDS] = { false };

	for (size_t i = 0; i < graph->flame->frames.count; i++)
		present[graph->flame->frames.items[i].kind] = true;
	buffer_printf(text, "<text class=\"head\" x=\"10\" y=\"%u\">", top_of(graph) - 26);
	for (int kind = FLAME_COMM; !graph->compared && kind < FLAME_KINDS; kind++)
		if (present[kind])
			buffer_printf(text, "<tspan class=\"%c0\">\u25a0</tspan> %s  ",
				      letters[kind], kind_names[kind]);
	for (unsigned int step = 0; graph->compared && step < STEPS; step++)
		buffer_printf(text, "<tspan class=\"d%u\">\u25a0</tspan> %s  ", step,
			      step_names[step]);
	if (graph->compared)
		buffer_text(text, "width: before and after together; ");
	buffer_text(text, graph->reverse ? "below a function: its callers"
					 : "below a function: what it calls");
	buffer_text(text, "</text>\n");
	buffer_printf(text, "<text id=\"details\" class=\"head\" x=\"10\" y=\"%u\"> </text>\n",
		      top_of(graph) - 10);
}

static void put_folded(const struct flamegraph *graph, struct buffer *text)
{
	uint32_t rows = graph->flame->depth - shown_depth(graph->flame);

	buffer_printf(text, "<text id=\"folded\" class=\"head\" x=\"10\" y=\"%u\">",
		      height_of(graph) - 8);
	if (rows)
		buffer_printf(text, "%" PRIu32 " more row%s, of frames narrower than a pixel", rows,
			      plural(rows));
	buffer_text(text, "</text>\n");
}

static unsigned int shade_of(const char *name)
{
	return hash_bytes(name, strlen(name)) % SHADES;
}

static void put_group(const struct flamegraph *graph, const struct flame_frame *frame, bool folded,
		      struct buffer *text)
{
	buffer_printf(text,
		      "<g class=\"%c%u\" data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64
		      "\" role=\"treeitem\" aria-level=\"%" PRIu32 "\"%s%s>",
		      graph->compared ? 'd' : letters[frame->kind],
		      graph->compared ? step_of(frame) : shade_of(frame->name), frame->start,
		      frame->samples, frame->depth + 1, frame->depth ? "" : " tabindex=\"0\"",
		      folded ? " display=\"none\"" : "");
}

static void put_samples(const struct flame_frame *frame, double share, struct buffer *text)
{
	char shown[SHARE_TEXT_SIZE];

	buffer_printf(text, "\n%" PRIu64 " sample%s, ", frame->samples, plural(frame->samples));
	/* a small share is "<0.1 %", which must be escaped in XML */
	flamegraph_put_name(text, share_format(share, shown), SIZE_MAX);
}

static void put_change(const struct flamegraph *graph, const struct flame_frame *frame,
		       struct buffer *text)
{
	double later = frame->samples - frame->earlier;

	buffer_u8(text, '\n');
	put_amount(graph, later - frame->earlier, true, text);
	buffer_printf(text, "%s: %s, ", unit_names[graph->compared], step_names[step_of(frame)]);
	put_amount(graph, frame->earlier, false, text);
	buffer_text(text, " before, ");
	put_amount(graph, later, false, text);
	buffer_text(text, " after");
}

/* the title contains the kind and the change, because not everybody sees colours */
static void put_frame_title(const struct flamegraph *graph, const struct flame_frame *frame,
			    double share, struct buffer *text)
{
	buffer_text(text, "<title>");
	flamegraph_put_name(text, frame->name, SIZE_MAX);
	if (graph->compared)
		put_change(graph, frame, text);
	else
		put_samples(frame, share, text);
	buffer_printf(text, "%s%s</title>", frame->depth ? ", " : "", kind_names[frame->kind]);
}

static void flamegraph_put_frame(const struct flamegraph *graph, const struct flame_frame *frame,
				 uint32_t depth_max, struct buffer *text)
{
	const struct flame *flame = graph->flame;
	double x = flamegraph_percent(flame, frame->start),
	       width = flamegraph_percent(flame, frame->samples);
	unsigned int y = top_of(graph) + ROW * frame->depth;
	size_t room = width / 100 * WIDTH > 6 ? (width / 100 * WIDTH - 6) / CHARACTER : 0;

	put_group(graph, frame, frame->depth > depth_max, text);
	put_frame_title(graph, frame, width / 100, text);
	buffer_printf(text, "<rect x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%d\"/>", x, y,
		      width, ROW - 1);
	buffer_printf(text, "<text x=\"%.4f%%\" y=\"%u\">", x, y + 11);
	if (room >= 3)
		flamegraph_put_name(text, frame->name, room);
	buffer_text(text, "</text></g>\n");
}

/* a browser shows the first title as the title of the document; a screen reader reads it first */
static void put_document(const struct flamegraph *graph, struct buffer *text)
{
	unsigned int height = height_of(graph);

	buffer_printf(text,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%u\"\n"
		      "lang=\"en\" role=\"graphics-document document\"\n"
		      "aria-roledescription=\"flame graph\">\n",
		      height);
	buffer_text(text, "<title>");
	flamegraph_put_name(text, graph->title, SIZE_MAX);
	buffer_printf(text,
		      "</title>\n<style>\n%s</style>\n"
		      "<rect id=\"ground\" width=\"100%%\" height=\"%u\"/>\n",
		      flamegraph_style, height);
}

static void flamegraph_put_frames(const struct flamegraph *graph, struct output *output)
{
	const struct flame *flame = graph->flame;
	uint32_t depth_max = shown_depth(flame);

	buffer_printf(&output->text,
		      "<svg id=\"frames\" role=\"tree\" aria-label=\"functions, %s\">\n",
		      graph->reverse ? "each above its callers" : "each above what it calls");
	for (size_t i = 0; i < flame->frames.count; i++) {
		flamegraph_put_frame(graph, &flame->frames.items[i], depth_max, &output->text);
		output_flush(output);
	}
	buffer_text(&output->text, "</svg>\n");
}

static void flamegraph_break_head(const char *head, struct buffer *text)
{
	static const struct terminal picture = { .wrap = HEAD_COLUMNS, .unicode = true };

	if (*head)
		lines_put(&picture, (struct lines_shape){ .indent = 0 }, head, text);
	buffer_u8(text, 0);
}

int flamegraph_write(const struct flamegraph *given, struct output *output)
{
	_cleanup_(buffer_done) struct buffer head = { 0 };
	struct flamegraph graph = *given;
	struct buffer *text = &output->text;

	flamegraph_break_head(given->head, &head);
	if (buffer_failed(&head))
		return -ENOMEM;
	graph.head = buffer_shown(&head);
	put_document(&graph, text);
	flamegraph_put_head(&graph, text);
	flamegraph_put_legend(&graph, text);
	flamegraph_put_frames(&graph, output);
	put_folded(&graph, text);
	/* SVG has no input field, so the search field is HTML. The script makes it visible. */
	buffer_text(text, flamegraph_controls);
	buffer_printf(text, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flamegraph_script);
	return buffer_failed(text) ? -ENOMEM : 0;
}
