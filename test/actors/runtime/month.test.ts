import { expect, test } from 'vitest';
import { extent } from '../../support/extent.ts';
import { Month } from '../../support/month.ts';

/** Long enough for what an account leaves to be deleted. */
const SHORT_DAY = 2 * 3_600_000;

test('what is stored after days on which objects of all kinds came and went is what it was before them', { timeout: 240_000 }, async () => {
  const world = new Month();
  await world.begin();
  await world.day(SHORT_DAY);
  const { jobs: jobsBefore, transitions: _, ...before } = await world.stored();
  const cells = world.cells();
  // Each way in which the leader changes comes once in four days.
  for (let day = 0; day < extent(12, 3); day += 1) await world.day(SHORT_DAY);
  const { jobs, transitions, ...after } = await world.stored();
  expect(world.cells()).toEqual(cells);
  expect(after).toEqual(before);
  expect(transitions).toBeLessThanOrEqual(200 * cells.length);
  // Those of the last hour, and of queues in which nothing has ended since.
  expect(jobs).toBeLessThan(2 * jobsBefore + 50);
});
