// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "incidents/patterns/catalogue.h"

/*
 * Returns " name=value" of each field, and "..." if the text ended too early; "none" if the pattern
 * does not match. `behind` follows the text in memory.
 */
static const char *matched_before(const char *pattern_text, const char *line, const char *behind)
{
	static char shown[512];
	_cleanup_free_ char *text = NULL;
	size_t size = strlen(line);
	struct pattern pattern;
	struct fields fields;
	struct error error = { 0 };
	size_t used = 0;

	if (pattern_init(&pattern, pattern_text, &error) < 0)
		return strcpy(shown, error.text);
	if (asprintf(&text, "%s%s", line, behind) < 0)
		abort();
	if (!pattern_match(&pattern, text, size, true, false, &fields) &&
	    !pattern_match(&pattern, text, size, true, true, &fields)) {
		pattern_done(&pattern);
		return "none";
	}
	*shown = 0;
	for (size_t i = 0; i < fields.count; i++)
		used += snprintf(shown + used, sizeof(shown) - used, " %s=%.*s",
				 fields.list[i].name, (int)fields.list[i].size,
				 fields.list[i].value);
	if (fields.truncated)
		used += snprintf(shown + used, sizeof(shown) - used, " ...");
	if (fields.has_age)
		snprintf(shown + used, sizeof(shown) - used, " %llu ns",
			 (unsigned long long)fields.age_ns);
	pattern_done(&pattern);
	return shown;
}

/* A match must not read the number that follows the text. */
static const char *matched(const char *pattern_text, const char *line)
{
	char first[512];

	snprintf(first, sizeof(first), "%s", matched_before(pattern_text, line, "9999"));
	if (strcmp(first, matched_before(pattern_text, line, "-9999")))
		return "it depends on what follows";
	return matched_before(pattern_text, line, "");
}

static void test_language(void)
{
	static const char *const rows[][3] = {
		{ "widget {n} failed", "widget 12 failed", " n=12" },
		{ "widget {n} failed", "widget -12 failed today", " n=-12" },
		{ "widget number {n}", "widget number 12", " n=12" },
		{ "widget number {n}", "widget number -", "none" },
		{ "widget number {n}", "widget number ", " ..." },
		{ "widget stuck for {s:age}", "widget stuck for 22", " s=22 22000000000 ns" },
		{ "widget stuck for {s:age}", "widget stuck for 22.5", " s=22.5 22500000000 ns" },
		{ "widget stuck for {s:age}", "widget stuck for 22.", " s=22 22000000000 ns" },
		{ "widget mask {m:hex}", "widget mask 0f", " m=0f" },
		{ "widget of {w:word}", "widget of x7", " w=x7" },
		{ "widget {n} failed", "acme: widget 12   failed", " n=12" },
		{ "widget {n} failed", "mywidget 12 failed", "none" },
		{ "widget {n} failed", "widget x failed", "none" },
		{ "widget stuck for {secs:age}s", "widget stuck for 22s",
		  " secs=22 22000000000 ns" },
		{ "widget took {t_ms:age} msecs", "widget took 1.204 msecs",
		  " t_ms=1.204 1204000 ns" },
		{ "widget mask {m:hex}!", "widget mask 0f!", " m=0f" },
		{ "widget [{c:text}:{p}] is stuck", "widget [kworker/u1:7:707] is stuck",
		  " c=kworker/u1:7 p=707" },
		{ "widget {c:most}/{p} is", "widget a/1/2 is", " c=a/1 p=2" },
		{ "widgets: {a:item},{b:part},{c:line}", "widgets: x,y z,u, v",
		  " a=x b=y z c=u, v" },
		{ "widget {s=Rx|Tx} side{=s|} {n}", "widget Tx sides 4", " s=Tx n=4" },
		{ "widget {n}{? of {m}{? ({w:word})}} died", "widget 1 of 2 (x) died",
		  " n=1 m=2 w=x" },
		{ "widget {n}{? of {m}{? ({w:word})}} died", "widget 1 died", " n=1" },
		{ "widget{*} is on fire", "widget of house 7 is on fire", "" },
		{ "{c:comm} invoked the widget", "java invoked the widget", " c=java" },
		{ "{c:comm} invoked the widget",
		  "2:13 of host-that-is-long: Web Content invoked the widget", " c=Content" },
		{ "widget {{{n}} gone", "widget {5} gone", " n=5" },
		{ "widgets gone{$}", "widgets gone today", "none" },
		{ "widgets are stuck (threshold {thr}). Since {n} usec",
		  "widgets are stuck (threshold 50", " ..." },
		{ "widgets are stuck (threshold {thr}). Since {n} usec",
		  "widgets are stuck (threshold 50). Si", " thr=50 ..." },
		{ "widgets are stuck (threshold {thr}). Since {n} usec", "widgets are stu",
		  "none" },
		{ "{ena}Trigger reset", "ena 0000:00:05.0 eth0: Trigger reset",
		  " bdf=0000:00:05.0 ifname=eth0" },
		{ "{ena}Trigger reset",
		  "ena 0000:00:05.0 (unnamed net_device) (uninitialized): Trigger reset",
		  " bdf=0000:00:05.0 ifname=(unnamed net_device) (uninitialized)" },
		{ "{ena}Trigger reset", "ena 0000:00:05.0 eth0 (unregistering): Trigger reset",
		  " bdf=0000:00:05.0 ifname=eth0" },
		{ "{ena}Trigger reset", "ens5: Trigger reset", " ifname=ens5" },
		{ "{ena}Trigger reset", "ena: Trigger reset", "" },
		{ "{ena}Trigger reset", "[ENA_COM: ena_com_x] Trigger reset", "" },
		{ "{ena}Trigger reset", "00:05.0 eth0: Trigger reset", " ifname=eth0" },
		{ "{ena}Trigger reset", "ena0: Trigger reset", "none" },
		{ "{ena}Trigger reset", "we said: Trigger reset", "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got = matched(rows[i][0], rows[i][1]);

		if (strcmp(got, rows[i][2]))
			CHECK_FAIL("\"%s\" in \"%s\":%s", rows[i][0], rows[i][1], got);
	}
}

static void test_slow(void)
{
	char text[5000];

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "widget ", 7);
	text[sizeof(text) - 1] = 0;
	CHECK_STR(matched("widget {a:text}{b:text}{c:text}{d:text} is gone", text), "none");
}

