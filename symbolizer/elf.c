// SPDX-License-Identifier: GPL-2.0-only
/*
 * ELF files. The files of others are hostile until proven otherwise, so:
 *
 *  (1) libelf opens with ELF_C_READ: it reads with pread() what is asked for, and refuses sections that reach beyond the
 *      end of the file before it allocates
 *  (2) no section of more than SECTION_MAX is read at all (a sparse file is as big as it likes)
 *  (3) all names together take no more than a fixed multiple of the string tables: a million symbols may share one name
 *      of a megabyte
 *  (4) compressed sections, and those without bytes, are as if they were not there
 *
 * Which symbols are taken, and the offset each is given, is as in perf, but only of code: an address that was executed
 * cannot lie in data.
 */
#include "symbolizer/elf.h"

#include <gelf.h>
#include <libelf.h>

#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "symbolizer/demangle.h"

#define SECTION_MAX (512u << 20)
#define NOTES_MAX (1u << 20)
#define NAMES_BASE (1u << 20)
#define NAMES_FACTOR 32
/* perf cuts the names of PLT entries, "@plt" and all, to what fits its buffer; and the two must show the same. */
#define PLT_NAME_MAX 1023

struct section {
	uint64_t address;
	uint64_t offset;
	uint64_t flags;
	uint64_t entry_size;
	uint32_t type;
	uint32_t link;
	char name[12]; /* as much as is needed to know .rela.plt and .plt.sec */
	bool labels; /* of the kind whose labels perf takes for functions */
};

struct segment {
	uint64_t address;
	uint64_t size;
	uint64_t offset;
	bool executable;
};

struct image {
	Elf *elf;
	GElf_Ehdr header;
	array_of(struct section) sections;
	array_of(struct segment) segments;
};

/* What is being made, and of what: the file that is mapped, and the one with the names, mostly the same. */
struct loading {
	const struct image *mapped;
	const struct image *named;
	struct symbols *symbols;
	uint64_t names_left;
	struct error *error;
};

/* A table of symbols and its strings, borrowed from libelf. */
struct table_data {
	Elf_Data *entries;
	Elf_Data *strings;
};

static void image_done(struct image *image)
{
	elf_end(image->elf);
	array_done(&image->sections);
	array_done(&image->segments);
}

static int image_sections(struct image *image)
{
	size_t names = 0;

	if (elf_getshdrstrndx(image->elf, &names) < 0)
		names = 0;
	for (size_t i = 0;; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i);
		struct section section;
		const char *name;
		GElf_Shdr header;

		if (!scn || !gelf_getshdr(scn, &header))
			return 0;
		name = names ? elf_strptr(image->elf, names, header.sh_name) : NULL;
		section = (struct section){
			.address = header.sh_addr,
			.offset = header.sh_offset,
			.flags = header.sh_flags,
			.entry_size = header.sh_entsize,
			.type = header.sh_type,
			.link = header.sh_link,
			.labels = name && (strstr(name, "text") || strstr(name, "data")),
		};
		strncpy(section.name, name ? name : "", sizeof(section.name) - 1);
		if (array_push(&image->sections, section) < 0)
			return -ENOMEM;
	}
}

static int image_segments(struct image *image)
{
	size_t count;

	if (elf_getphdrnum(image->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, i, &header))
			return 0;
		if (header.p_type != PT_LOAD)
			continue;
		if (array_push(
			    &image->segments, (struct segment){
						      .address = header.p_vaddr,
						      .size = MAX(header.p_memsz, header.p_filesz),
						      .offset = header.p_offset,
						      .executable = header.p_flags & PF_X,
					      }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int image_open(struct image *image, Elf *elf, struct error *error)
{
	int r;

	image->elf = elf;
	if (!elf)
		return error_set(error, -EBADMSG, "cannot be read as ELF: %s", elf_errmsg(-1));
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &image->header))
		return error_set(error, -EBADMSG, "not an ELF file");
	r = image_sections(image);
	if (r == 0)
		r = image_segments(image);
	return r;
}

static int image_open_fd(struct image *image, int fd, struct error *error)
{
	elf_version(EV_CURRENT);
	return image_open(image, elf_begin(fd, ELF_C_READ, NULL), error);
}

/* The i-th section's bytes in host order, or NULL when it has none that can be used. */
static Elf_Data *image_data(const struct image *image, size_t i)
{
	Elf_Scn *scn = elf_getscn(image->elf, i);
	GElf_Shdr header;

	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS ||
		header.sh_flags & SHF_COMPRESSED || header.sh_size > SECTION_MAX)
		return NULL;
	return elf_getdata(scn, NULL);
}

