// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each second, or after a key, the loop reads the newest seconds of the spool and draws. The usual
 * values change slowly, so the loop reads the baseline anew once per minute, and when the grouping
 * changes.
 */
#include "cli/screens/top-live.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "cli/answer/screen.h"
#include "cli/screens/top-terminal.h"
#include "draw/text.h"

#define REDRAW_NS NSEC_PER_SEC
#define BASELINE_NS (60 * NSEC_PER_SEC)
#define HEIGHT_USUAL 24
/* Ctrl-D */
#define END_OF_INPUT 4
#define FILTER_SIZE 64

struct live {
	const struct invocation *invocation;
	struct top *top;
	struct store_reader *reader;
	uint64_t length_ns;
	/* When the loop read the baseline, on CLOCK_MONOTONIC; 0: it must read the baseline. */
	uint64_t baseline_ns;
	enum ranking_sort sort;
	/* Show only rows whose names contain this text. */
	char filter[FILTER_SIZE];
	/* The user is typing the filter. */
	bool typing;
	bool paused;
	bool help;
	/* The last answer, or the reason why it is absent. */
	struct buffer lines;
	struct error error;
};

static const char keys_text[] =
	"\n"
	"  left, right   another grouping (--by)\n"
	"  n  names: CPUs, threads of one name, functions\n"
	"  t  threads     c  cgroups     p  pods\n"
	"  f  functions   a  call paths\n"
	"  s  sort: unusual rows first, the busiest first, or by name\n"
	"  /  only rows that contain a text; Enter ends it, Esc removes it\n"
	"  space  stop and go on          h  these keys          q  quit\n";

static const char *const sort_names[] = {
	[RANKING_SORT_UNUSUAL] = "unusual",
	[RANKING_SORT_BUSY] = "busiest",
	[RANKING_SORT_NAME] = "name",
};

/* Makes the window end where the spool ends, so that the recorder has written the whole window. */
static int choose_window(struct live *live)
{
	struct window *window = &live->top->args.question.window;
	uint64_t reached_ns = 0, after_ns;
	int r;

	if (live->paused)
		return 0;
	r = store_reader_near(live->reader, UINT64_MAX, UINT64_MAX, &reached_ns, &after_ns,
			      &live->error);
	if (r < 0)
		return r;
	if (!reached_ns)
		return error_set(&live->error, -ENOENT, "nothing is recorded yet");
	*window = (struct window){ .from_ns = reached_ns - MIN(reached_ns, live->length_ns),
				   .to_ns = reached_ns };
	return 0;
}

/* Puts the first line, which says whether the recorder runs. */
static void put_recorder(const struct live *live, struct buffer *lines)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME), since_ns = 0;
	uint64_t reached_ns = live->top->args.question.window.to_ns;
	char age[32];

	if (!store_reader_recorder(live->reader, &since_ns))
		buffer_printf(lines, "no recorder runs; this is from %s ago\n",
			      duration_format(now_ns - MIN(now_ns, reached_ns), age, sizeof(age)));
}

static int read_answer(struct live *live)
{
	struct top *top = live->top;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int r = choose_window(live);

	if (r < 0)
		return r;
	if (!live->baseline_ns || now_ns - live->baseline_ns >= BASELINE_NS) {
		baseline_done(&top->baseline);
		top->baseline = (struct baseline){ 0 };
		live->baseline_ns = now_ns;
	}
	top_reset(top);
	top->started_ns = now_ns;
	r = top_read_window(top, live->reader, true, &live->error);
	if (r < 0 || !top->sums.samples)
		return r;
	return top_compare(top, live->reader, &live->error);
}

static bool has_rows(const struct ranking *ranking)
{
	return ranking->cores.count || ranking->groups.count || ranking->functions.count;
}

/* Puts the last answer with the present order and filter. */
static int put_answer(struct live *live)
{
	struct top *top = live->top;

	live->lines.size = 0;
	put_recorder(live, &live->lines);
	if (!top->sums.samples) {
		buffer_text(&live->lines, "no sample in the last seconds passes the filter\n");
		return 0;
	}
	ranking_sort(&top->ranking, live->sort);
	if (*live->filter)
		ranking_match(&top->ranking, live->filter);
	if (*live->filter && !has_rows(&top->ranking)) {
		buffer_printf(&live->lines, "no row contains '%s'; Esc shows all rows\n",
			      live->filter);
		return 0;
	}
	return top_put_screen(live->invocation, top, false, live->lines.size != 0, &live->lines);
}

static int renew(struct live *live)
{
	int r = store_reader_open(store_path(live->invocation), &live->reader, &live->error);

	if (r < 0)
		return r;
	r = read_answer(live);
	return r < 0 ? r : put_answer(live);
}

/* Reads and puts the newest answer. After a failure, puts the reason instead. */
static int refresh(struct live *live)
{
	int r = renew(live);

	live->reader = store_reader_close(live->reader);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		live->lines.size = 0;
		buffer_printf(&live->lines, "%s\n",
			      *live->error.text ? live->error.text : strerror(-r));
	}
	return 0;
}

