// SPDX-License-Identifier: GPL-2.0-only
/*
 * Selects the functions among an ELF file's symbols and finds their place in the file. Selects the
 * same symbols as perf, but only code, because an executed address is never in data.
 *
 * Reads the tables twice, as symbolizer/symbol-prefilter.h requires, and makes names only for the
 * symbols that remain.
 *
 * NAMES_MAX limits all names together: a million symbols may share a name of a megabyte, or expand
 * when they are demangled. KEPT_MAX limits the symbols that remain: a million of them may start at
 * one place.
 */
#include "symbolizer/elf-finders.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "symbolizer/demangle.h"
#include "symbolizer/symbol-prefilter.h"
#include "symbolizer/symbols.h"

#define NAMES_MAX (16u << 20)
/* Identical functions that a linker folded into one leave thousands of symbols at one place. */
#define KEPT_MAX (256u << 10)
#define KEPT_PER_ADDRESS 16
/* Units of the budget that demangling costs for each byte of the mangled name and of the result. */
#define DEMANGLE_UNITS 8
/*
 * perf truncates names of PLT entries, including "@plt", to the size of its buffer. Show the same
 * text.
 */
#define PLT_NAME_MAX 1023

/*
 * The state of loading: the mapped file, the file with the names (usually the same file), and the
 * result.
 */
struct loading {
	const struct elf_image *mapped;
	const struct elf_image *named;
	struct symbol_prefilter prefilter;
	/* NULL in the first pass. */
	struct symbols *symbols;
	size_t names_left;
	size_t kept_left;
	struct error *error;
};

