import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type AdmissionOperation, admitIP, admitVirtualIP, type Verdict } from '../../machines/migration/admission.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { objectsIn } from './kube-apply.ts';
import { DENIALS, IPS, ipNamed, VIRTUAL_IPS, virtualIP } from './vip-admission.ts';
import { waitFor } from './wait-for.ts';

const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';
const MANIFEST = join(import.meta.dirname, '../../deploy/vip-admission-policies.yaml');
const STATES = ['Valid', 'Error', 'Migrating: preparing for migration', 'Migrating: cleaning up', 'Migrated', ''];

const BEGUN = [{}, { migrate: '' }];
const PINNED = [{}, { ip: '1.1.1.1' }];

/** One of each state, with and without an address that was asked for, before its migration and in it. */
const VIRTUAL_IPS_BEFORE = STATES.flatMap((state, index) =>
  BEGUN.flatMap((begun) =>
    PINNED.map((pinned) => ({
      name: `vip-${index}${begun.migrate ?? '-kept'}${pinned.ip === undefined ? '' : '-pinned'}`,
      state,
      begun,
      pinned,
    })),
  ),
);

/** What users may wish them to be. */
const WISHES = BEGUN.flatMap((begun) =>
  [...PINNED, { ip: '' }, { ip: '1.1.1.2' }].flatMap((pinned) => ['web', 'other'].map((service) => ({ ...begun, ...pinned, service }))),
);

const textOf = (verdict: Verdict): string => (verdict.kind === 'denied' ? verdict.message : 'allowed');

/** One request in the name of a user, of the administrator when none is named. */
export type SendAs = (method: string, path: string, body?: unknown, user?: string) => Promise<{ code: number; body: JsonObject }>;

/** What the shipped policies let whom do, held against a server with the definitions of IPs and VirtualIPs that evaluates policies, on which every user may write both as far as
 *  roles go. `opened` is called once tests run. */
export const describePolicies = (opened: () => Promise<SendAs>): void => {
  let send: SendAs;

  /** `allowed`, or what the policy tells the user. */
  const told = async (method: string, path: string, body?: unknown, user = 'jane'): Promise<string> => {
    const answer = await send(method, path, body, user);
    if (answer.code < 300) return 'allowed';
    expect([answer.code, answer.body.reason]).toEqual([403, 'Forbidden']);
    expect(answer.body.message).toMatch(/ is forbidden: ValidatingAdmissionPolicy '(\w+\.paas\.org)' with binding '\1' denied request: /);
    return String(answer.body.message).replace(/^.* denied request: /, '');
  };

  beforeAll(async () => {
    send = await opened();
    // Those that were there before: nobody may create one afterwards.
    expect((await send('POST', IPS, ipNamed('1.1.1.1'))).code).toBe(201);
    for (const { name, state, begun, pinned } of VIRTUAL_IPS_BEFORE) {
      expect((await send('POST', VIRTUAL_IPS, virtualIP(name, { ...begun, ...pinned }))).code).toBe(201);
      expect((await send('PATCH', `${VIRTUAL_IPS}/${name}/status`, { status: { state } })).code).toBe(200);
    }
    for (const object of objectsIn(MANIFEST)) {
      const plural = object.kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings';
      const { code, body } = await send('POST', `/apis/admissionregistration.k8s.io/v1/${plural}?fieldValidation=Strict`, object);
      expect([object.metadata.name, code, body.message]).toEqual([object.metadata.name, 201, undefined]);
    }
    // A server goes by a policy a moment after it has stored it.
    await waitFor('both policies count', async () => {
      const answers = [
        await send('POST', `${IPS}?dryRun=All`, ipNamed('9.9.9.9')),
        await send('POST', `${VIRTUAL_IPS}?dryRun=All`, virtualIP('late')),
      ];
      return answers.every(({ code }) => code === 403);
    });
  });

  describe('the shipped policies', () => {
    test.each<[AdmissionOperation, string, string, unknown]>([
      ['CREATE', 'POST', `${IPS}?dryRun=All`, ipNamed('1.1.1.2')],
      ['UPDATE', 'PATCH', `${IPS}/1.1.1.1`, { metadata: { labels: { ipgroup: 'mine' } } }],
      ['DELETE', 'DELETE', `${IPS}/1.1.1.1?dryRun=All`, undefined],
      ['DELETE', 'DELETE', `${IPS}?dryRun=All`, undefined],
    ])('let the operator alone write an IP: %s by %s %s', async (operation, method, path, body) => {
      for (const user of ['jane', 'system:serviceaccount:default:routedip-operator', OPERATOR]) {
        const expected = textOf(admitIP({ operation, user, object: null, oldObject: null }, OPERATOR));
        expect(expected === 'allowed').toBe(user === OPERATOR);
        expect(await told(method, path, body, user)).toBe(expected);
      }
    });

    test('let nobody create a VirtualIP', async () => {
      expect(await told('POST', VIRTUAL_IPS, virtualIP('late'))).toBe(DENIALS.deprecated);
      expect(await told('POST', VIRTUAL_IPS, virtualIP('late', { migrate: '' }), OPERATOR)).toBe(DENIALS.deprecated);
    });

    test('say of every change of a VirtualIP what the webhook says', async () => {
      const heard = new Set<string>();
      for (const { name } of VIRTUAL_IPS_BEFORE) {
        const path = `${VIRTUAL_IPS}/${name}`;
        const { body: oldObject } = await send('GET', path);
        for (const wish of WISHES) {
          const object = { ...oldObject, ...virtualIP(name, wish), metadata: metadataOf(oldObject, wish.migrate) };
          const expected = textOf(admitVirtualIP({ operation: 'UPDATE', user: 'jane', object, oldObject }));
          expect([name, wish, await told('PUT', `${path}?dryRun=All`, object)]).toEqual([name, wish, expected]);
          heard.add(expected);
        }
      }
      const { immutable, notStopped, notValid, notChanged } = DENIALS;
      expect([...heard].sort()).toEqual([immutable, 'allowed', notChanged, notValid, notStopped].sort());
    });

    test('let users delete VirtualIPs, and the operator write their status', async () => {
      for (const { name } of VIRTUAL_IPS_BEFORE) {
        expect(await told('DELETE', `${VIRTUAL_IPS}/${name}?dryRun=All`)).toBe('allowed');
        expect(await told('PATCH', `${VIRTUAL_IPS}/${name}/status?dryRun=All`, { status: { state: 'Error' } }, OPERATOR)).toBe('allowed');
      }
    });
  });
};

const metadataOf = ({ metadata }: JsonObject, migrate: string | undefined): JsonObject => {
  const { annotations: _annotations, ...rest } = metadata as JsonObject;
  return { ...rest, ...(migrate !== undefined && { annotations: { 'virtualips.paas.org/migrate': migrate } }) };
};
