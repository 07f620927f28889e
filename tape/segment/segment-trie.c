// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-trie.h"

#include "tape/segment/grouping.h"
#include "tape/segment/segment-trie-order.h"

struct path {
	uint32_t comm;
	uint32_t stack;
	uint32_t function;
	/* Not a part of the path's identity. */
	uint32_t frame;
};

static bool path_equal(const void *context, uint32_t id, const void *key)
{
	const struct trie *trie = context;
	const struct path *path = key;

	return trie->stack.items[id] == path->stack && trie->comm.items[id] == path->comm &&
	       trie->function.items[id] == path->function;
}

static int add_path(struct trie *trie, struct table *table, const struct path *path, uint32_t *ret)
{
	uint64_t hash = hash_numbers((uint64_t)path->stack << 32 | path->function, path->comm);
	uint32_t id = table_find(table, hash, path_equal, trie, path);

	if (id == TABLE_NONE) {
		id = trie->stack.count;
		if (array_push(&trie->comm, path->comm) < 0 ||
		    array_push(&trie->stack, path->stack) < 0 ||
		    array_push(&trie->function, path->function) < 0 ||
		    array_push(&trie->frame, path->frame) < 0 || array_push(&trie->count, 0) < 0 ||
		    table_add(table, hash, id) < 0)
			return -ENOMEM;
	}
	*ret = id;
	return 0;
}

/* Returns the forest of a comm. comm_numbers is indexed by string; 0 means none yet. */
static int add_comm(struct trie *trie, uint32_t *comm_numbers, uint32_t string, uint32_t *ret_comm)
{
	if (!comm_numbers[string]) {
		if (array_push(&trie->comms, string) < 0)
			return -ENOMEM;
		comm_numbers[string] = trie->comms.count;
	}
	*ret_comm = comm_numbers[string] - 1;
	return 0;
}

static int segment_trie_add_samples(struct trie *trie, const struct tape *tape,
				    const struct dictionary *dictionary, struct table *table)
{
	_cleanup_free_ uint32_t *comm_numbers =
		calloc(strings_count(&tape->strings), sizeof(*comm_numbers));

	if (!comm_numbers)
		return -ENOMEM;
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];
		uint32_t string = tape->threads.items[sample->thread].comm;
		struct path path = { .stack = sample->stack,
				     .function = dictionary->places[sample->frame].function,
				     .frame = sample->frame };

		if (add_comm(trie, comm_numbers, string, &path.comm) < 0 ||
		    add_path(trie, table, &path, &trie->sample_path[i]) < 0)
			return -ENOMEM;
		trie->count.items[trie->sample_path[i]]++;
		if (sample->cpu < TAPE_CPUS_MAX)
			trie->cpu_samples[sample->cpu]++;
	}
	return 0;
}

int trie_build(struct trie *trie, const struct tape *tape, struct dictionary *dictionary)
{
	_cleanup_(table_done) struct table table = { 0 };
	int r;

	*trie = (struct trie){ 0 };
	trie->sample_path = malloc((tape->samples.count + 1) * sizeof(uint32_t));
	trie->cpu_samples = calloc(TAPE_CPUS_MAX, sizeof(uint32_t));
	if (!trie->sample_path || !trie->cpu_samples)
		return -ENOMEM;
	r = segment_trie_add_samples(trie, tape, dictionary, &table);
	for (size_t i = 0; r == 0 && i < trie->function.count; i++)
		dictionary->functions.items[trie->function.items[i]].uses++;
	return r < 0 ? r : dictionary_rank(dictionary);
}

void trie_done(struct trie *trie)
{
	array_done(&trie->comms);
	array_done(&trie->comm);
	array_done(&trie->stack);
	array_done(&trie->function);
	array_done(&trie->count);
	free(trie->rank);
	array_done(&trie->frame);
	free(trie->sample_path);
	free(trie->cpu_samples);
}

