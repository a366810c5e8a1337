// SPDX-License-Identifier: BSD-2-Clause
/*
 * The guard reads /proc/self: whatever a test leaves behind, it is seen there by its
 * kind and name, without the tested code having to help.
 */
#include "harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GUARD_ITEMS_MAX 1024
#define GUARD_NAME_MAX  256

/* What the process holds at one moment, each item as one line of text. */
struct guard_view {
	unsigned int count;
	char items[GUARD_ITEMS_MAX][GUARD_NAME_MAX];
};

static struct guard_view guard_before, guard_now;

unsigned int harness_guard_patience_ms = 2000;

static void view_add(struct guard_view *view, const char *kind, const char *id,
		     const char *name)
{
	if (view->count == GUARD_ITEMS_MAX)
		return;
	snprintf(view->items[view->count++], GUARD_NAME_MAX, "%s %.16s %.200s", kind, id,
		 name);
}

static bool view_has(const struct guard_view *view, const char *item)
{
	for (unsigned int i = 0; i < view->count; i++)
		if (!strcmp(view->items[i], item))
			return true;
	return false;
}

static void view_descriptors(struct guard_view *view)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[64], target[GUARD_NAME_MAX];
	struct dirent *e;
	ssize_t n;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%.16s", e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		view_add(view, "descriptor", e->d_name, target);
	}
	closedir(dir);
}

static void read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	line[0] = '\0';
	if (!f)
		return;
	if (!fgets(line, size, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	fclose(f);
}

/* One that is joined is in /proc for a moment longer, as long as it gets no CPU, but is
 * told from others: PF_EXITING among its flags (proc_pid_stat(5), field 9). */
static bool is_ending(const char *tid)
{
	char path[64], line[512];
	unsigned int flags = 0;
	const char *rest;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", tid);
	read_line(path, line, sizeof(line));
	rest = strrchr(line, ')');
	return !rest ||
	       (sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & 0x4);
}

static void view_threads(struct guard_view *view)
{
	DIR *dir = opendir("/proc/self/task");
	char path[64], line[GUARD_NAME_MAX], *rest;
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' || is_ending(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", e->d_name);
		read_line(path, line, sizeof(line));
		view_add(view, "thread", e->d_name, line);
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", e->d_name);
		read_line(path, line, sizeof(line));
		rest = line;
		for (char *p; (p = strtok_r(rest, " ", &rest));)
			view_add(view, "child", p, "");
	}
	closedir(dir);
}

/* Shared memory that is still mapped: memfds and whatever lies in /dev/shm. */
static void view_mappings(struct guard_view *view)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024], *name;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, '/');
		if (name &&
		    (!strncmp(name, "/memfd:", 7) || !strncmp(name, "/dev/shm/", 9)))
			view_add(view, "mapping", line, name);
	}
	if (f)
		fclose(f);
}

static void view_take(struct guard_view *view)
{
	view->count = 0;
	view_descriptors(view);
	view_threads(view);
	view_mappings(view);
}

static unsigned int view_news(const struct guard_view *before,
			      const struct guard_view *now, bool print)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < now->count; i++) {
		if (view_has(before, now->items[i]))
			continue;
		if (print)
			print_error("left behind: %s\n", now->items[i]);
		n++;
	}
	return n;
}

static void *nothing(void *arg)
{
	return arg;
}

int harness_guard_begin(void **state)
{
	pthread_t thread;

	/* A sanitizer starts its own thread with the first of ours: let it. */
	if (!pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
	view_take(&guard_before);
	return 0;
}

int harness_guard_end(void **state)
{
	uint64_t end = harness_deadline(harness_guard_patience_ms);

	/* What nobody waits for may take a moment to end. */
	do {
		view_take(&guard_now);
		if (!view_news(&guard_before, &guard_now, false))
			return 0;
		harness_pause();
	} while (clock_now_ns() < end);
	view_news(&guard_before, &guard_now, true);
	return -1;
}

unsigned int harness_count(unsigned int check, unsigned int soak)
{
	const char *scale = getenv("VERBCAST_SCALE");

	if (!scale || strcmp(scale, "soak"))
		return check;
	if (harness_sanitized())
		soak /= HARNESS_SANITIZED_SHARE;
	return soak > check ? soak : check;
}

void harness_skip(const char *format, ...)
{
	va_list ap;

	fputs("skipped: ", stdout);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	exit(HARNESS_SKIP);
}

bool harness_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
	return false;
#endif
}

uint64_t harness_deadline(unsigned int ms)
{
	return clock_now_ns() + ms * UINT64_C(10000000);
}

void harness_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}
