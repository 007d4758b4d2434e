import { dereference } from '@apidevtools/json-schema-ref-parser';
import { describe, expect, test } from 'vitest';
import { bare, jsonOf, sharing } from '../tools/api-schemas.ts';

describe('a schema that is kept', () => {
  test('judges as the published one, and says nothing to people', () => {
    const published = {
      description: 'A region.',
      type: ['object', 'null'],
      required: ['slug'],
      properties: {
        slug: { type: 'string', title: 'Slug', examples: ['nyc3'], pattern: '^[a-z]' },
        description: { type: 'string', 'x-order': 2 },
      },
      anyOf: [{ example: {} }, { items: { deprecated: true, enum: ['title'] } }],
    };
    expect(bare(published)).toEqual({
      anyOf: [{}, { items: { enum: ['title'] } }],
      properties: { description: { type: 'string' }, slug: { pattern: '^[a-z]', type: 'string' } },
      required: ['slug'],
      type: ['object', 'null'],
    });
  });

  test('is refused with a keyword that nobody has thought of', () => {
    expect(() => bare({ properties: { a: { patternProperties: {} } } })).toThrow('is the keyword patternProperties to be kept?');
  });
});

describe('what stands in several places', () => {
  const region = { properties: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`name-${n}`, { type: 'string' }])), type: 'object' };
  const droplet = { properties: { region, regions: { items: region, type: 'array' } }, type: 'object' };
  const calls = {
    'GET /a': { schema: droplet, examples: { one: region } },
    'GET /b': { schema: { properties: { other: droplet }, type: 'object' }, examples: {} },
  };

  test('is written once, under the name of its first place, and read as before', async () => {
    const { value, defs } = sharing(calls);
    expect(Object.keys(defs)).toEqual(['GET /a', 'region']);
    expect(jsonOf(value['GET /b']).schema).toMatchObject({ properties: { other: { $ref: '#/$defs/GET /a' } } });
    expect(jsonOf(await dereference({ calls: value, $defs: defs })).calls).toEqual(calls);
  });

  test('is no reason to change an example', () => {
    expect(jsonOf(sharing(calls).value['GET /a']).examples).toEqual({ one: region });
  });
});