static int rank_paths(struct trie *trie, const uint32_t *sorted)
{
	size_t count = trie->stack.count;
	_cleanup_free_ uint32_t *order = malloc((count + 1) * sizeof(uint32_t));
	uint32_t rank = 0;

	trie->rank = malloc((count + 1) * sizeof(uint32_t));
	if (!order || !trie->rank)
		return -ENOMEM;
	memcpy(order, sorted, count * sizeof(*order));
	if (trie_order_by_rank(order, count, trie->count.items, trie->comm.items) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (i && trie->comm.items[order[i]] != trie->comm.items[order[i - 1]])
			rank = 0;
		trie->rank[order[i]] = rank++;
	}
	return 0;
}

struct trie_columns {
	struct buffer comms, nodes, pops, sites, counts;
	array_of(uint32_t) functions;
};

static void trie_columns_done(struct trie_columns *columns)
{
	buffer_done(&columns->comms);
	buffer_done(&columns->nodes);
	buffer_done(&columns->pops);
	buffer_done(&columns->sites);
	buffer_done(&columns->counts);
	array_done(&columns->functions);
}

/* The position of the walk over the forests. */
struct walk {
	/* The callers from the root, of the previous path and of this one. */
	array_of(uint32_t) chains[2];
	unsigned int current;
	/* The depth of the previous node. */
	size_t depth;
	/* The nodes of this comm so far. */
	size_t nodes;
};

static int walk_to(struct walk *walk, const struct tape *tape, uint32_t stack)
{
	__auto_type chain = &walk->chains[walk->current ^= 1];
	size_t depth = 0;

	for (uint32_t at = stack; at; at = tape->stacks.items[at].parent)
		depth++;
	if (array_reserve(chain, depth + 1) < 0)
		return -ENOMEM;
	chain->count = depth;
	for (uint32_t at = stack; at; at = tape->stacks.items[at].parent)
		chain->items[--depth] = at;
	return 0;
}

/* Returns how many callers a path shares with the previous path. */
static size_t walk_common(const struct walk *walk)
{
	__auto_type chain = &walk->chains[walk->current];
	__auto_type before = &walk->chains[walk->current ^ 1];
	size_t common = 0;

	while (common < MIN(chain->count, before->count) &&
	       chain->items[common] == before->items[common])
		common++;
	return common;
}

/* Puts a node at a depth, after a node at walk->depth: 0 pops make it a child, 1 a sibling. */
static int put_node(struct walk *walk, struct trie_columns *columns, size_t depth,
		    uint32_t function_rank)
{
	buffer_varint(&columns->pops, walk->nodes ? walk->depth + 1 - depth : 0);
	walk->depth = depth;
	walk->nodes++;
	return array_push(&columns->functions, function_rank);
}

static int put_path(struct walk *walk, struct trie_columns *columns, const struct trie *trie,
		    const struct dictionary *dictionary, const struct tape *tape, uint32_t path)
{
	const struct dictionary_function *functions = dictionary->functions.items;
	size_t depth;

	if (walk_to(walk, tape, trie->stack.items[path]) < 0)
		return -ENOMEM;
	__auto_type chain = &walk->chains[walk->current];
	for (depth = walk_common(walk); depth < chain->count; depth++) {
		uint32_t frame = tape->stacks.items[chain->items[depth]].frame;
		const struct dictionary_place *place = &dictionary->places[frame];

		if (put_node(walk, columns, depth, functions[place->function].rank) < 0)
			return -ENOMEM;
		buffer_varint(&columns->sites, place->site);
	}
	buffer_varint(&columns->counts, trie->count.items[path] - 1);
	return put_node(walk, columns, depth, functions[trie->function.items[path]].rank);
}

static int put_forests(const struct trie *trie, const struct dictionary *dictionary,
		       struct encoding *encoding, const uint32_t *order,
		       struct trie_columns *columns)
{
	struct string_column names = { 0 };
	struct walk walk = { 0 };
	size_t at = 0;
	int r = 0;

	for (size_t comm = 0; comm < trie->comms.count; comm++) {
		string_column_put(&names, encoding, &columns->comms, trie->comms.items[comm]);
		walk.nodes = walk.chains[walk.current].count = 0;
		for (; r == 0 && at < trie->stack.count && trie->comm.items[order[at]] == comm;
		     at++)
			r = put_path(&walk, columns, trie, dictionary, encoding->tape, order[at]);
		buffer_varint(&columns->nodes, walk.nodes);
	}
	array_done(&walk.chains[0]);
	array_done(&walk.chains[1]);
	return r;
}

