// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "cli/fleet/fleet-spikes.h"
#include "cli/answer/coverage-line.h"
#include "cli/options/command.h"
#include "cli/window/live-names.h"
#include "cli/answer/host-name.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "cli/answer/spike-incidents.h"
#include "cli/window/window-options.h"
#include "draw/spikes-table.h"
#include "query/explain/spike-reason.h"
#include "query/read/store-host.h"
#include "query/sums/spike-leaders.h"
#include "query/sums/spikes.h"
#include "tape/busy.h"

#define MIN_NS (2 * NSEC_PER_SEC)
#define BUSY 95
#define LIMIT 40

/* The length around --at. A spike is found by a rough time, because the index has all of them. */
#define AROUND "30m"

static const struct option options[] = {
	MOMENT_OPTIONS_AROUND(AROUND, AROUND),
	{ "strict", 0, NULL, "count all losses; exit with 4 if samples are missing" },
	{ "min", 0, "LENGTH", "only spikes of at least this length (default: 2s)" },
	{ "kernel", 0, "SHARE",
	  "only seconds with at least this share in the kernel, such as 90%" },
	{ "busy", 0, "SHARE", "share from which a CPU counts as saturated (default: 95%)" },
	{ "cpu", 0, "LIST", "only these CPUs, such as 3,8-11" },
	{ "limit", 0, "N", "show the N most important (default: 40; 0: all)" },
	{ "all", 0, NULL, "also seconds in which most CPUs were busy" },
	{ "explain", 0, NULL, "add a line of reason to each spike" },
	JSON_OPTION,
	FLEET_URL_OPTIONS,
	FLEET_LABEL_OPTION,
	{ 0 },
};

static const char about[] =
	"Lists single CPUs that had no idle time left, of the whole store or of a window: when,\n"
	"how long, how much of it in the kernel, the busiest thread and that thread's own\n"
	"function, and the incident that the kernel reported then. Spikes are whole\n"
	"seconds: a stall of 3 s fills 2 or 3 of them. Seconds in which more than half of the\n"
	"CPUs were busy are left out; --all shows them. Spikes in the kernel come first, then\n"
	"long ones. With --fleet, those of all hosts, in the samples that the hosts shipped.\n"
	"\n" WINDOW_ABOUT;

struct answer {
	const struct invocation *invocation;
	struct spikes_options options;
	struct filter filter;
	struct live_names names;
	struct terminal terminal;
	uint64_t limit;
	uint64_t found;
	struct spikes spikes;
	struct spike_incidents incidents;
	struct progress_line progress;
};

static void spikes_answer_done(struct answer *answer)
{
	spikes_done(&answer->spikes);
	spike_incidents_done(&answer->incidents);
	filter_done(&answer->filter);
	live_names_done(&answer->names);
}

/* Parses "90%" or "90" and rounds it to whole per cents, because segments store whole per cents. */
static int spikes_parse_share(const struct invocation *invocation, const char *name,
			      unsigned int least, unsigned int *share)
{
	const char *text = option_value(invocation, name);
	double value;
	int end = 0;

	if (!text)
		return EXIT_DONE;
	if (sscanf(text, "%6lf%n", &value, &end) != 1 ||
	    (text[end] && strcmp(text + end, "%") != 0) || !(value >= 0 && value <= 100))
		return usage_error("--%s: \"%.60s\" is not a share; use 90%%", name, text);
	if (value > 0 && value < 1 && !text[end])
		return usage_error("--%s: \"%.60s\" is less than 1 %%; use %g%%", name, text,
				   100 * value);
	if (value < least)
		return usage_error("--%s: segments keep only seconds of at least %u %%; give more",
				   name, least);
	*share = value + 0.5;
	return EXIT_DONE;
}

