// SPDX-License-Identifier: BSD-2-Clause
/*
 * The main of a fuzz target where there is no fuzzer: every file of the named folder
 * goes in once, then each again cut short, so that a corpus of a few good inputs still
 * meets the ends of buffers. Buffers are exact, for AddressSanitizer to see an overrun.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(const uint8_t *data, size_t size)
{
	uint8_t *exact = fuzz_exact(data, size);

	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static int replay(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *f = fopen(path, "re");
	size_t size;

	if (!f) {
		perror(path);
		return -1;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	for (size_t n = 0; n < size; n += 1 + n / 64)
		feed(data, n);
	feed(data, size);
	return 0;
}

static int replay_folder(const char *folder)
{
	struct dirent **entries;
	char path[4096];
	int n, r = 0, files = 0;

	n = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
			r |= replay(path);
			files++;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	printf("%s: %d inputs\n", folder, files);
	return r || !files;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	return replay_folder(argv[1]) ? 1 : 0;
}