int trie_encode(struct trie *trie, const struct dictionary *dictionary, struct encoding *encoding)
{
	_cleanup_(trie_columns_done) struct trie_columns columns = { 0 };
	_cleanup_free_ uint32_t *order = malloc((trie->stack.count + 1) * sizeof(*order));
	struct section_writer writer;
	int r;

	if (!order)
		return -ENOMEM;
	r = trie_sort_paths(trie, encoding->tape, dictionary, order);
	if (r < 0)
		return r;
	r = rank_paths(trie, order);
	if (r < 0)
		return r;
	r = put_forests(trie, dictionary, encoding, order, &columns);
	if (r < 0)
		return r;
	encoding_begin(encoding, &writer);
	if (section_put(&writer, &columns.comms) < 0 || section_put(&writer, &columns.nodes) < 0 ||
	    section_put(&writer, &columns.pops) < 0 ||
	    section_put_planes(&writer, columns.functions.items, columns.functions.count) < 0 ||
	    section_put(&writer, &columns.sites) < 0 || section_put(&writer, &columns.counts) < 0)
		return -ENOMEM;
	return encoding_end(encoding, &writer, "trie", CONTENTS_INCOMPATIBLE);
}

void leaves_done(struct leaves *leaves)
{
	array_done(&leaves->stack);
	array_done(&leaves->function);
	array_done(&leaves->comm);
	array_done(&leaves->count);
	free(leaves->by_rank);
	array_done(&leaves->comms);
	array_done(&leaves->comm_first);
}

/* The frames of a function as a caller. */
struct rank_sites {
	uint32_t first, count;
};

struct trie_readers {
	struct reader comms, nodes, pops, sites, counts;
	struct planes functions;
	/* The current node. */
	size_t at;
	/* The stacks from the root, which is stack 0. */
	uint32_t *path;
	/* Indexed by rank, so that the most frequent ones are adjacent in memory. */
	struct rank_sites *sites_of;
	size_t ranks;
};

/*
 * The walk over one comm's nodes. The walk and its columns are local variables. Otherwise the
 * compiler would read them again after each row that it writes.
 */
struct forest {
	struct reader pops, sites, counts;
	uint32_t *path;
	/* The depth of the path's last node. */
	size_t depth;
	/* An array that is large enough for all stacks. */
	struct tape_stack *stacks;
	uint32_t stack_count;
	uint32_t *leaf_stacks, *leaf_functions, *leaf_counts;
	size_t leaf_count;
};

/*
 * take_leaf() and take_caller() each read at least one byte of a column per row. So the rows that
 * they write do not exceed the sizes of these columns.
 */
static inline int take_leaf(struct forest *forest, const struct functions *functions,
			    uint32_t function)
{
	uint64_t count = reader_varint(&forest->counts);

	if (reader_failed(&forest->counts) || count >= UINT32_MAX ||
	    !functions->rows.items[function].leaves)
		return -EBADMSG;
	forest->leaf_stacks[forest->leaf_count] = forest->path[forest->depth];
	forest->leaf_functions[forest->leaf_count] = function;
	forest->leaf_counts[forest->leaf_count++] = count + 1;
	return 0;
}

static inline int take_caller(struct forest *forest, const struct rank_sites *sites)
{
	uint32_t site = column_row(&forest->sites, sites->count);

	if (reader_failed(&forest->sites))
		return -EBADMSG;
	forest->stacks[forest->stack_count] = (struct tape_stack){
		.parent = forest->path[forest->depth],
		.frame = sites->first + site,
	};
	forest->path[++forest->depth] = forest->stack_count++;
	return 0;
}

