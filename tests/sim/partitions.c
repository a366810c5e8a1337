// SPDX-License-Identifier: BSD-2-Clause
/*
 * Partitions: the default one, of which every host is a member, full or limited; and
 * others, with some of them. Group g is the partition's g modulo their number.
 */
#include "sim.h"

static const uint16_t bases[SIM_PARTITIONS_MAX] = { 0x7fff, 0x0001, 0x1234 };

/* What the SMs read, whenever they sweep. */
static struct sm_partition_member members[SIM_PARTITIONS_MAX][SIM_HOSTS_MAX];
static struct sm_partition partitions[SIM_PARTITIONS_MAX];

static enum sim_membership some_membership(unsigned int partition)
{
	if (partition == 0)
		return sim_chance(70) ? SIM_FULL_MEMBER : SIM_LIMITED;
	return (enum sim_membership)sim_below(SIM_FULL_MEMBER + 1);
}

static void publish(unsigned int number)
{
	struct sm_partition *p = &partitions[number];

	p->member_count = 0;
	for (unsigned int n = 0; n < sim.host_count; n++) {
		struct fabric_port_info info;

		if (sim.membership[number][n] == SIM_NO_MEMBER)
			continue;
		fabric_port_info(fabric_hca_port(sim.fabric, n), &info);
		members[number][p->member_count++] = (struct sm_partition_member){
			.port_guid = info.port_guid,
			.full = sim.membership[number][n] == SIM_FULL_MEMBER,
		};
	}
}

void sim_partitions_choose(void)
{
	memset(sim.membership, 0, sizeof(sim.membership));
	sim.profile.partitions = sim_below(SIM_PARTITIONS_MAX + 1);
	for (unsigned int i = 0; i < sim.profile.partitions; i++) {
		partitions[i] = (struct sm_partition){ .pkey = bases[i],
						       .ipoib = i == 0 || sim_chance(50),
						       .members = members[i] };
		for (unsigned int n = 0; n < sim.host_count; n++)
			sim.membership[i][n] = (uint8_t)some_membership(i);
	}
}

const struct sm_partition *sim_partitions(unsigned int *ret_count)
{
	for (unsigned int i = 0; i < sim.profile.partitions; i++)
		publish(i);
	*ret_count = sim.profile.partitions;
	return *ret_count ? partitions : NULL;
}

void sim_partitions_change(void)
{
	unsigned int changes = 1 + sim_below(4);

	if (!sim.profile.partitions)
		return;
	while (changes--) {
		unsigned int i = sim_below(sim.profile.partitions);
		unsigned int n = sim_below(sim.host_count);

		sim.membership[i][n] = (uint8_t)some_membership(i);
		sim_trace("host %u is member %u of partition %04x", n,
			  sim.membership[i][n], bases[i]);
		publish(i);
	}
	for (unsigned int i = 0; i < SIM_MANAGERS_MAX; i++)
		if (sim.managers[i].sm)
			sm_sweep(sim.managers[i].sm);
}

uint16_t sim_pkey_of_group(unsigned int group)
{
	uint16_t base =
		sim.profile.partitions ? bases[group % sim.profile.partitions] : bases[0];

	return base | IB_PKEY_FULL_MEMBER;
}

enum sim_membership sim_membership(const struct sim_host *host, uint16_t pkey)
{
	uint16_t base = pkey & (uint16_t)~IB_PKEY_FULL_MEMBER;
	const struct sim_manager *master = sim_master();

	/* The SM's own port must reach everybody's. */
	if (base == bases[0] &&
	    (!sim.profile.partitions || (master && master->host == host)))
		return SIM_FULL_MEMBER;
	for (unsigned int i = 0; i < sim.profile.partitions; i++)
		if (bases[i] == base)
			return (enum sim_membership)sim.membership[i][host->number];
	return SIM_NO_MEMBER;
}