static void put_status(const struct live *live, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer status = { 0 };

	if (live->typing)
		buffer_printf(&status, "only rows with: %s_   Enter: done   Esc: all rows",
			      live->filter);
	else
		buffer_printf(&status,
			      "q quit  left/right by: %s  s sort: %s  / filter%s%s  %s  h keys",
			      top_by_names[live->top->by], sort_names[live->sort],
			      *live->filter ? ": " : "", live->filter,
			      live->paused ? "space: GO ON" : "space: pause");
	buffer_u8(&status, 0);
	if (buffer_failed(&status))
		return;
	terminal_style(&live->top->terminal, STYLE_BOLD, text);
	text_put_short(&live->top->terminal, (const char *)status.data,
		       live->top->terminal.width - 1, text);
	terminal_style(&live->top->terminal, STYLE_PLAIN, text);
	buffer_u8(text, 0);
}

static int show(const struct live *live)
{
	const struct buffer help = { .data = (uint8_t *)keys_text, .size = sizeof(keys_text) - 1 };
	_cleanup_(buffer_done) struct buffer status = { 0 };

	put_status(live, &status);
	if (buffer_failed(&status) || !status.size)
		return -ENOMEM;
	return top_terminal_show(live->help ? &help : &live->lines, live->top->terminal.height,
				 (const char *)status.data);
}

static void choose_by(struct live *live, enum tally_by by)
{
	struct top *top = live->top;

	if (by == top->by)
		return;
	top->by = by;
	live->baseline_ns = 0;
}

static void step_by(struct live *live, int step)
{
	int count = TALLY_BY_PATH + 1;

	choose_by(live, (enum tally_by)(((int)live->top->by + step + count) % count));
}

/* Takes a key of the filter's text. */
static void type(struct live *live, int key)
{
	size_t size = strlen(live->filter);

	if (key == TOP_KEY_ESCAPE)
		*live->filter = 0;
	if (key == TOP_KEY_ESCAPE || key == '\n' || key == '\r')
		live->typing = false;
	else if ((key == 0x7f || key == '\b') && size)
		live->filter[size - 1] = 0;
	else if (key >= ' ' && key < 0x7f && size + 1 < sizeof(live->filter))
		snprintf(live->filter + size, sizeof(live->filter) - size, "%c", key);
}

static void top_live_take_key(struct live *live, int key)
{
	static const char letters[] = "nftcpa";
	const char *letter = key > 0 && key < 0x7f ? strchr(letters, key) : NULL;

	if (live->typing)
		type(live, key);
	else if (letter)
		choose_by(live, (enum tally_by)(letter - letters));
	else if (key == TOP_KEY_LEFT || key == TOP_KEY_RIGHT)
		step_by(live, key == TOP_KEY_RIGHT ? 1 : -1);
	else if (key == 's')
		live->sort = (live->sort + 1) % RANKING_SORTS;
	else if (key == '/')
		live->typing = true;
	else if (key == ' ')
		live->paused = !live->paused;
	else if (key == 'h' || key == '?')
		live->help = !live->help;
	else if (key == TOP_KEY_ESCAPE)
		*live->filter = 0;
}

static void read_size(struct live *live)
{
	struct terminal *terminal = &live->top->terminal;

	screen_read(live->invocation, terminal);
	terminal->height = terminal->height ? terminal->height : HEIGHT_USUAL;
}

/* Waits for a key until a second is over, and takes it. Returns whether the screen goes on. */
static bool wait_second(struct live *live, uint64_t until_ns)
{
	int key;

	do {
		key = top_terminal_key(until_ns);
		if (key == TOP_KEY_END || key == END_OF_INPUT || (key == 'q' && !live->typing))
			return false;
		top_live_take_key(live, key);
	} while (key == TOP_KEY_NONE && clock_ns(CLOCK_MONOTONIC) < until_ns);
	/* answer a key at once, not only at the next second */
	return true;
}

static int run(struct live *live)
{
	int r;

	do {
		read_size(live);
		r = refresh(live);
		if (r == 0)
			r = show(live);
	} while (r == 0 && wait_second(live, clock_ns(CLOCK_MONOTONIC) + REDRAW_NS));
	return r;
}

int top_live(const struct invocation *invocation, struct top *top)
{
	struct live live = { .invocation = invocation,
			     .top = top,
			     .length_ns = top->args.question.window.to_ns };
	int r;

	top->live = true;
	/* report an absent store by a message, not on the screen */
	r = store_reader_open(store_path(invocation), &live.reader, &live.error);
	live.reader = store_reader_close(live.reader);
	if (r == 0)
		r = top_terminal_open();
	if (r < 0)
		return fail(r, &live.error);
	r = run(&live);
	top_terminal_close();
	buffer_done(&live.lines);
	return r < 0 && r != -EIO ? fail(r, NULL) : EXIT_DONE;
}