/* A node is a leaf node if the next one is not its child. */
static inline int take_nodes(struct forest *forest, const struct trie_readers *columns,
			     const struct functions *functions, size_t nodes)
{
	const struct rank_sites *sites_of = columns->sites_of;
	const uint32_t *by_rank = functions->by_rank;
	struct planes planes = columns->functions;
	size_t at = columns->at, ranks = columns->ranks;
	uint64_t pop = 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < nodes; i++) {
		uint64_t next = i + 1 < nodes ? reader_varint(&forest->pops) : 1;
		uint32_t rank = planes_at(&planes, at++);

		/* after a caller, pop is 0 and the caller is the last node of the path */
		if (pop > forest->depth + 1 || rank >= ranks)
			return -EBADMSG;
		forest->depth -= pop ? pop - 1 : 0;
		r = next ? take_leaf(forest, functions, by_rank[rank])
			 : take_caller(forest, &sites_of[rank]);
		pop = next;
	}
	return r;
}

static int take_forest(struct trie_readers *columns, const struct functions *functions,
		       size_t nodes, struct tape *tape, struct leaves *leaves)
{
	struct forest forest = {
		.pops = columns->pops,
		.sites = columns->sites,
		.counts = columns->counts,
		.path = columns->path,
		.stacks = tape->stacks.items,
		.stack_count = tape->stacks.count,
		.leaf_stacks = leaves->stack.items,
		.leaf_functions = leaves->function.items,
		.leaf_counts = leaves->count.items,
		.leaf_count = leaves->count.count,
	};
	int r;

	if (nodes && reader_varint(&forest.pops) != 0)
		return -EBADMSG;
	r = take_nodes(&forest, columns, functions, nodes);
	for (size_t i = leaves->count.count; i < forest.leaf_count; i++)
		leaves->comm.items[i] = leaves->comms.count - 1;
	leaves->stack.count = leaves->function.count = leaves->count.count = leaves->comm.count =
		forest.leaf_count;
	tape->stacks.count = forest.stack_count;
	columns->at += nodes;
	columns->pops = forest.pops;
	columns->sites = forest.sites;
	columns->counts = forest.counts;
	return r;
}

/* Adds up the nodes of all comms. Each node has a byte in the column of pops. */
static int sum_nodes(struct reader nodes, const struct reader *pops, size_t *ret_sum)
{
	*ret_sum = 0;
	while (reader_left(&nodes)) {
		size_t count;

		if (column_count(&nodes, pops, &count) < 0 || count > pops->size - *ret_sum)
			return -EBADMSG;
		*ret_sum += count;
	}
	return reader_failed(&nodes) ? -EBADMSG : 0;
}

static int take_forests(struct trie_readers *columns, const struct functions *functions,
			struct tape *tape, struct leaves *leaves)
{
	struct string_column names = { 0 };
	int r = 0;

	while (r == 0 && reader_left(&columns->comms)) {
		uint32_t comm = string_column_take(&names, tape, &columns->comms);

		if (array_push(&leaves->comms, comm) < 0 ||
		    array_push(&leaves->comm_first, leaves->stack.count) < 0)
			return -ENOMEM;
		r = take_forest(columns, functions, reader_varint(&columns->nodes), tape, leaves);
	}
	return r < 0 ? r : array_push(&leaves->comm_first, leaves->stack.count);
}

static int segment_trie_take_columns(struct section_reader *section, struct trie_readers *columns)
{
	size_t nodes;
	int r = section_take(section, &columns->comms);

	if (r < 0)
		return r;
	r = section_take(section, &columns->nodes);
	if (r < 0)
		return r;
	r = section_take(section, &columns->pops);
	if (r < 0)
		return r;
	r = sum_nodes(columns->nodes, &columns->pops, &nodes);
	if (r < 0)
		return r;
	r = section_take_planes(section, nodes, &columns->functions);
	if (r < 0)
		return r;
	r = section_take(section, &columns->sites);
	return r < 0 ? r : section_take(section, &columns->counts);
}

/* Reserves rows for all bytes at once, because a growing array is copied again and again. */
static int reserve_rows(const struct trie_readers *columns, struct tape *tape,
			struct leaves *leaves)
{
	size_t count = columns->counts.size;

