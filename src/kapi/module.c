// SPDX-License-Identifier: BSD-2-Clause
/*
 * Consumers as shared objects (linux/module.h): loading, parameters, init and exit.
 *
 * Context: any thread but the loop's: an init may wait for what the loop brings. One module
 * at a time is loaded or unloaded.
 */
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <stdarg.h>
#include <verbcast/kapi.h>

#include "kapi/calls.h"
#include "kapi/host.h"

#define NAME_MAX_BYTES 64
#define STRINGS_MAX    16

struct loaded {
	struct list_head link; /* in modules, guarded by modules_lock */
	char name[NAME_MAX_BYTES];
	void *handle;
	void (*exit)(void);         /* null: it stays */
	char *strings[STRINGS_MAX]; /* values of parameters, for as long as it is there */
	unsigned int string_count;
};

/* Over init and exit: they are called one at a time, and nobody lists a half of one. */
static DEFINE_MUTEX(modules_mutex);
static DEFINE_MUTEX(modules_lock);
static LIST_HEAD(modules); /* struct loaded, guarded by modules_lock */

struct reason {
	char *text;
	unsigned int room;
};

static int __printf(3, 4) refuse(const struct reason *why, int r, const char *format, ...)
{
	va_list args;

	if (!why->text || !why->room)
		return r;
	va_start(args, format);
	vsnprintf(why->text, why->room, format, args);
	va_end(args);
	return r;
}

/* "/a/b/mcast_consumer.so" is "mcast_consumer". */
static void name_of(const char *path, char name[NAME_MAX_BYTES])
{
	const char *base = strrchr(path, '/');
	char *dot;

	strscpy(name, base ? base + 1 : path, NAME_MAX_BYTES);
	dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
}

static struct loaded *find_locked(const char *name)
{
	struct loaded *m;

	list_for_each_entry(m, &modules, link)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

static struct loaded *find(const char *name)
{
	struct loaded *m;

