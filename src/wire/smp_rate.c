/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates: of a link, by its width and speed, and by their enum. */
#include "wire/smp.h"

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Tenths of Gb/s by rate enum: spec/sa-sm 1.3. */
static const uint16_t rates[] = {
	[2] = 25,    [3] = 100,   [4] = 300,   [5] = 50,    [6] = 200,   [7] = 400,
	[8] = 600,   [9] = 800,   [10] = 1200, [11] = 140,  [12] = 560,  [13] = 1120,
	[14] = 1680, [15] = 250,  [16] = 1000, [17] = 2000, [18] = 3000, [19] = 280,
	[20] = 500,  [21] = 4000, [22] = 6000,
};

uint32_t smp_rate_speed(uint8_t rate)
{
	return rate < SIZE(rates) ? rates[rate] : 0;
}

/* Both are one bit of a mask; others are no active width or speed (spec/sa-sm 3.6). */
static uint32_t lanes_of(uint8_t width_active)
{
	switch (width_active) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

/* Tenths of Gb/s of one lane. The extended speed counts if there is one. */
static uint32_t lane_speed(uint8_t speed_active, uint8_t speed_ext_active)
{
	static const uint16_t speeds[] = { [1] = 25, [2] = 50, [4] = 100 };
	static const uint16_t extended[] = { [1] = 140, [2] = 250, [4] = 500 };

	if (speed_ext_active)
		return speed_ext_active < SIZE(extended) ? extended[speed_ext_active] : 0;
	return speed_active < SIZE(speeds) ? speeds[speed_active] : 0;
}

uint8_t smp_link_rate(uint8_t width_active, uint8_t speed_active,
		      uint8_t speed_ext_active)
{
	uint32_t speed =
		lanes_of(width_active) * lane_speed(speed_active, speed_ext_active);

	for (uint8_t rate = 0; speed && rate < SIZE(rates); rate++)
		if (rates[rate] == speed)
			return rate;
	return 0;
}