static int parse_limit(struct answer *answer)
{
	const char *text = option_value(answer->invocation, "limit");
	char *end;

	/* JSON has all rows */
	answer->limit = option_given(answer->invocation, "json") ? 0 : LIMIT;
	if (!text)
		return EXIT_DONE;
	errno = 0;
	answer->limit = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9')
		return usage_error("--limit: \"%.60s\" is not a number", text);
	return EXIT_DONE;
}

static int spikes_parse_options(struct answer *answer)
{
	const struct invocation *invocation = answer->invocation;
	const char *min = option_value(invocation, "min"), *cpus = option_value(invocation, "cpu");
	struct spikes_options *of = &answer->options;
	struct error error = { 0 };
	int r = window_given(invocation)
			? window_option_parse_around(invocation, AROUND, &of->question.window)
			: EXIT_DONE;

	if (r == EXIT_DONE && min && duration_parse(min, &of->min_ns) < 0)
		r = usage_error("--min: \"%.60s\" is not a length of time; use 2s or 1m", min);
	if (r == EXIT_DONE)
		r = spikes_parse_share(invocation, "kernel", 0, &of->kernel);
	if (r == EXIT_DONE)
		r = spikes_parse_share(invocation, "busy", BUSY_LEAST, &of->busy);
	if (r == EXIT_DONE)
		r = parse_limit(answer);
	if (r == EXIT_DONE && cpus && cpu_filter_parse(cpus, &answer->filter.cpus, &error) < 0)
		r = usage_error("%s", error.text);
	of->all = option_given(invocation, "all");
	of->losses = option_given(invocation, "strict");
	of->question.filter = &answer->filter;
	of->question.name = live_names_give;
	of->question.context = &answer->names;
	return r == EXIT_DONE ? screen_read(invocation, &answer->terminal) : r;
}

static int spikes_print(const struct answer *answer)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	const struct spikes *spikes = &answer->spikes;

	if (option_given(answer->invocation, "json")) {
		spikes_put_json(spikes, &text);
		coverage_put_json(&spikes->coverage, &spikes->window, &text);
		return screen_print(&text);
	}
	host_name_put_head(answer->invocation, &spikes->coverage.facts, &spikes->window,
			   &answer->terminal, &text);
	if (spikes->list.count)
		spikes_table_draw(&(struct spikes_table){ spikes, answer->incidents.list.items,
							  option_given(answer->invocation, "utc") },
				  &answer->terminal, &text);
	return screen_print_drawing(&answer->terminal, &text);
}

static void say_found(const struct answer *answer)
{
	const struct invocation *invocation = answer->invocation;
	const struct spikes *spikes = &answer->spikes;
	const struct spikes_options *of = &answer->options;
	char length[32], min[48] = "", kernel[48] = "";

	duration_format(of->min_ns, length, sizeof(length));
	if (of->min_ns)
		snprintf(min, sizeof(min), " for %s", length);
	if (of->kernel)
		snprintf(kernel, sizeof(kernel), ", at least %u %% of it in the kernel",
			 of->kernel);
	if (!answer->found)
		say(invocation, "no single CPU was saturated%s%s", min, kernel);
	else
		say(invocation, "a CPU was saturated %" PRIu64 " time%s%s%s%s", answer->found,
		    plural(answer->found), min, of->min_ns ? " or longer" : "", kernel);
	if (spikes->list.count < answer->found)
		say(invocation, "the %zu most important are shown: --limit 0 shows all",
		    spikes->list.count);
	if (spikes->crowded)
		say(invocation,
		    "%" PRIu64 " left out, because most CPUs were busy; --all shows them",
		    spikes->crowded);
	if (spikes->unknown)
		say(invocation,
		    "%" PRIu64
		    " segment%s cannot show spikes: the rate of their event is unknown or too low",
		    spikes->unknown, plural(spikes->unknown));
	if (spikes->read)
		say(invocation,
		    "%" PRIu64 " segment%s had to be read completely: an older perftape wrote them",
		    spikes->read, plural(spikes->read));
}

