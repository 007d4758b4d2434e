import { describe, expect, test } from 'vitest';
import { plan } from '../../plugin/plan.ts';
import { EXIT } from '../../plugin/ports.ts';
import { world } from './support.ts';

describe('kubectl routedip plan without a manifest', () => {
  const PLAN = '/api/v1/namespaces/routedip-operator/services/routedip-operator-journal:journal/proxy/plan';
  const told = async (answer: unknown, json = false) => {
    const made = world({ [PLAN]: answer }, { output: json ? 'json' : 'table' });
    const code = await plan(made.session, { file: null });
    expect(made.patches).toEqual([]);
    return { code, text: made.out() };
  };
  const differences = [
    { what: 'move', subject: '198.51.100.1', from: 'a', to: 'c' },
    { what: 'create', subject: 'a new address', from: null, to: 'pool/default/lacking' },
  ];

  test('tells what an operator would do that only observes, as of a manifest', async () => {
    const { code, text } = await told({ differences });
    expect(`\n${text}\n`).toBe(`
The operator only observes. It would do this:

WHAT     OF              FROM   TO
move     198.51.100.1    a      c
create   a new address   -      pool/default/lacking
`);
    expect(code).toBe(EXIT.attention);
    expect(JSON.parse((await told({ differences }, true)).text)).toEqual({ differences });
  });

  test('says when that is nothing, and ends with 0', async () => {
    expect(await told({ differences: [] })).toEqual({ code: EXIT.ok, text: 'The operator only observes, and would do nothing.' });
  });

  test.each([
    ['there is none', null],
    ['it acts', { error: 'There is /journal?actor=<id>.' }],
  ])('says what to do where %s', async (_, answer) => {
    await expect(told(answer)).rejects.toThrow('run one with --observe and --journal-bind-addr=:8084, or name a manifest by -f');
  });
});
