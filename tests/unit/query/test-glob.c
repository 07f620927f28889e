// SPDX-License-Identifier: GPL-2.0-only
/* Patterns that are refused, and the texts that other patterns match. */
#include "tests/check.h"

#include <errno.h>

#include "query/window/glob.h"
#include "tests/random.h"

static const char *wrong(const char *pattern)
{
	static struct error error;
	int r;

	error.text[0] = 0;
	r = glob_check(pattern, &error);
	CHECK(r == 0 || r == -EINVAL);
	return r < 0 ? error.text : NULL;
}

static void test_sound(void)
{
	static const char *const sound[] = { "",
					     "*",
					     "kube*",
					     "?",
					     "[a-z]",
					     "[]]",
					     "[!]]",
					     "[^]a]*",
					     "[]-a]",
					     "[a-]",
					     "[-a]",
					     "[!-]",
					     "[[:alpha:]]",
					     "[[:alpha:][:digit:]_]",
					     "[[.a.]]",
					     "[[=a=]]",
					     "[[:]",
					     "[[:A:]",
					     "\\[",
					     "\\\\",
					     "[\\]]",
					     "[a\\]b]",
					     "a]",
					     "]",
					     "[a-a]",
					     "cgroup:*",
					     "*/kubelet.service",
					     "[/]",
					     "[[.a.]-z]",
					     "[a-[.z.]]",
					     "\xff",
					     "[\x80-\xff]" };

	for (size_t i = 0; i < ARRAY_SIZE(sound); i++)
		if (wrong(sound[i]))
			CHECK_STR(wrong(sound[i]), sound[i]);
}

static void test_unclosed(void)
{
	static const char *const open[] = { "[",    "[z-a", "[x",     "a[",  "[]",
					    "[!]",  "[^]",  "[!",     "[a-", "[[:alpha:]",
					    "[\\]", "[a\\", "x[a]y[b" };
	size_t refused = 0;

	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		refused += wrong(open[i]) != NULL;
	CHECK_EQ(refused, ARRAY_SIZE(open));
	CHECK_STR(wrong("[x"),
		  "\"[x\" is not a pattern: it has a [ without a ]; write \\[ for a plain [");
}

static void test_others(void)
{
	CHECK_STR(wrong("[z-a]"),
		  "\"[z-a]\" is not a pattern: a range in it runs backwards, as in [z-a]");
	CHECK(wrong("x[0-9b-a]"));
	CHECK(wrong("[\xff-\x80]"));
	CHECK_STR(wrong("a\\"),
		  "\"a\\\" is not a pattern: it ends with a \\; write \\\\ for a plain \\");
	CHECK_STR(wrong("[[:letter:]]"),
		  "\"[[:letter:]]\" is not a pattern: it has an unknown class; "
		  "use [:alpha:] or [:digit:]");
	CHECK(wrong("[[:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:]]"));
}

static void test_passes(void)
{
	CHECK(glob_passes(NULL, "x"));
	CHECK(glob_passes("kube*", "kubelet"));
	CHECK(!glob_passes("kube", "kubelet"));
	CHECK(glob_passes("*/kubelet.service", "/system.slice/a/kubelet.service"));
	CHECK(glob_passes("\\[x", "[x"));
}

/*
 * Whatever follows a pattern that is not refused, the pattern keeps its meaning. An open [ would be
 * closed by a following ].
 */
static void test_random(void)
{
	static const char signs[] = "[]!^-\\:.=az*";
	size_t sound = 0;

	for (int i = 0; i < 20000; i++) {
		char pattern[10] = "", longer[16];
		size_t size = 1 + random_below(8);

		for (size_t k = 0; k < size; k++)
			pattern[k] = signs[random_below(sizeof(signs) - 1)];
		if (wrong(pattern))
			continue;
		sound++;
		snprintf(longer, sizeof(longer), "%s]", pattern);
		CHECK_EQ(glob_passes(pattern, "a"), glob_passes(longer, "a]"));
		CHECK_EQ(glob_passes(pattern, "z-"), glob_passes(longer, "z-]"));
	}
	CHECK(sound > 1000);
}

CHECK_MAIN({ "valid patterns are accepted", test_sound },
	   { "a bracket without its end is refused", test_unclosed },
	   { "other errors are refused", test_others },
	   { "patterns match their texts", test_passes }, { "random patterns", test_random })
