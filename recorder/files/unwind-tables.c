// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/files/unwind-tables.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/table.h"
#include "recorder/files/table-maker.h"
#include "symbolizer/elf-unwind.h"

/*
 * Invariants:
 * (1) an entry has a table if and only if its state is ENTRY_HERE;
 * (2) counts.bytes is the sum of the sizes of all tables;
 * (3) entries do not move, because walks use their tables;
 * (4) `slots` refers only to used entries. Its indexes are the numbers of modules of one
 *     generation.
 */

/* A host has some hundred files with code. */
#define ENTRIES_MAX 4096
/* When a file is mapped again, check at most once in this time whether it has changed in place. */
#define CHECK_NS NSEC_PER_SEC
/* Time before the next request after a failure; it doubles with each failure. */
#define RETRY_NS NSEC_PER_SEC
#define RETRIES_MAX 8
/*
 * Most tables, which are made when a file is mapped, are never used by a walk. So a table that a
 * walk has used counts as used WALKED_TURNS turns later than it was.
 */
#define WALKED_TURNS 30
#define BYTES_PER_TURN (128u << 10)
#define ENTRIES_LOOKED_AT 32
#define VDSO_MAX (1u << 20)

enum entry_state {
	/* A request is under way, or not sent yet. */
	ENTRY_WAITING,
	ENTRY_HERE,
	/* The file does not have unwind entries for code. */
	ENTRY_NONE,
	ENTRY_FAILED,
	/* The table was evicted, because other tables needed the memory. */
	ENTRY_EVICTED,
};

struct table_entry {
	bool used;
	enum entry_state state;
	struct tape_module module;
	char *path;
	uint64_t hash;
	uint64_t generation;
	/* The request under way; 0: none. */
	uint64_t ticket;
	/*
	 * The last turn in which a walk used the entry; until then, the turn in which it was added.
	 */
	uint64_t turn;
	/* A walk has used the table. */
	bool walked;
	/* The time of the last request or answer, CLOCK_MONOTONIC. */
	uint64_t tried_ns;
	uint32_t tries;
	/* In state ENTRY_HERE. */
	struct table_answer answer;
};

struct unwind_tables {
	struct unwind_tables_options options;
	struct table_maker *maker;
	array_of(struct table_entry) entries;
	struct table by_identity;
	/* Index of a module's entry, + 1, by the number of the module; 0: not looked up yet. */
	array_of(uint32_t) slots;
	uint64_t slots_generation;
	uint64_t last_ticket;
	/* The entry at which the search for a place ended. */
	uint32_t hand;
	/* The number of the last table. */
	uint32_t last_number;
	uint64_t turn;
	struct buffer vdso_bytes;
	struct unwind_table vdso;
	bool has_vdso;
	struct unwind_tables_counts counts;
};

/* ---- making and freeing ---- */

/* Copies the [vdso] of this process; its section table is the last part of the image. */
static void read_own_vdso(struct unwind_tables *tables)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t size = header ? header->e_shoff + (size_t)header->e_shentsize * header->e_shnum : 0;

	if (!size || size > VDSO_MAX ||
	    elf_unwind_table_image(header, size, &tables->vdso_bytes) < 0)
		return;
	tables->has_vdso = unwind_table_open(tables->vdso_bytes.data, tables->vdso_bytes.size,
					     &tables->vdso) == 0;
	tables->vdso.number = ++tables->last_number;
}

int unwind_tables_new(const struct unwind_tables_options *options,
		      struct unwind_tables **ret_tables)
{
	struct unwind_tables *tables = calloc(1, sizeof(*tables));
	int r;

	if (!tables)
		return -ENOMEM;
	tables->options = *options;
	if (!tables->options.bytes_max)
		tables->options.bytes_max = UNWIND_TABLES_BYTES;
	r = array_reserve(&tables->entries, ENTRIES_MAX);
	if (r == 0)
		r = table_maker_new(&options->finder, options->until_ns, options->wait,
				    &tables->maker);
	if (r < 0) {
		unwind_tables_free(tables);
		return r;
	}
	if (options->own_vdso)
		read_own_vdso(tables);
	*ret_tables = tables;
	return 0;
}

struct unwind_tables *unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return NULL;
	table_maker_free(tables->maker);
	for (size_t i = 0; i < tables->entries.count; i++) {
		table_answer_done(&tables->entries.items[i].answer);
		free(tables->entries.items[i].path);
	}
	array_done(&tables->entries);
	array_done(&tables->slots);
	table_done(&tables->by_identity);
	buffer_done(&tables->vdso_bytes);
	free(tables);
	return NULL;
}

/* ---- entries ---- */

