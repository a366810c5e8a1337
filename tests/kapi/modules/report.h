/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a module of these tests says: a line at the end of the file that its parameter
 * `report` names, from whatever thread.
 */
#ifndef KAPI_MODULES_REPORT_H
#define KAPI_MODULES_REPORT_H

#include <stdio.h>
#include <linux/module.h>
#include <linux/mutex.h>

static char *report = "/dev/null";
module_param(report, charp, 0);

static DEFINE_MUTEX(report_lock);

static void __printf(1, 2) say(const char *format, ...)
{
	va_list args;
	FILE *f;

	mutex_lock(&report_lock);
	f = fopen(report, "a");
	if (f) {
		va_start(args, format);
		vfprintf(f, format, args);
		va_end(args);
		fputc('\n', f);
		fclose(f);
	}
	mutex_unlock(&report_lock);
}

#endif