/* Returns the error of catalogue_new() for a pattern file with this text. */
static const char *refused(const char *text)
{
	static struct error error;
	char folder[] = "/tmp/perftape-test-XXXXXX", path[64];
	struct catalogue *catalogue = NULL;
	const char *said;
	int r;

	error = (struct error){ 0 };
	CHECK(mkdtemp(folder));
	CHECK_EQ(file_replace(folder, "own.conf", text, strlen(text)), 0);
	CHECK_EQ(file_replace(folder, "other", "nonsense", 8), 0);
	r = catalogue_new(folder, &catalogue, &error);
	CHECK((r == 0) == !*error.text);
	snprintf(path, sizeof(path), "%s/own.conf", folder);
	unlink(path);
	said = *error.text && !strncmp(error.text, path, strlen(path)) ? error.text + strlen(path)
								       : error.text;
	snprintf(path, sizeof(path), "%s/other", folder);
	unlink(path);
	rmdir(folder);
	catalogue_free(catalogue);
	return said;
}

static void test_own(void)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "# text\n\n[*]\nacme.widget crit 5s widget {n} failed\n", "" },
		{ "acme.widget crit 5s\n",
		  ":1: pattern needs at least 6 consecutive bytes of fixed text" },
		{ "\nacme.widget bad 5s widget {n} failed",
		  ":2: severity must be crit, err, warn, notice or info, not \"bad\"" },
		{ "acme.widget crit soon widget {n} failed",
		  ":1: stall must be a duration such as 5s or 500ms, or -, not \"soon\"" },
		{ "Acme crit - widget {n} failed",
		  ":1: kind may contain a-z, 0-9, _, - and . only, not \"Acme\"" },
		{ "acme crit - widget {n failed", ":1: missing } at \"{n failed\"" },
		{ "acme crit - widget {n:what} failed", ":1: unknown field type at \"{n\"" },
		{ "acme crit - widget {N} failed", ":1: unknown placeholder at \"{N\"" },
		{ "acme crit - widget {n:age} failed",
		  ":1: the name of an age must end with _ns, _us, _ms or _s at \"{n\"" },
		{ "acme crit - widget {?{n} failed", ":1: missing } at \"\"" },
		{ "acme crit - {n} x {m}",
		  ":1: pattern needs at least 6 consecutive bytes of fixed text" },
		{ "[kernel\n", ":1: expected [NAME] or [*], not \"[kernel\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *said = refused(rows[i][0]);

		if (strcmp(said, rows[i][1]))
			CHECK_FAIL("\"%s\": \"%s\"", rows[i][0], said);
	}
}

static const char *kind_of(const struct catalogue *catalogue, const char *text, const char *writer)
{
	struct message message = { .text = text,
				   .size = strlen(text),
				   .writer = writer,
				   .writer_size = writer ? strlen(writer) : 0 };
	struct fields fields;
	const struct kind *kind = catalogue_match(catalogue, &message, true, &fields);

	return kind ? kind->name : "none";
}