	if (array_reserve(&tape->stacks, columns->sites.size + 1) < 0 ||
	    array_reserve(&leaves->stack, count) < 0 ||
	    array_reserve(&leaves->function, count) < 0 ||
	    array_reserve(&leaves->comm, count) < 0 || array_reserve(&leaves->count, count) < 0)
		return -ENOMEM;
	return 0;
}

static int reserve_walk(struct trie_readers *columns, const struct functions *functions)
{
	columns->path = malloc((columns->sites.size + 1) * sizeof(*columns->path));
	columns->ranks = functions->rows.count;
	columns->sites_of = malloc(columns->ranks * sizeof(*columns->sites_of));
	if (!columns->path || !columns->sites_of)
		return -ENOMEM;
	columns->path[0] = 0;
	for (size_t i = 0; i < columns->ranks; i++) {
		const struct function_frames *row = &functions->rows.items[functions->by_rank[i]];

		columns->sites_of[i] = (struct rank_sites){ row->first_site, row->sites };
	}
	return 0;
}

struct trie_target {
	const struct functions *functions;
	struct leaves *leaves;
};

static void trie_readers_done(struct trie_readers *columns)
{
	free(columns->path);
	free(columns->sites_of);
}

static int decode_trie(const struct decoding *decoding, struct section_reader *section,
		       void *context)
{
	const struct trie_target *target = context;
	_cleanup_(trie_readers_done) struct trie_readers columns = { 0 };
	const struct reader *all[] = { &columns.comms, &columns.nodes, &columns.pops,
				       &columns.sites, &columns.counts };
	int r = segment_trie_take_columns(section, &columns);

	if (r < 0)
		return r;
	r = reserve_rows(&columns, decoding->tape, target->leaves);
	if (r < 0)
		return r;
	r = reserve_walk(&columns, target->functions);
	if (r < 0)
		return r;
	r = take_forests(&columns, target->functions, decoding->tape, target->leaves);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (reader_failed(all[i]) || reader_left(all[i]))
			return -EBADMSG;
	return 0;
}

/* Checks that the leaf nodes have as many samples as the header states. */
static int check_counts(const struct decoding *decoding, const struct leaves *leaves)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < leaves->count.count; i++)
		samples += leaves->count.items[i];
	if (samples != decoding->contents.summary.samples)
		return error_set(decoding->error, -EBADMSG,
				 "section trie has %llu samples, the header %llu",
				 (unsigned long long)samples,
				 (unsigned long long)decoding->contents.summary.samples);
	return 0;
}

static int rank_leaves(struct leaves *leaves)
{
	size_t count = leaves->stack.count;

	leaves->by_rank = malloc((count + 1) * sizeof(*leaves->by_rank));
	if (!leaves->by_rank)
		return -ENOMEM;
	group_start(leaves->by_rank, count);
	return trie_order_by_rank(leaves->by_rank, count, leaves->count.items, leaves->comm.items);
}

static int segment_trie_add_sums(struct tape *tape, const struct functions *functions,
				 const struct leaves *leaves)
{
	if (array_reserve(&tape->sums, leaves->stack.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < leaves->stack.count; i++)
		tape->sums.items[tape->sums.count++] = (struct tape_sum){
			.comm = leaves->comms.items[leaves->comm.items[i]],
			.stack = leaves->stack.items[i],
			.frame = functions->rows.items[leaves->function.items[i]].first_leaf,
			.count = leaves->count.items[i],
		};
	return 0;
}

int trie_decode(const struct decoding *decoding, const struct functions *functions,
		struct leaves *leaves)
{
	struct trie_target target = { functions, leaves };
	const struct contents_entry *entry = decoding_find(decoding, "trie");
	int r;

	if (!entry)
		return error_set(decoding->error, -EBADMSG, "the segment lacks section trie");
	r = decoding_section(decoding, entry, decode_trie, &target);
	if (r < 0)
		return r;
	r = check_counts(decoding, leaves);
	if (r < 0)
		return r;
	if (decoding->want->parts & SEGMENT_SAMPLES)
		r = rank_leaves(leaves);
	if (r < 0)
		return r;
	if (decoding->want->parts & SEGMENT_SUMS)
		return segment_trie_add_sums(decoding->tape, functions, leaves);
	return 0;
}
