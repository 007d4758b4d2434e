import { describe, test } from 'vitest';
import { FIREWALLS } from './firewalls.ts';
import { GONE } from './gone.ts';
import { RETURNS } from './returns.ts';
import { tell } from './telling.ts';
import { REPLICAS } from './without.ts';

const STORIES = [...REPLICAS, ...RETURNS, ...GONE, ...FIREWALLS];

describe('while Redis is away for one or for all', () => {
  for (const story of STORIES) test(story.name, () => tell(story));
});
