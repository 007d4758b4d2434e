import { describe, test } from 'vitest';
import { FIREWALLS } from './away-firewalls.ts';
import { GONE } from './away-gone.ts';
import { RETURNS } from './away-returns.ts';
import { tell } from './away-telling.ts';
import { REPLICAS } from './away-without.ts';

const STORIES = [...REPLICAS, ...RETURNS, ...GONE, ...FIREWALLS];

describe('while Redis is away for one or for all', () => {
  for (const story of STORIES) test(story.name, () => tell(story));
});
