import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../machines/spec/pool.ts';
import type { ProviderFacts } from '../../../machines/spec/providers.ts';
import { asked, type CheckedRoutedIP, checkRoutedIP, type RoutedIPFact } from '../../../machines/spec/routedip.ts';
import { registry } from '../builders.ts';

const CLASS_NAME = 'digitalocean.com/floating-ip';

const fact = (spec: object = {}, ofClass: object = {}, change: Partial<RoutedIPFact> = {}): RoutedIPFact => ({
  namespace: 'web',
  name: 'shop',
  uid: 'uid-shop',
  spec: { className: CLASS_NAME, serviceRef: { serviceName: 'shop' }, ...spec },
  policy: { kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', spec: { className: CLASS_NAME, ...ofClass }, generation: 4 },
  operatorNamespace: 'operator',
  generation: 7,
  ...change,
});
const check = (given: RoutedIPFact, facts = registry()): CheckedRoutedIP => checkRoutedIP(given, facts);
const accepted = (given: RoutedIPFact, facts = registry()): PoolSpec => {
  const { spec, error } = check(given, facts);
  return spec ?? expect.fail(error ?? '');
};

describe('what provides the address of a RoutedIP', () => {
  test.each([
    [{ className: 'c' }, { kind: 'ClusterRoutedIPClass', className: 'c' }],
    [{ issuerRef: { name: 'i' } }, { kind: 'RoutedIPIssuer', name: 'i' }],
    [
      { className: '', issuerRef: { name: 'i' } },
      { kind: 'RoutedIPIssuer', name: 'i' },
    ],
  ])('is what %o names', (spec, expected) => expect(asked(spec)).toEqual(expected));

  test.each([[{}], [null], [{ className: 'c', issuerRef: { name: 'i' } }], [{ issuerClass: 'digitalocean' }], [{ issuerRef: {} }]])(
    'is not known of %o',
    (spec) => expect(asked(spec)).toBeNull(),
  );

  test.each([[{ issuerClass: 'digitalocean' }], [{}]])(
    'is no provider alone, as it once could be: of %o it is said how to mend it',
    (given) =>
      expect(check(fact({ className: undefined, ...given }, {}, { policy: null }))).toMatchObject({
        reason: 'InvalidSpec',
        error: expect.stringMatching(/^set exactly one of className and issuerRef; issuerClass is served no more: create a RoutedIPIssuer/),
      }),
  );

  test.each(['aws', 'gce'])('may not be %s, which is not implemented', (issuerClass) => {
    const policy = { kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec: { issuerClass } };
    expect(check(fact({ className: undefined, issuerRef: { name: 'own' } }, {}, { policy }))).toMatchObject({
      reason: 'UnsupportedIssuer',
    });
  });

  describe('with the credentials of the operator', () => {
    const refusal = { reason: 'OperatorCredentialsNotAllowed', message: 'not here' } as const;
    const policy = {
      kind: 'RoutedIPIssuer',
      namespace: 'web',
      name: 'own',
      spec: { issuerClass: 'digitalocean', firewallExclusive: true },
    };

    test('is refused for that, before anything else is said of it', () =>
      expect(check(fact({}, {}, { policy, barred: refusal.message, refusal }))).toMatchObject({
        reason: 'OperatorCredentialsNotAllowed',
        error: 'not here',
        keeps: null,
      }));

    test('keeps what it said before when it asks for too much', () =>
      expect(check(fact({ routedIP: '192.0.2.10' }, {}, { policy }))).toMatchObject({ reason: 'InvalidSpec', keeps: ['192.0.2.10'] }));
  });

  test('is waited for while there is none of that name', () =>
    expect(check(fact({}, {}, { policy: null }))).toMatchObject({
      reason: 'ClassNotFound',
      keeps: null,
      error: expect.stringContaining(CLASS_NAME),
    }));

  test.each([[''], ['192.0.2.10']])(
    'that has become invalid keeps its last valid rules, for the address "%s" that the RoutedIP names now',
    (routedIP) =>
      expect(check(fact({ routedIP }, { perNodeIPLimit: 0 }))).toMatchObject({ reason: 'InvalidSpec', keeps: routedIP ? [routedIP] : [] }),
  );

  test('is waited for while its credentials are missing', () =>
    expect(check(fact(), registry({ missing: 'Secret operator/do is not there' }))).toMatchObject({
      reason: 'SecretNotFound',
      error: 'Secret operator/do is not there',
    }));
});

describe('the Service of a RoutedIP', () => {
  test.each([[{ serviceName: 'shop' }], [{ name: 'shop' }], [{ name: 'shop', namespace: 'web' }]])('is web/shop for %o', (serviceRef) =>
    expect(accepted(fact({ serviceRef })).exposes?.service).toEqual({ namespace: 'web', name: 'shop' }),
  );

  test.each([[{}], [{ serviceName: 'shop', name: 'shop' }], [undefined]])('is refused for %o', (serviceRef) =>
    expect(check(fact({ serviceRef }))).toMatchObject({ reason: 'InvalidSpec', error: expect.stringContaining('serviceRef needs') }),
  );

  test('may be of another namespace where the class allows it, and nowhere else', () => {
    const spec = { serviceRef: { serviceName: 'shop', namespace: 'other' } };
    expect(check(fact(spec))).toMatchObject({ reason: 'InvalidSpec', error: expect.stringContaining('allowCrossNamespace') });
    expect(accepted(fact(spec, { allowCrossNamespace: true })).exposes?.service).toEqual({ namespace: 'other', name: 'shop' });
  });
});

describe('the limit of a node', () => {
  test('is what the provider can hold when the class asks for more', () => {
    expect(accepted(fact({}, { perNodeIPLimit: 3 })).exposes).toMatchObject({ perNode: 1, clampedFrom: 3 });
    const roomy = registry({ addressesPerNode: 10 });
    expect(accepted(fact({}, { perNodeIPLimit: 3 }), roomy).exposes).toMatchObject({ perNode: 3, clampedFrom: null });
  });
});

describe('what is spaced together', () => {
  test('is what one class says, and nothing without a cool-off', () => {
    expect(accepted(fact()).exposes?.turn).toBe('');
    expect(accepted(fact({}, { assignmentCoolOffSeconds: 20 }))).toMatchObject({
      coolOffMs: 20_000,
      exposes: { turn: 'ClusterRoutedIPClass//floating' },
    });
  });
});

describe('a revision', () => {
  const template = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c' }] } } };
  const revision = (given: RoutedIPFact) =>
    accepted(given, { ...registry(), 'digitalocean@class.floating': registry().digitalocean as ProviderFacts }).exposes?.revision;
  test('changes with the class and with the RoutedIP where Jobs are run, and is none elsewhere', () => {
    expect(revision(fact())).toBeNull();
    const given = fact({}, { updateFirewall: template });
    const edited = { ...given, policy: given.policy && { ...given.policy, generation: 5 } };
    expect(new Set([revision(given), revision({ ...given, generation: 8 }), revision(edited)]).size).toBe(3);
    expect(revision(given)).toBe(revision({ ...given }));
  });
});
