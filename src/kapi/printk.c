// SPDX-License-Identifier: BSD-2-Clause
/*
 * What consumers say (linux/printk.h). The level is in front of the format, behind a
 * control character. Each goes to where this process logs.
 */
#include <linux/printk.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kapi/calls.h"
#include "kapi/host.h"

enum {
	LEVEL_ERR = '3',
	LEVEL_NOTICE = '5',
	LEVEL_DEBUG = '7'
};

static void say_to_log(char level, const char *text)
{
	if (level <= LEVEL_ERR)
		log_error("%s", text);
	else if (level < LEVEL_NOTICE)
		log_warning("%s", text);
	else if (level < LEVEL_DEBUG)
		log_info("%s", text);
	else
		log_debug("%s", text);
}

static void say_to_stderr(char level, const char *text)
{
	if (level < LEVEL_DEBUG)
		fprintf(stderr, "%s\n", text);
}

int printk(const char *format, ...)
{
	char text[1024], level = LEVEL_NOTICE;
	va_list args;
	size_t end;
	int n;

	if (format[0] == KERN_SOH[0] && format[1]) {
		level = format[1] == 'c' ? LEVEL_NOTICE : format[1];
		format += 2;
	}
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	end = strlen(text);
	if (end && text[end - 1] == '\n')
		text[end - 1] = 0;
	if (kapi_host_logs())
		say_to_log(level, text);
	else
		say_to_stderr(level, text);
	return n;
}

static _Atomic unsigned int reports;

void kapi_report(const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reports++;
	printk(KERN_ERR "kapi: %s\n", text);
}

unsigned int kapi_reports(void)
{
	return reports;
}
