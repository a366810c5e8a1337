/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver model, as far as verbs objects carry it: a name, a parent, and data. */
#ifndef KAPI_LINUX_DEVICE_H
#define KAPI_LINUX_DEVICE_H

#include <linux/printk.h>
#include <linux/types.h>

struct device {
	struct device *parent;
	const char *name;
	void *driver_data;
	int numa_node;
};

static inline const char *dev_name(const struct device *dev)
{
	return dev && dev->name ? dev->name : "(null)";
}

static inline void *dev_get_drvdata(const struct device *dev)
{
	return dev->driver_data;
}

static inline void dev_set_drvdata(struct device *dev, void *data)
{
	dev->driver_data = data;
}

static inline int dev_to_node(const struct device *dev)
{
	return dev->numa_node;
}

#define NUMA_NO_NODE           (-1)
#define dev_err(dev, fmt, ...) printk(KERN_ERR "%s: " fmt, dev_name(dev), ##__VA_ARGS__)
#define dev_warn(dev, fmt, ...) \
	printk(KERN_WARNING "%s: " fmt, dev_name(dev), ##__VA_ARGS__)
#define dev_info(dev, fmt, ...) printk(KERN_INFO "%s: " fmt, dev_name(dev), ##__VA_ARGS__)
#define dev_dbg(dev, fmt, ...)  printk(KERN_DEBUG "%s: " fmt, dev_name(dev), ##__VA_ARGS__)

#endif