struct table_key {
	const struct tape_module *module;
	const char *path;
};

/* The same file under another path has another entry. */
static bool table_entry_equal(const void *context, uint32_t at, const void *key)
{
	const struct table_entry *entry =
		&((const struct unwind_tables *)context)->entries.items[at];
	const struct table_key *wanted = key;
	const struct tape_module *a = &entry->module, *b = wanted->module;

	return a->device == b->device && a->inode == b->inode &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
	       strcmp(entry->path, wanted->path) == 0;
}

static uint64_t table_key_hash(const struct table_key *key)
{
	return hash_numbers(hash_text(key->path, strlen(key->path)),
			    hash_numbers(key->module->device, key->module->inode) ^
				    hash_text(key->module->build_id, key->module->build_id_size));
}

static void drop_table(struct unwind_tables *tables, struct table_entry *entry)
{
	if (entry->state != ENTRY_HERE)
		return;
	tables->counts.tables--;
	tables->counts.bytes -= entry->answer.size;
	table_answer_done(&entry->answer);
}

static void remove_entry(struct unwind_tables *tables, uint32_t at)
{
	struct table_entry *entry = &tables->entries.items[at];

	drop_table(tables, entry);
	table_remove(&tables->by_identity, entry->hash, at);
	free(entry->path);
	*entry = (struct table_entry){ .used = false };
	/* invariant (4) */
	tables->slots.count = 0;
}

/*
 * A larger table counts as unused for longer, so that a program with a few huge tables does not
 * evict those of all others.
 */
static uint64_t use_of(const struct table_entry *entry)
{
	uint64_t use = entry->turn + (entry->walked ? WALKED_TURNS : 0);

	return use - MIN(use, entry->answer.size / BYTES_PER_TURN);
}

/*
 * Finds an unused entry, or else removes the one that no walk used for the longest time among some
 * entries. A process may map ever new files, so looking at all entries would take too long.
 */
static int place_for_entry(struct unwind_tables *tables, uint32_t *ret_at)
{
	uint32_t oldest;

	if (tables->entries.count < ENTRIES_MAX) {
		*ret_at = tables->entries.count++;
		return 0;
	}
	oldest = tables->hand;
	for (uint32_t i = 0; i < ENTRIES_LOOKED_AT; i++) {
		tables->hand = (tables->hand + 1) % ENTRIES_MAX;
		if (use_of(&tables->entries.items[tables->hand]) <
		    use_of(&tables->entries.items[oldest]))
			oldest = tables->hand;
	}
	/* walks of this turn may still use the tables of such entries */
	if (tables->entries.items[oldest].turn == tables->turn)
		return -ENOSPC;
	remove_entry(tables, oldest);
	*ret_at = oldest;
	return 0;
}

static int add_entry(struct unwind_tables *tables, const struct table_key *key, uint64_t hash,
		     uint32_t *ret_at)
{
	struct table_entry entry = {
		.used = true,
		.state = ENTRY_WAITING,
		.module = *key->module,
		.path = strdup(key->path),
		.hash = hash,
		.turn = tables->turn,
	};
	uint32_t at = 0;
	int r = entry.path ? place_for_entry(tables, &at) : -ENOMEM;

	if (r == 0)
		r = table_add(&tables->by_identity, hash, at);
	if (r < 0) {
		free(entry.path);
		return r;
	}
	tables->entries.items[at] = entry;
	*ret_at = at;
	return 0;
}

static struct table_entry *find_or_add_entry(struct unwind_tables *tables,
					     const struct table_key *key)
{
	uint64_t hash = table_key_hash(key);
	uint32_t at = table_find(&tables->by_identity, hash, table_entry_equal, tables, key);

	if (at == TABLE_NONE && add_entry(tables, key, hash, &at) < 0)
		return NULL;
	return &tables->entries.items[at];
}

/* ---- requests and answers ---- */

static struct table_entry *entry_of_ticket(struct unwind_tables *tables, uint64_t ticket)
{
	uint32_t at = ticket % ENTRIES_MAX;

	if (at >= tables->entries.count || tables->entries.items[at].ticket != ticket)
		return NULL;
	return &tables->entries.items[at];
}

