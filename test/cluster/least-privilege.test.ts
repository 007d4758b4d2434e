import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keptAudits } from '../support/audits.ts';
import { type Asked, allows, grantsIn, tellGrant } from '../support/grants.ts';
import { objectsIn } from '../support/kube-apply.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const ROLES = ['rbac.yaml', 'virtual-ips.yaml', 'vip-admission-webhook.yaml'];
const GRANTS = grantsIn(
  ROLES.flatMap((file) => objectsIn(join(DEPLOY, file))),
  { namespace: 'routedip-operator', name: 'routedip-operator' },
);

/** The test files that run an operator on a real API server: those that run scenarios. */
const FILES = readdirSync(import.meta.dirname).filter(
  (name) => name.endsWith('.test.ts') && /^\w+Scenarios\(/m.test(readFileSync(join(import.meta.dirname, name), 'utf8')),
);

/** What no log of the servers that are tested on can show, and why the right is needed all the same. */
const UNSEEN: Readonly<Record<string, string>> = {
  'create tokenreviews.authentication.k8s.io (routedip-operator-webhook)':
    'asked of servers of before 1.28, which know no SelfSubjectReviews: test/cluster-old/installed.test.ts',
};

const audits = keptAudits();
const missing = FILES.filter((name) => !audits.some(({ file }) => file === name));
/** One file alone asks for a part of all. */
const all = describe.skipIf(missing.length > 0);

const tell = ({ verb, group, resource, namespace, name }: Asked): string =>
  [verb, group === '' ? resource : `${resource}.${group}`, namespace, name].filter(Boolean).join(' ');

test('the roles are those of the operator, and name all that they allow', () => {
  expect(GRANTS.length).toBeGreaterThan(50);
  expect(GRANTS.filter(({ verb, group, resource }) => [verb, group, resource].includes('*'))).toEqual([]);
});

test('Secrets are allowed by their names or in a namespace, never in all of them', () => {
  const secrets = GRANTS.filter(({ resource }) => resource === 'secrets');
  expect(secrets.length).toBeGreaterThan(0);
  expect(secrets.filter(({ namespace, names }) => namespace === undefined && names === undefined).map(tellGrant)).toEqual([]);
});

all('what operators ask real API servers for as their ServiceAccount, over all test files,', () => {
  test('was never refused for want of a right, but where a test had taken one away', () => {
    const refused = audits.flatMap(({ file, asked, forbidden }) => {
      // A server that has just been started refuses, until it has read its roles, what it has allowed before or allows then.
      const allowed = new Set(asked.filter((each) => !each.refused).map(tell));
      return asked
        .filter((each) => each.refused && !allowed.has(tell(each)))
        .filter((each) => !forbidden.includes(each.resource.split('/')[0] ?? ''))
        .map((each) => `${file}: ${tell(each)}`);
    });
    expect(refused).toEqual([]);
  });

  test('needs each verb that the roles allow', () => {
    const done = audits.flatMap(({ asked }) => asked).filter(({ refused }) => !refused);
    expect(done.length).toBeGreaterThan(GRANTS.length);
    expect(
      GRANTS.filter((grant) => !done.some((each) => allows(grant, each)))
        .map(tellGrant)
        .sort(),
    ).toEqual(Object.keys(UNSEEN).sort());
  });
});