/* Prints the gaps of a window one by one, and only the sum for a whole store. */
static void spikes_say_covered(const struct answer *answer, struct store_reader *reader)
{
	const struct invocation *invocation = answer->invocation;
	const struct coverage *coverage = &answer->spikes.coverage;
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (!option_given(invocation, "quiet") || !coverage_is_whole(coverage)) {
		coverage_describe(coverage, &text);
		warn("%" PRIu64 " segment%s; %s", answer->spikes.segments,
		     plural(answer->spikes.segments), buffer_shown(&text));
	}
	if (!answer->spikes.losses)
		say(invocation, "skipped samples and offline CPUs are not counted; use --strict");
	if (window_given(invocation))
		say_gaps_and_recorder(invocation, reader, &answer->spikes.window, coverage);
}

static int spikes_search(struct answer *answer, struct store_reader *reader)
{
	const struct invocation *invocation = answer->invocation;
	struct error error = { 0 };
	int r;

	progress_line_start(&answer->progress, "segments", option_given(invocation, "quiet"));
	answer->options.progress = progress_line_show;
	answer->options.progress_context = &answer->progress;
	r = spikes_find(reader, &answer->options, &answer->spikes, &error);
	progress_line_end(&answer->progress);
	answer->found = answer->spikes.list.count;
	if (r < 0)
		return fail(r, &error);
	if (answer->limit)
		spikes_limit(&answer->spikes, answer->limit);
	r = spikes_add_clock_error(reader, &answer->spikes, &error);
	if (r < 0)
		return fail(r, &error);
	r = spikes_add_unrecorded_cpus(reader, &answer->filter.cpus, &answer->spikes, &error);
	if (r < 0)
		return fail(r, &error);
	/* JSON keeps the order of time */
	if (!option_given(invocation, "json"))
		spikes_sort_by_weight(&answer->spikes);
	r = spikes_find_leaders(reader, &answer->options.question, LIMIT, &answer->spikes, &error);
	if (r < 0)
		return fail(r, &error);
	if (option_given(invocation, "explain"))
		r = spike_reasons_set(&answer->spikes);
	if (r < 0)
		return fail(r, &error);
	r = store_host_find(reader, &answer->spikes.window, &answer->spikes.coverage.facts, &error);
	if (r < 0)
		return fail(r, &error);
	r = spike_incidents_find(reader, &answer->spikes, &answer->incidents, &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int spikes_run_answer(struct answer *answer)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct invocation *invocation = answer->invocation;
	const struct coverage *coverage = &answer->spikes.coverage;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);
	bool nothing;

	if (r < 0)
		return fail(r, &error);
	r = spikes_search(answer, reader);
	if (r != EXIT_DONE)
		return r;
	nothing = !coverage->covered_ns || (coverage->left_out_all && !answer->found);
	if (answer->spikes.window.to_ns && (nothing || option_given(invocation, "json")))
		say_window(invocation, &answer->spikes.window);
	if (nothing)
		return screen_nothing(invocation, reader, &answer->spikes.window, coverage);
	r = spikes_print(answer);
	/* JSON has said it with the window */
	if (!option_given(invocation, "json"))
		say_window_note(invocation, &answer->spikes.window);
	say_found(answer);
	spikes_say_covered(answer, reader);
	return r == EXIT_DONE ? coverage_line_code(invocation, coverage) : r;
}

static int spikes_run(const struct invocation *invocation)
{
	struct answer answer = {
		.invocation = invocation,
		.options = { .min_ns = MIN_NS, .busy = BUSY },
	};
	int r;

	if (option_given(invocation, "fleet"))
		return fleet_spikes(invocation);
	r = fleet_answer_refuse(invocation);
	if (r == EXIT_DONE)
		r = spikes_parse_options(&answer);
	if (r == EXIT_DONE)
		r = spikes_run_answer(&answer);
	spikes_answer_done(&answer);
	return r;
}

const struct command command_spikes = {
	.name = "spikes",
	.summary = "List saturated single CPUs, found without any incident",
	.about = about,
	.options = options,
	.run = spikes_run,
};