static void settle(struct unwind_tables *tables, struct table_entry *entry,
		   struct table_answer *answer)
{
	drop_table(tables, entry);
	switch (answer->result) {
	case 0:
		entry->state = ENTRY_HERE;
		entry->answer = *answer;
		entry->answer.table.number = ++tables->last_number;
		entry->tries = 0;
		tables->counts.tables++;
		tables->counts.bytes += answer->size;
		tables->counts.made++;
		return;
	case -ENODATA:
		entry->state = ENTRY_NONE;
		tables->counts.without++;
		return;
	case -EDQUOT:
		/*
		 * a lack of time says nothing about the file, so the delay of the next request does
		 * not grow
		 */
		break;
	case -EFBIG:
		/* it stays too large, and each further request would delay those of other files */
		entry->tries = RETRIES_MAX;
		break;
	default:
		entry->tries = MIN(entry->tries + 1, RETRIES_MAX);
	}
	entry->state = ENTRY_FAILED;
	tables->counts.failed++;
}

/* Gives an answer to its entry. Drops the answer if the entry was removed or has a newer ticket. */
static void unwind_tables_take_answer(struct unwind_tables *tables, struct table_answer *answer)
{
	struct table_entry *entry = entry_of_ticket(tables, answer->ticket);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!entry) {
		table_answer_done(answer);
		return;
	}
	entry->ticket = 0;
	entry->tried_ns = now;
	if (answer->result == 1)
		return;
	if (answer->result == 0)
		tables->counts.longest_ns =
			MAX(tables->counts.longest_ns, answer->made_ns - answer->asked_ns);
	settle(tables, entry, answer);
}

/* Returns a new ticket, from which the index of the entry can be computed. */
static uint64_t next_ticket(struct unwind_tables *tables, const struct table_entry *entry)
{
	uint64_t at = entry - tables->entries.items;

	return ++tables->last_ticket * ENTRIES_MAX + at;
}

static void ask_for(struct unwind_tables *tables, struct table_entry *entry, int32_t pid,
		    bool urgent)
{
	struct table_request request = {
		.ticket = next_ticket(tables, entry),
		.module = entry->module,
		.path = strdup(entry->path),
		.pid = pid,
		.owner = tables->options.tracker ? tracker_owner(tables->options.tracker, pid) : 0,
		.urgent = urgent,
		.check = entry->state == ENTRY_HERE,
		.about = entry->answer.about,
		.asked_ns = clock_ns(CLOCK_MONOTONIC),
	};
	struct table_answer answer;

	if (!request.path)
		return;
	entry->ticket = request.ticket;
	entry->tried_ns = request.asked_ns;
	if (tables->options.wait) {
		table_maker_make(tables->maker, &request, &answer);
		unwind_tables_take_answer(tables, &answer);
	} else if (!table_maker_ask(tables->maker, &request)) {
		/* the next sample with this module asks again */
		entry->ticket = 0;
		free(request.path);
	}
}

static bool is_retry_due(const struct table_entry *entry)
{
	uint64_t wait_ns = RETRY_NS << entry->tries;

	return clock_ns(CLOCK_MONOTONIC) - entry->tried_ns >= wait_ns;
}

/*
 * Requests the table of an entry without one, unless a request is under way or a retry is not due.
 */
static void ask_again(struct unwind_tables *tables, struct table_entry *entry, int32_t pid)
{
	if (entry->ticket)
		return;
	if (entry->state == ENTRY_WAITING ||
	    ((entry->state == ENTRY_FAILED || entry->state == ENTRY_EVICTED) &&
	     is_retry_due(entry)))
		ask_for(tables, entry, pid, true);
}

/* ---- mappings ---- */

static bool has_file(const struct tape_module *module, const char *path)
{
	return module->kind == TAPE_MODULE_ELF && path[0] == '/';
}

/* Forgets the table, because another file has the inode now. */
static void forget_old_file(struct unwind_tables *tables, struct table_entry *entry)
{
	drop_table(tables, entry);
	entry->state = ENTRY_WAITING;
	entry->ticket = 0;
	entry->tries = 0;
}

void unwind_tables_see(struct unwind_tables *tables, const struct perf_record *record)
{
	struct tape_module module = { .kind = TAPE_MODULE_UNKNOWN };
	char name[MODULES_NAME_MAX];
	struct table_key key = { &module, NULL };
	struct table_entry *entry;

	if ((record->type != PERF_TYPE_MMAP && record->type != PERF_TYPE_MMAP2) ||
	    (record->misc & PERF_MODE_MASK) != PERF_MODE_USER)
		return;
	key.path = modules_describe_mapping(record, &module, name);
	entry = has_file(&module, key.path) ? find_or_add_entry(tables, &key) : NULL;
	if (!entry)
		return;
	if (entry->generation && record->mmap.generation != entry->generation)
		forget_old_file(tables, entry);
	entry->generation = record->mmap.generation;
	if (entry->ticket)
		return;
	if (entry->state == ENTRY_WAITING ||
	    (entry->state == ENTRY_HERE && clock_ns(CLOCK_MONOTONIC) - entry->tried_ns >= CHECK_NS))
		ask_for(tables, entry, record->mmap.pid, false);
}

