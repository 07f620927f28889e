// SPDX-License-Identifier: GPL-2.0-only
/*
 * clickhouse LIBCHDB ARGS...: runs clickhouse-local out of a library, which the npm package chdb
 * has. The tests start a server with it (servers.py).
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *(*run)(int, char **) = library ? dlsym(library, "chdb_query_cmdline") : NULL;
	const char *(*why)(void *) = library ? dlsym(library, "chdb_result_error") : NULL;
	void *result;

	if (!run || !why) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "name the library");
		return 1;
	}
	argv[1] = argv[0];
	result = run(argc - 1, argv + 1);
	if (!result || !why(result))
		return result ? 0 : 1;
	fprintf(stderr, "%s\n", why(result));
	return 1;
}