/* The number of the first section of a type, or 0: the section of that number is never a real one. */
static size_t image_find_type(const struct image *image, uint32_t type)
{
	for (size_t i = 1; i < image->sections.count; i++)
		if (image->sections.items[i].type == type)
			return i;
	return 0;
}

static size_t image_find_name(const struct image *image, const char *name)
{
	for (size_t i = 1; i < image->sections.count; i++)
		if (strcmp(image->sections.items[i].name, name) == 0)
			return i;
	return 0;
}

static const struct segment *image_segment(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct segment *segment = &image->segments.items[i];

		if (address >= segment->address && address - segment->address < segment->size)
			return segment;
	}
	return NULL;
}

/* A table of symbols, ready to read. false also when it is too damaged to be one. */
static bool table_open(
	const struct image *image, size_t i, uint32_t type, struct table_data *ret_table)
{
	struct table_data table;

	if (i >= image->sections.count || image->sections.items[i].type != type)
		return false;
	table.entries = image_data(image, i);
	table.strings = image_data(image, image->sections.items[i].link);
	if (!table.entries || !table.entries->d_buf || !table.strings || !table.strings->d_buf)
		return false;
	*ret_table = table;
	return true;
}

static size_t table_count(const struct image *image, const struct table_data *table)
{
	return table->entries->d_size / gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
}

/* A string of a table, NUL-terminated; NULL when it is outside, or without an end. */
static const char *table_string(const struct table_data *table, size_t at)
{
	struct reader reader;

	if (at >= table->strings->d_size)
		return NULL;
	reader_init(&reader, table->strings->d_buf, table->strings->d_size);
	reader_take(&reader, at);
	return reader_text(&reader, table->strings->d_size - at);
}

static enum symbol_binding binding_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return SYMBOL_GLOBAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_LOCAL;
	}
}

