// SPDX-License-Identifier: GPL-2.0-only
#include "flamescope-export/disguise.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "flamescope-export/sanitise.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

/*
 * Words that begin lines of source code. libmagic recognises such a word if a blank follows, and in
 * the text a blank follows every comm. Versions of libmagic differ, so this list contains the words
 * of all versions, and more.
 */
static const char *const words[] = {
	"begin",  "BEGIN",     "call",	    "char",    "class",	    "const",	  "def",
	"define", "defmodule", "defn",	    "divert",  "dnl",	    "double",	  "end",
	"enum",	  "EXEC",      "export",    "extends", "extern",    "float",	  "fn",
	"from",	  "func",      "function",  "if",      "import",    "impl",	  "include",
	"inline", "int",       "interface", "let",     "library",   "local",	  "lib",
	"long",	  "module",    "mod",	    "my",      "namespace", "ns",	  "package",
	"proc",	  "PROC",      "procedure", "program", "pub",	    "record",	  "rem",
	"REM",	  "require",   "return",    "say",     "SECTION",   "set",	  "short",
	"signed", "SiSU",      "static",    "struct",  "sub",	    "subroutine", "template",
	"trait",  "type",      "typedef",   "union",   "unit",	    "unsigned",	  "use",
	"uses",	  "using",     "var",	    "virtual", "void",	    "volatile",	  "MODE",
	"REF",	  "FLEX",      "SUBDIRS",
};

/* Words that libmagic also recognises at the start of a longer comm. */
static const char *const starts[] = { "CFLAGS", "LDFLAGS", "VPATH", "sisu" };

/*
 * Words that libmagic recognises at one fixed offset behind the header, mostly byte 1080. An
 * attacker can repeat such a word in a name until one copy stands at that offset.
 */
static const char *const placed_words[] = { "M.K.",    "FLT4",	    "FLT8", "CHN",   "CD81",
					    "OKTA",    "16CN",	    "32CN", "SEGA",  "EAGN",
					    "EAMG",    "DICM",	    "IMA",  "RINEX", "BOOKMOBI",
					    "DOSFONT", "MaDoKaN96", "RoR",  "JFS1",  "PCD_IPI",
					    "SWAP" };

static bool has_placed_word(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(placed_words); i++)
		if (strstr(name, placed_words[i]))
			return true;
	return false;
}

/*
 * Nearly every pattern of libmagic contains a blank or a punctuation mark. A name with a mark that
 * is not in `signs` may therefore match a pattern of some version.
 */
static bool is_harmless(const char *name, const char *signs)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(signs, *at))
			return false;
	return !has_placed_word(name);
}

/*
 * A comm stands at the start of a line. There, libmagic takes a dot for a command of troff, and a
 * word with a colon for a label of C++ such as `public:`. The name of a kernel thread is harmless,
 * because its colon follows a number.
 */
static bool comm_is_harmless(const char *comm)
{
	size_t letters = strspn(comm, LETTERS);

	if (*comm == '.' || comm[letters] == ':')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(comm, words[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(comm, starts[i], strlen(starts[i])))
			return false;
	return is_harmless(comm, "_.:/@+-[]");
}

static bool frame_is_harmless(const struct tape *tape, uint32_t id)
{
	const struct tape_frame *frame = &tape->frames.items[id];

	return is_harmless(tape_string(tape, frame->symbol), "_.:/@+-[]()*") &&
	       is_harmless(tape_string(tape, tape->modules.items[frame->module].path), "_.:/@+-[]");
}

bool disguise_is_needed(const struct tape_text *text, const struct tape_sample *sample)
{
	const struct tape *tape = text->tape;
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	uint32_t id = sample->stack;
	bool harmless = comm_is_harmless(tape_string(tape, thread->comm)) &&
			frame_is_harmless(tape, sample->frame);

	for (; harmless && id; id = tape->stacks.items[id].parent)
		harmless = frame_is_harmless(tape, tape->stacks.items[id].frame);
	return !harmless;
}

void disguise_put_value(struct buffer *text, const char *value)
{
	size_t start = text->size;

	sanitise_put_value(text, value);
	for (size_t i = start; i < text->size; i++)
		if (text->data[i] < 0x80 && !isalnum(text->data[i]) &&
		    !strchr(" _.:/@+-[]*?!,", text->data[i]))
			text->data[i] = '_';
}