	mutex_lock(&modules_lock);
	m = find_locked(name);
	mutex_unlock(&modules_lock);
	return m;
}

/* -- parameters --------------------------------------------------------------------- */

static int set_number(const struct kapi_param *p, const char *text)
{
	char *end;
	long long n = strtoll(text, &end, 0);

	if (!*text || *end)
		return -EINVAL;
	switch (p->type) {
	case KAPI_PARAM_int:
		*(int *)p->value = n;
		return n < INT_MIN || n > INT_MAX ? -ERANGE : 0;
	case KAPI_PARAM_uint:
		*(unsigned int *)p->value = n;
		return n < 0 || n > UINT_MAX ? -ERANGE : 0;
	case KAPI_PARAM_ulong:
		*(unsigned long *)p->value = n;
		return n < 0 ? -ERANGE : 0;
	default:
		return -EINVAL;
	}
}

static int set_string(struct loaded *m, const struct kapi_param *p, const char *text)
{
	char *copy;

	if (m->string_count == STRINGS_MAX)
		return -ENOSPC;
	copy = kstrdup(text, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	m->strings[m->string_count++] = copy;
	*(char **)p->value = copy;
	return 0;
}

static int set_parameter(struct loaded *m, const struct kapi_param *p, const char *text)
{
	switch (p->type) {
	case KAPI_PARAM_bool:
		if (!text[0] || text[1] || !strchr("01yYnN", text[0]))
			return -EINVAL;
		*(bool *)p->value = strchr("1yY", text[0]);
		return 0;
	case KAPI_PARAM_charp:
		return set_string(m, p, text);
	case KAPI_PARAM_string:
		return strscpy(p->value, text, p->size) < 0 ? -ENOSPC : 0;
	default:
		return set_number(p, text);
	}
}

static int set_one(struct loaded *m, const char *assignment, const struct reason *why)
{
	const char *value = strchr(assignment, '=');
	const struct kapi_param *p = NULL;
	char symbol[96];
	int r = -EINVAL;

	if (value) {
		snprintf(symbol, sizeof(symbol), "kapi_param_%.*s",
			 (int)(value - assignment), assignment);
		p = dlsym(m->handle, symbol);
	}
	if (p)
		r = set_parameter(m, p, value + 1);
	return r < 0 ? refuse(why, r, "%s: no such parameter, or no such value",
			      assignment)
		     : 0;
}

/* -- loading ------------------------------------------------------------------------ */

static int open_object(const char *path, const struct reason *why, void **ret)
{
	char full[4096];
	const char *slash = strchr(path, '/');
	struct stat st;

	/* Without a slash the loader would look in its own folders. */
	snprintf(full, sizeof(full), "%s%s", slash ? "" : "./", path);
	if (access(full, R_OK) < 0)
		return refuse(why, -ENOENT, "%s: no such file, or not to be read", path);
	/* In a FIFO the loader would wait for a writer. */
	if (stat(full, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(why, -ENOEXEC, "%s: it is no regular file", path);
	*ret = dlopen(full, RTLD_NOW | RTLD_LOCAL);
	return *ret ? 0 : refuse(why, -ENOEXEC, "%s", dlerror());
}

/* Of the object itself, not of what it is linked with. */
static void *own_symbol(void *handle, const char *name)
{
	void *symbol = dlsym(handle, name), *base = dlsym(handle, "kapi_module_init");
	Dl_info of_symbol, of_base;

	if (!symbol || !base || !dladdr(symbol, &of_symbol) || !dladdr(base, &of_base))
		return NULL;
	return of_symbol.dli_fbase == of_base.dli_fbase ? symbol : NULL;
}

static int start(struct loaded *m, const char *const *parameters,
		 const struct reason *why)
{
	int (*const *init)(void) = own_symbol(m->handle, "kapi_module_init");
	void (*const *leave)(void) = own_symbol(m->handle, "kapi_module_exit");
	int r = 0;

	if (!init)
		return refuse(why, -EINVAL, "%s has no module_init", m->name);
	for (; parameters && *parameters && r == 0; parameters++)
		r = set_one(m, *parameters, why);
	if (r < 0)
		return r;
	m->exit = leave ? *leave : NULL;
	r = (*init)();
	return r < 0 ? refuse(why, r, "the init of %s returned %d", m->name, r) : 0;
}

static void module_free(struct loaded *m)
{
	if (m->handle)
		dlclose(m->handle);
	for (unsigned int i = 0; i < m->string_count; i++)
		kfree(m->strings[i]);
	kfree(m);
}

static int load(const char *path, const char *const *parameters, const struct reason *why)
{
	struct loaded *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int r;

	if (!m)
		return -ENOMEM;
	name_of(path, m->name);
	r = find(m->name) ? refuse(why, -EEXIST, "%s is loaded already", m->name)
			  : open_object(path, why, &m->handle);
	if (r == 0)
		r = start(m, parameters, why);
	if (r < 0) {
		module_free(m);
		return r;
	}
	mutex_lock(&modules_lock);
	list_add_tail(&m->link, &modules);
	mutex_unlock(&modules_lock);
	return 0;
}

int kapi_module_load(const char *path, const char *const *parameters, char *why,
		     unsigned int room)
{
	const struct reason reason = { why, room };
	int r;

	if (kapi_on_loop())
		return refuse(&reason, -EDEADLK, "not from a callback");
	r = kapi_host_need();
	if (r < 0)
		return refuse(&reason, r, "there is no site");
	mutex_lock(&modules_mutex);
	r = load(path, parameters, &reason);
	mutex_unlock(&modules_mutex);
	return r;
}

static int unload(const char *name)
{
	struct loaded *m = find(name);

	if (!m)
		return -ENOENT;
	if (!m->exit)
		return -EBUSY;
	mutex_lock(&modules_lock);
	list_del(&m->link);
	mutex_unlock(&modules_lock);
	m->exit();
	module_free(m);
	return 0;
}

int kapi_module_unload(const char *name)
{
	int r;

	if (kapi_on_loop())
		return -EDEADLK;
	if (!mutex_trylock(&modules_mutex))
		return -EBUSY;
	r = unload(name);
	mutex_unlock(&modules_mutex);
	return r;
}

int kapi_module_list(char *out, unsigned int room)
{
	struct loaded *m;
	int n = 0;

	if (room)
		out[0] = 0;
	mutex_lock(&modules_lock);
	list_for_each_entry(m, &modules, link)
		n += snprintf(out + min((unsigned int)n, room),
			      room - min((unsigned int)n, room), "%s\n", m->name);
	mutex_unlock(&modules_lock);
	return n;
}
