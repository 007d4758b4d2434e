import { describe, expect, test } from 'vitest';
import { seedOf } from '../simulation/generate.ts';
import { extent } from '../support/extent.ts';
import { hostileOfSeed } from './histories.ts';
import { brokenByAttack } from './twin.ts';

/** The same histories each time; others by `npm run simulate -- --hostile`. */
const SEED = 1;
const PARTS = extent(12, 3);
const PART = extent(20, 8);

describe('whatever somebody does who may edit everything in a namespace of his own', () => {
  test.each(Array.from({ length: PARTS }, (_, part) => part * PART))(
    'all others have what they have without him, in the %i. history and those after it',
    async (first) => {
      for (let number = first; number < first + PART; number += 1)
        expect(
          await brokenByAttack(hostileOfSeed(seedOf(SEED, number))),
          `npm run simulate -- --hostile --seed ${SEED} --first ${number} --histories 1`,
        ).toEqual([]);
    },
    600_000,
  );
});