static enum symbol_binding binding_of(const struct elf_symbol *symbol)
{
	switch (symbol->binding) {
	case STB_GLOBAL:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

/* ARM assemblers mark where code and data begin, with names such as "$a" and "$d.12". */
static bool marks_code(const struct elf_image *image, const struct elf_symbol *symbol)
{
	return (image->machine == EM_ARM || image->machine == EM_AARCH64) &&
	       symbol->type == STT_NOTYPE;
}

static bool is_mapping_name(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static bool elf_symbols_is_label(const struct elf_symbol *symbol)
{
	return symbol->type == STT_NOTYPE && symbol->visibility != STV_HIDDEN &&
	       symbol->visibility != STV_INTERNAL;
}

static bool is_function(const struct elf_symbol *symbol)
{
	return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC ||
	       symbol->type == STT_OBJECT;
}

/*
 * Returns the section of a symbol in the mapped file, because the sections of a debug file are
 * empty and have wrong offsets. If the sections of the two files differ, the segments determine the
 * offset.
 */
static const struct elf_section *symbol_section(const struct loading *loading, size_t i)
{
	const struct elf_section *section;

	if (i == SHN_UNDEF || i >= SHN_LORESERVE || i >= loading->named->sections.count)
		return NULL;
	section = &loading->named->sections.items[i];
	if (section->type == SHT_NOBITS && i < loading->mapped->sections.count &&
	    loading->mapped->sections.items[i].address == section->address)
		return &loading->mapped->sections.items[i];
	return section;
}

/* Returns true and the offset in the mapped file if perf uses the symbol. */
static bool symbol_place(const struct loading *loading, const struct elf_symbol *symbol,
			 uint64_t *ret_offset, bool *ret_code)
{
	const struct elf_section *section = symbol_section(loading, symbol->section);
	const struct elf_segment *segment;
	uint64_t address = symbol->value;

	if (!section || !(section->flags & SHF_ALLOC))
		return false;
	if (!is_function(symbol) && !(elf_symbols_is_label(symbol) && section->labels))
		return false;
	/* the lowest bit of a Thumb function's address is a flag */
	if (loading->named->machine == EM_ARM && symbol->type == STT_FUNC)
		address &= ~1ull;
	segment = elf_image_segment(loading->mapped, address);
	*ret_offset = segment ? address - segment->address + segment->offset
			      : address - section->address + section->offset;
	*ret_code = segment ? segment->executable : section->flags & SHF_EXECINSTR;
	return true;
}

/*
 * In the first pass, notes a symbol for the prefilter and returns false. In the second pass,
 * returns whether the prefilter keeps the symbol, so that add_symbol() needs its name.
 */
static bool note_symbol(struct loading *loading, uint64_t offset, uint64_t size)
{
	if (loading->symbols)
		return symbol_prefilter_keeps(&loading->prefilter, offset);
	symbol_prefilter_note(&loading->prefilter, offset, size);
	return false;
}

static int add_symbol(struct loading *loading, uint64_t offset, uint64_t size,
		      enum symbol_binding binding, const char *name)
{
	size_t name_size = strlen(name);

	if (name_size >= loading->names_left)
		return error_set(loading->error, -E2BIG, "symbols have more than 16 MB of names");
	if (!loading->kept_left)
		return error_set(loading->error, -E2BIG, "too many symbols start at one place");
	loading->names_left -= name_size + 1;
	loading->kept_left--;
	return symbols_add(loading->symbols, offset, size, binding, name, name_size);
}

/* Demangles a name if the budget allows its cost. The caller frees *ret_name. */
static int demangle_within(struct work_limit *budget, const char *name, char **ret_name)
{
	int r;

	*ret_name = NULL;
	if (!demangle_is_mangled(name) || !work_spend(budget, DEMANGLE_UNITS * strlen(name)))
		return 0;
	r = demangle(name, ret_name);
	if (*ret_name)
		work_spend(budget, DEMANGLE_UNITS * strlen(*ret_name));
	return r;
}

static int add_table_entry(struct loading *loading, struct elf_table *table,
			   struct elf_symbol symbol)
{
	_cleanup_free_ char *demangled = NULL;
	const char *name;
	uint64_t offset;
	bool code;
	int r;

	if (!symbol.name || symbol.name >= table->strings.source.size ||
	    !symbol_place(loading, &symbol, &offset, &code))
		return 0;
	if (code && marks_code(loading->named, &symbol)) {
		name = elf_table_name(table, symbol.name);
		if (!name || is_mapping_name(name))
			return 0;
	}
	if (!note_symbol(loading, offset, code ? symbol.size : 0))
		return 0;
	/* data does not need a name, but its start ends an earlier label without a size */
	if (!code)
		return add_symbol(loading, offset, 0, SYMBOL_LOCAL, "");
	name = elf_table_name(table, symbol.name);
	if (!name)
		return 0;
	r = demangle_within(loading->named->file.budget, name, &demangled);
	if (r < 0)
		return r;
	return add_symbol(loading, offset, symbol.size, binding_of(&symbol),
			  demangled ? demangled : name);
}

static int add_table(struct loading *loading, uint32_t type)
{
	_cleanup_(elf_table_done) struct elf_table table = { 0 };
	struct elf_symbol symbol;
	int r = 0;

	if (!elf_table_open(loading->named, elf_image_find_type(loading->named, type), type,
			    &table))
		return 0;
	for (size_t i = 1; r == 0 && elf_table_at(&table, i, &symbol); i++)
		r = add_table_entry(loading, &table, symbol);
	return r;
}

/* The place of the PLT's entries, and their size. */
struct plt {
	uint64_t offset;
	uint64_t entry_size;
};

static bool plt_find(const struct elf_image *image, const char *name, struct plt *ret_plt)
{
	size_t i = elf_image_find_name(image, name);
	const struct elf_section *section;
	uint64_t entry_size = 16, header_size = 16;

	if (!i)
		return false;
	section = &image->sections.items[i];
	switch (image->machine) {
	case EM_ARM:
		header_size = 20;
		entry_size = 12;
		break;
	case EM_AARCH64:
		header_size = 32;
		break;
	default:
		/* some linkers do not state the size of an entry */
		if (section->entry_size >= 8 && section->entry_size <= 64)
			header_size = entry_size = section->entry_size;
	}
	/* the second PLT, for indirect branch tracking, lacks a header */
	if (strcmp(name, ".plt.sec") == 0)
		header_size = 0;
	*ret_plt = (struct plt){ section->offset + header_size, entry_size };
	return true;
}

static int add_plt_entry(struct loading *loading, struct elf_table *dynsym, size_t number,
			 const struct plt *plt, size_t i)
{
	uint64_t offset = plt->offset + i * plt->entry_size;
	_cleanup_free_ char *demangled = NULL;
	struct elf_symbol symbol;
	char name[PLT_NAME_MAX + 1];
	const char *plain;
	int r;

	if (!elf_table_at(dynsym, number, &symbol))
		return 0;
	if (!note_symbol(loading, offset, plt->entry_size))
		return 0;
	plain = elf_table_name(dynsym, symbol.name);
	if (!plain)
		return 0;
	r = demangle_within(loading->mapped->file.budget, plain, &demangled);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s@plt", demangled ? demangled : plain);
	return add_symbol(loading, offset, plt->entry_size, SYMBOL_GLOBAL, name);
}

/*
 * Names the entries of the PLT. The PLT lacks symbols, but its entries have the order of its
 * relocations.
 */
static int add_plt(struct loading *loading, const char *name)
{
	_cleanup_(elf_relocations_done) struct elf_relocations relocations = { 0 };
	_cleanup_(elf_table_done) struct elf_table dynsym = { 0 };
	const struct elf_image *image = loading->mapped;
	size_t rela = elf_image_find_name(image, ".rela.plt");
	size_t i = rela ? rela : elf_image_find_name(image, ".rel.plt");
	struct elf_relocation relocation;
	struct plt plt;
	int r = 0;

	if (!i || !plt_find(image, name, &plt) || !elf_relocations_open(image, i, &relocations) ||
	    !elf_table_open(image, image->sections.items[i].link, SHT_DYNSYM, &dynsym))
		return 0;
	for (size_t at = 0; r == 0 && elf_relocations_at(&relocations, at, &relocation); at++)
		r = add_plt_entry(loading, &dynsym, relocation.symbol, &plt, at);
	return r;
}

static int elf_symbols_add_all(struct loading *loading)
{
	int r = add_table(loading, SHT_SYMTAB);

	if (r < 0)
		return r;
	r = add_table(loading, SHT_DYNSYM);
	if (r < 0)
		return r;
	r = add_plt(loading, ".plt");
	return r < 0 ? r : add_plt(loading, ".plt.sec");
}

/* Adds the symbols of all tables. Fails without some of them, as a part would give wrong names. */
static int elf_symbols_add_whole(struct loading *loading)
{
	int r = elf_symbols_add_all(loading);

	return r < 0 ? r : work_check(loading->named->file.budget, r);
}

static int look_up(struct loading *loading, struct addresses *addresses)
{
	int r = symbol_prefilter_init(&loading->prefilter, addresses);

	if (r < 0)
		return r;
	r = elf_symbols_add_whole(loading);
	if (r < 0)
		return r;
	r = symbol_prefilter_sort(&loading->prefilter);
	if (r < 0)
		return r;
	r = symbols_new(&loading->symbols);
	if (r < 0)
		return r;
	r = elf_symbols_add_whole(loading);
	if (r < 0)
		return r;
	r = symbols_finish(loading->symbols);
	return r < 0 ? r : symbols_answer(loading->symbols, addresses);
}

int elf_find_symbols(const struct elf_image *mapped, const struct elf_image *named,
		     struct addresses *addresses, struct error *error)
{
	struct loading loading = {
		.mapped = mapped,
		.named = named,
		.prefilter = { .budget = named->file.budget },
		.names_left = NAMES_MAX,
		.kept_left = KEPT_MAX + KEPT_PER_ADDRESS * addresses->open,
		.error = error,
	};
	int r = addresses->open ? look_up(&loading, addresses) : 0;

	symbol_prefilter_done(&loading.prefilter);
	symbols_free(loading.symbols);
	return r;
}
