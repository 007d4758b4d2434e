import { describe, expect, test } from 'vitest';
import { type AdmissionFacts, admitIP, admitVirtualIP } from '../../../machines/migration/admission.ts';
import { MIGRATE_ANNOTATION } from '../../../machines/vip/virtualip.ts';

const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';

interface Deviation {
  readonly ip?: string;
  readonly service?: string;
  readonly state?: string;
  readonly migrate?: string;
}

const vip = ({ ip, service = 'web', state = 'Valid', migrate }: Deviation = {}): unknown => ({
  metadata: { name: 'web', namespace: 'shop', ...(migrate !== undefined && { annotations: { [MIGRATE_ANNOTATION]: migrate } }) },
  spec: { service, ...(ip !== undefined && { ip }) },
  status: { state },
});

const asked = (deviation: Partial<AdmissionFacts>): AdmissionFacts => ({
  operation: 'UPDATE',
  user: 'jane',
  object: vip(),
  oldObject: vip(),
  ...deviation,
});

const verdictOf = (verdict: ReturnType<typeof admitVirtualIP>): string => (verdict.kind === 'denied' ? verdict.message : 'allowed');

describe('an IP', () => {
  test.each([
    ['CREATE', 'create'],
    ['UPDATE', 'update'],
    ['DELETE', 'delete'],
  ] as const)('is written by the operator alone: %s', (operation, verb) => {
    expect(verdictOf(admitIP(asked({ operation, user: OPERATOR }), OPERATOR))).toBe('allowed');
    expect(verdictOf(admitIP(asked({ operation }), OPERATOR))).toBe(`user jane cannot ${verb} ip objects, only ${OPERATOR} is allowed`);
  });

  test('is not written by an administrator, or by one whose name only begins like the operator’s', () => {
    for (const user of ['system:admin', `${OPERATOR}-2`, OPERATOR.slice(0, -1), '']) {
      expect(verdictOf(admitIP(asked({ operation: 'DELETE', user }), OPERATOR))).toBe(
        `user ${user} cannot delete ip objects, only ${OPERATOR} is allowed`,
      );
    }
  });
});

const DEPRECATED = 'VirtualIP resource is deprecated, use a service with type LoadBalancer instead';
const IMMUTABLE = '.spec.ip is immutable';
const NOT_STOPPED = 'VirtualIP migration can not be stopped';
const NOT_VALID = 'not valid VirtualIP can not be migrated';
const NOT_CHANGED = 'can not change service once migration has begun';
const PREPARING = 'Migrating: preparing for migration';
const CLEANING = 'Migrating: cleaning up';

describe('a VirtualIP', () => {
  test.each([
    ['a short name', 'web'],
    ['a name of 49 letters', 'x'.repeat(49)],
  ])('is not created any more, with %s', (_, name) => {
    const object = { metadata: { name }, spec: { service: 'web' } };
    expect(verdictOf(admitVirtualIP(asked({ operation: 'CREATE', object, oldObject: null })))).toBe(DEPRECATED);
  });

  test('may be deleted in every state, by everybody', () => {
    for (const state of ['Valid', 'Error', PREPARING, CLEANING, 'Migrated']) {
      const oldObject = vip({ state, migrate: '' });
      expect(verdictOf(admitVirtualIP(asked({ operation: 'DELETE', object: null, oldObject })))).toBe('allowed');
    }
  });

  test.each<[string, Deviation, Deviation, string]>([
    ['keeps its address', { ip: '1.1.1.1' }, { ip: '1.1.1.2' }, IMMUTABLE],
    ['keeps its address when it is taken out', { ip: '1.1.1.1' }, {}, IMMUTABLE],
    ['gets none later', {}, { ip: '1.1.1.1' }, IMMUTABLE],
    ['has no address also when it is empty', {}, { ip: '' }, 'allowed'],
    ['may change its Service while it is not migrated', {}, { service: 'other' }, 'allowed'],
    ['may change its Service when it is in Error', { state: 'Error' }, { state: 'Error', service: 'other' }, 'allowed'],
    ['may begin its migration when it is Valid', {}, { migrate: '' }, 'allowed'],
    ['may begin its migration with any value', {}, { migrate: 'yes' }, 'allowed'],
    ['does not begin its migration in Error', { state: 'Error' }, { state: 'Error', migrate: '' }, NOT_VALID],
    ['does not begin its migration before it has a state', { state: '' }, { state: '', migrate: '' }, NOT_VALID],
    ['may change the value that began its migration', { state: CLEANING, migrate: '' }, { state: CLEANING, migrate: 'x' }, 'allowed'],
    ['may stop while nothing was changed', { state: PREPARING, migrate: '' }, { state: PREPARING }, 'allowed'],
    ['does not stop before the operator saw it', { migrate: '' }, {}, NOT_STOPPED],
    ['does not stop later', { state: CLEANING, migrate: '' }, { state: CLEANING }, NOT_STOPPED],
    ['does not stop when it is Migrated', { state: 'Migrated', migrate: '' }, { state: 'Migrated' }, NOT_STOPPED],
    ['keeps its Service in its migration', { migrate: '' }, { migrate: '', service: 'other' }, NOT_CHANGED],
    ['keeps its Service also when it stops', { state: PREPARING, migrate: '' }, { state: PREPARING, service: 'other' }, NOT_CHANGED],
  ])('%s', (_, before, after, expected) => {
    expect(verdictOf(admitVirtualIP(asked({ oldObject: vip(before), object: vip(after) })))).toBe(expected);
  });

  test('is told of the first rule that it breaks', () => {
    const begun = vip({ state: CLEANING, migrate: '', ip: '1.1.1.1' });
    const broken = (after: Deviation) => verdictOf(admitVirtualIP(asked({ oldObject: begun, object: vip({ state: CLEANING, ...after }) })));
    expect(broken({ ip: '1.1.1.2', service: 'other' })).toBe(IMMUTABLE);
    expect(broken({ ip: '1.1.1.1', service: 'other' })).toBe(NOT_STOPPED);
    expect(broken({ ip: '1.1.1.1', service: 'other', migrate: '' })).toBe(NOT_CHANGED);
  });

  test('is judged by the state that is stored, not by one that the request claims', () => {
    const request = asked({ oldObject: vip({ state: 'Error' }), object: vip({ state: 'Valid', migrate: '' }) });
    expect(verdictOf(admitVirtualIP(request))).toBe(NOT_VALID);
  });

  test('without spec, status or annotations is no riddle', () => {
    expect(verdictOf(admitVirtualIP(asked({ oldObject: {}, object: { metadata: { annotations: null } } })))).toBe('allowed');
    expect(verdictOf(admitVirtualIP(asked({ oldObject: null, object: [] })))).toBe('allowed');
  });
});
