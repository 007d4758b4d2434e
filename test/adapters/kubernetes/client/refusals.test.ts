import { describe, expect, test } from 'vitest';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { withRefusals } from '../../../../adapters/kubernetes/client/forbidden.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';

const VIP = '/apis/paas.org/v1/namespaces/default/virtualips/shop';
const MAY_NOT = 'the ServiceAccount may not patch virtualips in namespace default: User "operator" cannot do that';

/** A connection whose answers are what `answers` says of the path, each an error or nothing. */
const answering = () => {
  const clock = virtualClock();
  const answers = new Map<string, Error>();
  const answer = async ({ path }: { readonly path: string }): Promise<unknown> => {
    const error = answers.get(path);
    if (error) throw error;
    return {};
  };
  const connection: Connection = { send: answer, list: answer, watch: () => () => undefined, close: async () => undefined };
  const heard = withRefusals(connection, clock);
  const patch = (path: string) => heard.send({ method: 'PATCH', path }).catch((error: unknown) => error);
  return { clock, answers, heard, patch };
};

describe('a right that is missing', () => {
  test('is named until what was refused succeeds', async () => {
    const { answers, heard, patch } = answering();
    expect(heard.forbidden()).toBeNull();
    answers.set(VIP, refusal({ verb: 'patch', path: VIP }, 403, 'User "operator" cannot do that'));
    expect(String(await patch(VIP))).toContain(MAY_NOT);
    await patch('/api/v1/namespaces/default/services/shop');
    expect(heard.forbidden()).toBe(MAY_NOT);
    answers.clear();
    await patch(VIP);
    expect(heard.forbidden()).toBeNull();
  });

  test('is named for lists, too, and forgotten when nobody asks for it any more', async () => {
    const { clock, answers, heard } = answering();
    const path = '/apis/paas.org/v1/groupsegmentmappings';
    answers.set(path, refusal({ verb: 'list', path }, 403, 'User "operator" cannot do that'));
    await expect(heard.list({ path }, () => undefined)).rejects.toThrow('may not list groupsegmentmappings');
    await clock.advance(14 * 60_000);
    expect(heard.forbidden()).toContain('may not list groupsegmentmappings');
    await clock.advance(2 * 60_000);
    expect(heard.forbidden()).toBeNull();
  });

  test.each([
    ['an outage', new ServerUnreachable('away')],
    ['another refusal', refusal({ verb: 'patch', path: VIP }, 404, 'not found')],
    [
      'a quota',
      refusal({ verb: 'create', path: VIP }, 403, 'jobs.batch "x" is forbidden: exceeded quota: few, requested: count/jobs.batch=1'),
    ],
    [
      'a namespace that ends',
      refusal({ verb: 'create', path: VIP }, 403, 'unable to create new content in namespace default because it is being terminated'),
    ],
    [
      'a policy',
      refusal(
        { verb: 'patch', path: VIP },
        403,
        `nodes "a" is forbidden: ValidatingAdmissionPolicy 'routedip-node' with binding 'routedip-node' denied request: no`,
      ),
    ],
    ['a denial by a webhook', refusal({ verb: 'patch', path: VIP }, 403, 'admission webhook "vip.kb.io" denied the request')],
  ])('is not meant by %s', async (_, error) => {
    const { answers, heard, patch } = answering();
    answers.set(VIP, error);
    expect(await patch(VIP)).toBe(error);
    expect(heard.forbidden()).toBeNull();
  });
});