/* Marks of the ARM assemblers: "$a", "$d.12". */
static bool is_mapping_symbol(const struct image *image, const char *name)
{
	if (image->header.e_machine != EM_ARM && image->header.e_machine != EM_AARCH64)
		return false;
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static bool is_label(const GElf_Sym *sym)
{
	unsigned int visibility = GELF_ST_VISIBILITY(sym->st_other);

	return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE && visibility != STV_HIDDEN &&
	       visibility != STV_INTERNAL;
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;
}

/* The section that a symbol is in, as it is in the mapped file: a debug file's own are empty, and have false offsets. */
static const struct section *symbol_section(const struct loading *loading, size_t i)
{
	const struct section *section;

	if (i == SHN_UNDEF || i >= SHN_LORESERVE || i >= loading->named->sections.count)
		return NULL;
	section = &loading->named->sections.items[i];
	if (section->type != SHT_NOBITS)
		return section;
	return i < loading->mapped->sections.count ? &loading->mapped->sections.items[i] : NULL;
}

/* true with the offset in the mapped file, if the symbol is one that perf takes. */
static bool symbol_place(
	const struct loading *loading, const GElf_Sym *sym, uint64_t *ret_offset, bool *ret_code)
{
	const struct section *section = symbol_section(loading, sym->st_shndx);
	const struct segment *segment;
	uint64_t address = sym->st_value;

	if (!section || !(section->flags & SHF_ALLOC))
		return false;
	if (!is_function(sym) && !(is_label(sym) && section->labels))
		return false;
	/* the lowest bit of a Thumb function's address is a flag */
	if (loading->named->header.e_machine == EM_ARM && is_function(sym))
		address &= ~1ull;
	segment = image_segment(loading->mapped, address);
	*ret_offset = segment ? address - segment->address + segment->offset
			      : address - section->address + section->offset;
	*ret_code = segment ? segment->executable : section->flags & SHF_EXECINSTR;
	return true;
}

static int add_symbol(struct loading *loading, uint64_t offset, uint64_t size,
	enum symbol_binding binding, const char *name)
{
	size_t name_size = strlen(name);

	if (name_size >= loading->names_left)
		return error_set(
			loading->error, -EBADMSG, "its symbols repeat names beyond any reason");
	loading->names_left -= name_size + 1;
	return symbols_add(loading->symbols, offset, size, binding, name, name_size);
}

static int add_table_entry(struct loading *loading, const struct image *image,
	const struct table_data *table, size_t i)
{
	_cleanup_free_ char *demangled = NULL;
	const char *name;
	uint64_t offset;
	GElf_Sym sym;
	bool code;

	if (!gelf_getsym(table->entries, i, &sym) || !sym.st_name ||
		!symbol_place(loading, &sym, &offset, &code))
		return 0;
	/* the names of data are of no use, but a label before them ends there */
	if (!code)
		return add_symbol(loading, offset, 0, SYMBOL_LOCAL, "");
	name = table_string(table, sym.st_name);
	if (!name || is_mapping_symbol(image, name))
		return 0;
	demangled = demangle(name);
	return add_symbol(
		loading, offset, sym.st_size, binding_of(&sym), demangled ? demangled : name);
}

static int add_table(struct loading *loading, const struct image *image, uint32_t type)
{
	struct table_data table;
	int r = 0;

	if (!table_open(image, image_find_type(image, type), type, &table))
		return 0;
	/* a byte for each entry, named or not, and what the strings can reasonably make */
	loading->names_left += table.entries->d_size + table.strings->d_size * NAMES_FACTOR;
	for (size_t i = 1; i < table_count(image, &table) && r == 0; i++)
		r = add_table_entry(loading, image, &table, i);
	return r;
}

/* Where the PLT's entries begin, and how large one is. */
struct plt {
	uint64_t offset;
	uint64_t entry_size;
};

static bool plt_find(const struct image *image, const char *name, struct plt *ret_plt)
{
	size_t i = image_find_name(image, name);
	const struct section *section = &image->sections.items[i];
	uint64_t entry_size = 16, header_size = 16;

	if (!i)
		return false;
	switch (image->header.e_machine) {
	case EM_ARM:
		header_size = 20;
		entry_size = 12;
		break;
	case EM_AARCH64:
		header_size = 32;
		break;
	default:
		/* some linkers leave it open */
		if (section->entry_size >= 8 && section->entry_size <= 64)
			header_size = entry_size = section->entry_size;
	}
	/* the second PLT, for indirect branch tracking, has no header */
	if (strcmp(name, ".plt.sec") == 0)
		header_size = 0;
	*ret_plt = (struct plt){ section->offset + header_size, entry_size };
	return true;
}

/* The symbol's number in the i-th relocation, or 0. */
static size_t relocation_symbol(Elf_Data *relocations, bool addends, size_t i)
{
	GElf_Rela rela;
	GElf_Rel rel;

	if (addends)
		return gelf_getrela(relocations, i, &rela) ? GELF_R_SYM(rela.r_info) : 0;
	return gelf_getrel(relocations, i, &rel) ? GELF_R_SYM(rel.r_info) : 0;
}

static int add_plt_entry(struct loading *loading, const struct table_data *dynsym, size_t symbol,
	const struct plt *plt, size_t i)
{
	_cleanup_free_ char *demangled = NULL, *name = NULL;
	const char *plain;
	GElf_Sym sym;

	if (!gelf_getsym(dynsym->entries, symbol, &sym))
		return 0;
	plain = table_string(dynsym, sym.st_name);
	if (!plain)
		return 0;
	demangled = demangle(plain);
	if (asprintf(&name, "%s@plt", demangled ? demangled : plain) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (strlen(name) > PLT_NAME_MAX)
		name[PLT_NAME_MAX] = 0;
	return add_symbol(
		loading, plt->offset + i * plt->entry_size, plt->entry_size, SYMBOL_GLOBAL, name);
}

/* The PLT has no symbols of its own, but its entries stand in the order of its relocations. */
static int add_plt(struct loading *loading, const char *name)
{
	const struct image *image = loading->mapped;
	size_t rela = image_find_name(image, ".rela.plt");
	size_t i = rela ? rela : image_find_name(image, ".rel.plt");
	Elf_Data *relocations = i ? image_data(image, i) : NULL;
	struct table_data dynsym;
	struct plt plt;
	size_t count;

	if (!relocations || !plt_find(image, name, &plt) ||
		!table_open(image, image->sections.items[i].link, SHT_DYNSYM, &dynsym))
		return 0;
	count = relocations->d_size /
		gelf_fsize(image->elf, rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	for (size_t at = 0; at < count; at++) {
		size_t symbol = relocation_symbol(relocations, rela, at);
		int r = add_plt_entry(loading, &dynsym, symbol, &plt, at);

		if (r < 0)
			return r;
	}
	return 0;
}

static int load(const struct image *mapped, const struct image *named, struct symbols **ret_symbols,
	struct error *error)
{
	_cleanup_(cleanup_symbols) struct symbols *symbols = NULL;
	struct loading loading = { mapped, named, NULL, NAMES_BASE, error };
	int r;

	r = symbols_new(&symbols);
	if (r < 0)
		return r;
	loading.symbols = symbols;
	r = add_table(&loading, named, SHT_SYMTAB);
	if (r == 0)
		r = add_table(&loading, named, SHT_DYNSYM);
	if (r == 0)
		r = add_plt(&loading, ".plt");
	if (r == 0)
		r = add_plt(&loading, ".plt.sec");
	if (r == 0)
		r = symbols_finish(symbols);
	if (r < 0)
		return r;
	*ret_symbols = take_ptr(symbols);
	return 0;
}

int elf_symbols(int fd, struct symbols **ret_symbols, struct error *error)
{
	_cleanup_(image_done) struct image image = { 0 };
	int r = image_open_fd(&image, fd, error);

	return r < 0 ? r : load(&image, &image, ret_symbols, error);
}

int elf_symbols_debug(int fd, int debug_fd, struct symbols **ret_symbols, struct error *error)
{
	_cleanup_(image_done) struct image image = { 0 }, debug = { 0 };
	int r = image_open_fd(&image, fd, error);

	if (r == 0)
		r = image_open_fd(&debug, debug_fd, error);
	return r < 0 ? r : load(&image, &debug, ret_symbols, error);
}

int elf_symbols_image(
	const void *bytes, size_t size, struct symbols **ret_symbols, struct error *error)
{
	_cleanup_(image_done) struct image image = { 0 };
	int r;

	elf_version(EV_CURRENT);
	/* libelf only reads it; its interface is older than const */
	r = image_open(&image, elf_memory((char *)bytes, size), error);
	return r < 0 ? r : load(&image, &image, ret_symbols, error);
}

/* Notes are in the byte order of their machine, and those that run here have ours. */
static uint32_t reader_u32_host(struct reader *reader)
{
	return htole32(reader_u32(reader));
}

static size_t note_align(size_t size, const struct reader *reader)
{
	/* the last one may go without its padding */
	return MIN((size + 3) & ~(size_t)3, reader_left(reader));
}

int elf_notes_build_id(
	const void *notes, size_t size, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size)
{
	struct reader reader;

	reader_init(&reader, notes, size);
	while (reader_left(&reader)) {
		size_t name_size = reader_u32_host(&reader), id_size = reader_u32_host(&reader);
		uint32_t type = reader_u32_host(&reader);
		const void *name, *id;

		if (name_size > reader_left(&reader))
			return 0;
		name = reader_take(&reader, note_align(name_size, &reader));
		if (id_size > reader_left(&reader))
			return 0;
		id = reader_take(&reader, note_align(id_size, &reader));
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0)
			continue;
		if (id_size == 0 || id_size > ELF_BUILD_ID_MAX)
			return 0;
		memcpy(ret_id, id, id_size);
		*ret_size = id_size;
		return 1;
	}
	return 0;
}

static int notes_of_segments(const struct image *image, uint8_t *ret_id, size_t *ret_size)
{
	size_t count;

	if (elf_getphdrnum(image->elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Elf_Data *data = NULL;
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, i, &header))
			return 0;
		if (header.p_type == PT_NOTE && header.p_filesz <= NOTES_MAX)
			data = elf_getdata_rawchunk(
				image->elf, header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (data && elf_notes_build_id(data->d_buf, data->d_size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

/* Kernel modules and other object files have no segments. */
static int notes_of_sections(const struct image *image, uint8_t *ret_id, size_t *ret_size)
{
	for (size_t i = 1; i < image->sections.count; i++) {
		Elf_Data *data;

		if (image->sections.items[i].type != SHT_NOTE)
			continue;
		data = elf_rawdata(elf_getscn(image->elf, i), NULL);
		if (data && data->d_size <= NOTES_MAX &&
			elf_notes_build_id(data->d_buf, data->d_size, ret_id, ret_size))
			return 1;
	}
	return 0;
}

int elf_build_id(int fd, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size)
{
	_cleanup_(image_done) struct image image = { 0 };
	int r = image_open_fd(&image, fd, NULL);

	if (r < 0)
		return r;
	if (notes_of_segments(&image, ret_id, ret_size))
		return 1;
	return notes_of_sections(&image, ret_id, ret_size);
}