static void test_writers(void)
{
	static const char oom[] = "Memory cgroup out of memory: Killed process 1 (x) total-vm:1kB, "
				  "anon-rss:1kB, file-rss:0kB";
	static const char restart[] =
		"a.service: Scheduled restart job, restart counter is at 131.";
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;

	CHECK_EQ(catalogue_new("/nonexistent", &catalogue, NULL), 0);
	CHECK(catalogue_count(catalogue) > 77);
	CHECK_STR(kind_of(catalogue, oom, NULL), "oom.kill");
	CHECK_STR(kind_of(catalogue, oom, "kernel"), "oom.kill");
	CHECK_STR(kind_of(catalogue, oom, "kubelet"), "none");
	CHECK_STR(kind_of(catalogue, restart, "systemd"), "sd.restart");
	CHECK_STR(kind_of(catalogue, restart, "kernel"), "none");
}

/* Names that a task can give itself to look like something else. */
static const char *const names[] = {
	"it's",		  "a\"b`c'",	     "'",	  "a[1] b",	"a[1]: b",
	"a) score 1",	  "x:1 blocked",     "process '", "line\nline", "\x1b[31m\xc2\x9b",
	"Killed process", "123456789012345",
};

/* The kernel's messages with the name of a task, %s. */
static const struct {
	const char *kind, *format;
} named[] = {
	{ "task.hung", "INFO: task %s:4711 blocked for more than 122 seconds." },
	{ "cpu.soft_lockup", "watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [%s:4711]" },
	{ "oom.kill", "Out of memory: Killed process 4711 (%s) total-vm:1kB, anon-rss:2kB, "
		      "file-rss:3kB, shmem-rss:4kB, UID:0 pgtables:5kB oom_score_adj:0" },
	{ "oom.kill", "Memory cgroup out of memory: Kill process 4711 (%s) score 999 or sacrifice "
		      "child" },
	{ "oom.reaped", "oom_reaper: reaped process 4711 (%s), now anon-rss:0kB, file-rss:0kB, "
			"shmem-rss:0kB" },
	{ "oom.invoked", "%s invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
			 "oom_score_adj=0" },
	{ "mm.alloc_fail", "%s: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL), "
			   "nodemask=(null)" },
};

/* A task that chooses a strange name does not hide what happens to it. */
static void test_named(void)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;

	CHECK_EQ(catalogue_new("/nonexistent", &catalogue, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(named) * ARRAY_SIZE(names); i++) {
		const char *name = names[i / ARRAY_SIZE(named)], *found;
		const char *format = named[i % ARRAY_SIZE(named)].format,
			   *at = strstr(format, "%s");
		char text[256];
		struct message message = { .text = text };
		const struct field *comm;
		const struct kind *kind;
		struct fields fields;

		/* the kernel quotes a path behind this word */
		if (at == format && strncmp(name, "process '", 9) == 0)
			continue;
		message.size = snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - format), format,
					name, at + 2);
		kind = catalogue_match(catalogue, &message, false, &fields);
		comm = kind ? fields_find(&fields, "comm") : NULL;
		found = kind ? kind->name : "none";
		if (strcmp(found, named[i % ARRAY_SIZE(named)].kind) != 0 || fields.quoted ||
		    !comm || comm->size != strlen(name) ||
		    memcmp(comm->value, name, comm->size) != 0)
			CHECK_FAIL("%s: %s", text, found);
	}
}

/* Each anchor is found at each place of a text, also beside other anchors. */
static void test_anchors(void)
{
	_cleanup_(cleanup_catalogue) struct catalogue *catalogue = NULL;
	const struct anchors *anchors;

	CHECK_EQ(catalogue_new(NULL, &catalogue, NULL), 0);
	anchors = catalogue_anchors(catalogue);
	for (size_t i = 0; i < catalogue_count(catalogue); i++) {
		const struct pattern *pattern = &catalogue_kind(catalogue, i)->pattern;

		for (size_t before = 0; before < 20; before++) {
			char text[256] = "aaaaaaaaaaaaaaaaaaaaaaa";
			struct anchors_search search;
			size_t at;
			uint32_t value;
			bool found = false;

			memcpy(text + before, pattern->anchor, pattern->anchor_size);
			anchors_start(anchors, &search, text, before + pattern->anchor_size);
			while ((value = anchors_next(anchors, &search, &at)) != UINT32_MAX)
				found |= value == i && at == before;
			if (!found)
				CHECK_FAIL("%.*s at %zu", (int)pattern->anchor_size,
					   pattern->anchor, before);
		}
	}
}

CHECK_MAIN({ "patterns match their texts", test_language },
	   { "a hostile line takes no longer", test_slow },
	   { "own patterns work, and wrong ones are refused", test_own },
	   { "a kind is taken only from its writers", test_writers },
	   { "a task's name hides no incident", test_named },
	   { "anchors are found anywhere", test_anchors })