/* Returns the entry of a module; NULL without memory. */
static struct table_entry *entry_of_module(struct unwind_tables *tables,
					   const struct modules *modules, uint32_t module)
{
	const struct tape_module *about = &modules->list.items[module];
	struct table_key key = { about, strings_at(&modules->paths, about->path) };
	struct table_entry *entry;

	if (tables->slots_generation != modules->generation)
		tables->slots.count = 0;
	tables->slots_generation = modules->generation;
	if (module < tables->slots.count && tables->slots.items[module])
		return &tables->entries.items[tables->slots.items[module] - 1];
	entry = find_or_add_entry(tables, &key);
	if (!entry || array_reserve(&tables->slots, module + 1) < 0)
		return entry;
	while (tables->slots.count <= module)
		tables->slots.items[tables->slots.count++] = 0;
	tables->slots.items[module] = entry - tables->entries.items + 1;
	return entry;
}

static void find_vdso(const struct unwind_tables *tables, struct stack_code *ret_code)
{
	ret_code->kind = tables->has_vdso ? STACK_CODE_TABLE : STACK_CODE_BARE;
	ret_code->table = tables->has_vdso ? &tables->vdso : NULL;
}

static void find_file(struct unwind_tables *tables, const struct modules *modules, uint32_t module,
		      int32_t pid, struct stack_code *ret_code)
{
	struct table_entry *entry = entry_of_module(tables, modules, module);

	ret_code->kind = STACK_CODE_WAITING;
	ret_code->table = NULL;
	if (!entry)
		return;
	entry->turn = tables->turn;
	ask_again(tables, entry, pid);
	if (entry->state == ENTRY_NONE)
		ret_code->kind = STACK_CODE_BARE;
	if (entry->state != ENTRY_HERE)
		return;
	entry->walked = true;
	ret_code->kind = STACK_CODE_TABLE;
	ret_code->table = &entry->answer.table;
}

void unwind_tables_find(struct unwind_tables *tables, const struct modules *modules,
			uint32_t module, int32_t pid, struct stack_code *ret_code)
{
	const struct tape_module *about = &modules->list.items[module];

	if (about->kind == TAPE_MODULE_VDSO) {
		find_vdso(tables, ret_code);
		return;
	}
	if (has_file(about, strings_at(&modules->paths, about->path))) {
		find_file(tables, modules, module, pid, ret_code);
		return;
	}
	ret_code->kind = STACK_CODE_BARE;
	ret_code->table = NULL;
}

bool unwind_tables_code(void *context, uint64_t address, struct stack_code *ret_code)
{
	struct unwind_tables_view *view = context;
	const struct mapping *mapping = tracker_find(view->tracker, view->pid, false, address);

	if (!mapping)
		return false;
	ret_code->start = mapping->start;
	ret_code->end = mapping->end;
	ret_code->offset = mapping->offset;
	unwind_tables_find(view->tables, &view->tracker->modules, mapping->module, view->pid,
			   ret_code);
	return true;
}

/* ---- turns ---- */

/* Returns the entry with a table that counts as unused for the longest time. */
static struct table_entry *oldest_table(struct unwind_tables *tables)
{
	struct table_entry *oldest = NULL;

	for (size_t i = 0; i < tables->entries.count; i++) {
		struct table_entry *entry = &tables->entries.items[i];

		if (entry->state == ENTRY_HERE && (!oldest || use_of(entry) < use_of(oldest)))
			oldest = entry;
	}
	return oldest;
}

static void evict(struct unwind_tables *tables)
{
	while (tables->counts.bytes > tables->options.bytes_max) {
		struct table_entry *entry = oldest_table(tables);

		assert(entry);
		drop_table(tables, entry);
		entry->state = ENTRY_EVICTED;
		entry->walked = false;
		/*
		 * request it again later and later, or two large tables would evict each other all
		 * the time
		 */
		entry->tried_ns = clock_ns(CLOCK_MONOTONIC);
		entry->tries = MIN(entry->tries + 1, RETRIES_MAX);
		tables->counts.evicted++;
	}
}

void unwind_tables_turn(struct unwind_tables *tables)
{
	struct table_answer answer;

	tables->turn++;
	while (!tables->options.wait && table_maker_take(tables->maker, &answer))
		unwind_tables_take_answer(tables, &answer);
	evict(tables);
}

void unwind_tables_counts(const struct unwind_tables *tables,
			  struct unwind_tables_counts *ret_counts)
{
	*ret_counts = tables->counts;
}
