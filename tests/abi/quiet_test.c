// SPDX-License-Identifier: BSD-2-Clause
// Being loaded is all the libraries do when they are loaded: no descriptor, no thread, no
// child, no signal handler, no word; and they stay when they are closed.
#include "harness/harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const libraries[] = {
	VERBCAST_LIBDIR "/libibverbs.so.1",
	VERBCAST_LIBDIR "/librdmacm.so.1",
	VERBCAST_LIBDIR "/libibumad.so.3",
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

struct look {
	int descriptors, threads;
	sigset_t mask;
	struct sigaction actions[64];
	size_t environment;
};

static int entries_of(const char *dir)
{
	DIR *stream = opendir(dir);
	int n = 0;

	assert_non_null(stream);
	while (readdir(stream))
		n++;
	closedir(stream);
	return n;
}

static void take_a_look(struct look *l)
{
	int i;

	memset(l, 0, sizeof(*l));
	l->descriptors = entries_of("/proc/self/fd");
	l->threads = entries_of("/proc/self/task");
	sigprocmask(SIG_BLOCK, NULL, &l->mask);
	for (i = 1; i < 64; i++)
		sigaction(i, NULL, &l->actions[i]);
	while (environ[l->environment])
		l->environment++;
}

static void assert_same(const struct look *a, const struct look *b)
{
	int i;

	assert_int_equal(a->descriptors, b->descriptors);
	assert_int_equal(a->threads, b->threads);
	assert_int_equal(a->environment, b->environment);
	for (i = 1; i < 64; i++) {
		assert_int_equal(sigismember(&a->mask, i), sigismember(&b->mask, i));
		assert_ptr_equal(a->actions[i].sa_handler, b->actions[i].sa_handler);
	}
}

/* Both output streams go to a memory file meanwhile; returns how much was said. */
static off_t said_while(void (*does)(void))
{
	int words = memfd_create("words", MFD_CLOEXEC), out = dup(1), err = dup(2);
	struct stat st;

	assert_true(words >= 0 && out >= 0 && err >= 0);
	fflush(NULL);
	dup2(words, 1);
	dup2(words, 2);
	does();
	fflush(NULL);
	dup2(out, 1);
	dup2(err, 2);
	fstat(words, &st);
	close(words);
	close(out);
	close(err);
	return st.st_size;
}

static void *handles[LIBRARIES];

static void load_all(void)
{
	size_t i;

	for (i = 0; i < LIBRARIES; i++)
		handles[i] = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
}

static void loading_does_nothing_else(void **state)
{
	struct look before, after;
	size_t i;

	take_a_look(&before);
	assert_int_equal(said_while(load_all), 0);
	take_a_look(&after);
	for (i = 0; i < LIBRARIES; i++) {
		if (!handles[i])
			fail_msg("%s", dlerror());
	}
	assert_same(&before, &after);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_closed_library_stays(void **state)
{
	size_t i;
	void *again;

	for (i = 0; i < LIBRARIES; i++) {
		dlclose(handles[i]);
		again = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
		assert_non_null(again);
		dlclose(again);
	}
}

/* A script's children all inherit the preload: they must not notice. */
static void a_program_that_only_inherits_them_is_undisturbed(void **state)
{
	char preload[1024], out[256];
	FILE *stream;
	size_t n;

	if (harness_sanitized())
		skip();
	snprintf(preload, sizeof(preload),
		 "LD_PRELOAD=%s:%s:%s env -u HOME -u XDG_RUNTIME_DIR "
		 "VERBCAST_SYSFS=/nowhere /bin/sh -c 'echo only this' 2>&1",
		 libraries[0], libraries[1], libraries[2]);
	stream = popen(preload, "r");
	assert_non_null(stream);
	n = fread(out, 1, sizeof(out) - 1, stream);
	out[n] = 0;
	assert_int_equal(pclose(stream), 0);
	assert_string_equal(out, "only this\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading_does_nothing_else),
		cmocka_unit_test(a_closed_library_stays),
		cmocka_unit_test(a_program_that_only_inherits_them_is_undisturbed),
	};

	return harness_run(tests);
}
