/* SPDX-License-Identifier: BSD-2-Clause */
/* What a consumer says: on standard error, or in verbcastd's log where it runs there. */
#ifndef KAPI_LINUX_PRINTK_H
#define KAPI_LINUX_PRINTK_H

#include <linux/compiler.h>
#include <verbcast/label.h>

#define KERN_SOH     "\001"
#define KERN_EMERG   KERN_SOH "0"
#define KERN_ALERT   KERN_SOH "1"
#define KERN_CRIT    KERN_SOH "2"
#define KERN_ERR     KERN_SOH "3"
#define KERN_WARNING KERN_SOH "4"
#define KERN_NOTICE  KERN_SOH "5"
#define KERN_INFO    KERN_SOH "6"
#define KERN_DEBUG   KERN_SOH "7"
#define KERN_CONT    KERN_SOH "c"
#define KERN_DEFAULT ""

int printk(const char *format, ...) KAPI(printk) __printf(1, 2);

#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif
#define pr_emerg(fmt, ...)            printk(KERN_EMERG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_alert(fmt, ...)            printk(KERN_ALERT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_crit(fmt, ...)             printk(KERN_CRIT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err(fmt, ...)              printk(KERN_ERR pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)             printk(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
#define pr_notice(fmt, ...)           printk(KERN_NOTICE pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)             printk(KERN_INFO pr_fmt(fmt), ##__VA_ARGS__)
#define pr_cont(fmt, ...)             printk(KERN_CONT fmt, ##__VA_ARGS__)
#define pr_debug(fmt, ...)            printk(KERN_DEBUG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err_ratelimited(fmt, ...)  pr_err(fmt, ##__VA_ARGS__)
#define pr_warn_ratelimited(fmt, ...) pr_warn(fmt, ##__VA_ARGS__)
#define pr_err_once(fmt, ...)         pr_err(fmt, ##__VA_ARGS__)
#define pr_warn_once(fmt, ...)        pr_warn(fmt, ##__VA_ARGS__)

#endif
