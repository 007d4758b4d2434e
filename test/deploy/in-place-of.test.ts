import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseCommandLine } from '../../adapters/cli/options.ts';
import { findKubectl, kubectlVersion } from '../support/kubectl.ts';
import { type ByName, keyed, pick, type Shipped, shippedIn } from './manifest-facts.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'routedip-operator';

const { major, minor } = kubectlVersion();
const hasComponents = major > 1 || minor >= 21;
const why = hasComponents ? '' : ` (skipped: kubectl ${major}.${minor} has no components, 1.21 does)`;

const bundle = shippedIn(readFileSync(join(ROOT, 'deploy/bundle.yaml'), 'utf8'));

/** What `kubectl apply -k` would apply of an overlay with this component. */
function overlaid(component: string): ByName {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  // Below the project: a kustomization names its parts by relative paths.
  const folder = mkdtempSync(join(ROOT, '.cache/overlay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'kustomization.yaml'), `resources: [../../deploy]\ncomponents: [../../deploy/components/${component}]\n`);
  return keyed(shippedIn(execFileSync(findKubectl(), ['kustomize', folder], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 })));
}

/** The same object where it is in the namespace of FLIPOP: policies know the operator by a user name that tells it. */
const moved = (object: Shipped): Shipped =>
  JSON.parse(JSON.stringify(object).replaceAll(`:serviceaccount:${NAME}:`, ':serviceaccount:flipop:'), (key, value: unknown) =>
    key === 'namespace' && value === NAME ? 'flipop' : value,
  ) as Shipped;

test.skipIf(!hasComponents)(
  `in FLIPOP's place everything is in its namespace, with its Secret and beside its Lease, and else as it was${why}`,
  async () => {
    const objects = overlaid('flipop');
    const expected = keyed(bundle.filter(({ kind }) => kind !== 'Namespace').map(moved));
    expect(Object.keys(objects).sort()).toEqual(Object.keys(expected).sort());
    const { [`Deployment ${NAME}`]: operator, ...others } = objects;
    const { [`Deployment ${NAME}`]: before, ...othersBefore } = expected;
    expect(others).toEqual(othersBefore);
    const secretOf = async (deployment: Shipped | undefined) =>
      (await parseCommandLine(deployment?.spec.template.spec.containers[0].args ?? [], {}, '0.1.0'))?.options.tokensSecret;
    expect([await secretOf(before), await secretOf(operator)]).toEqual([{ name: NAME }, { name: 'flipop' }]);
    expect(operator?.spec.template.spec.containers[0].env).toEqual(before?.spec.template.spec.containers[0].env);
    // The flag for another namespace is not needed: a Pod looks for the Lease in its own, where the Role is.
    expect(pick(objects, `Deployment ${NAME}`).spec.template.spec.containers[0].args.join(' ')).not.toContain('--namespace');
    expect(JSON.stringify(pick(objects, `Role ${NAME}`).rules)).toContain('floating-ip-pool-controller-leader-election');
  },
);

test.skipIf(!hasComponents)(
  `in the VIP allocator's place it waits for that one's Lease, which it may read and take, and lets that one write IPs${why}`,
  async () => {
    const objects = overlaid('vip-allocator');
    const role = 'routedip-operator-vip-lease';
    // Its writes of IPs are not judged: until it is gone they are as good as ours.
    const left = Object.keys(keyed(bundle)).filter((key) => !/^ValidatingAdmissionPolicy.*\.paas\.org$/.test(key));
    expect(left).toHaveLength(bundle.length - 4);
    expect(Object.keys(objects).sort()).toEqual([...left, `Role ${role}`, `RoleBinding ${role}`].sort());
    const { args } = pick(objects, `Deployment ${NAME}`).spec.template.spec.containers[0];
    const lease = (await parseCommandLine(args, {}, '0.1.0'))?.options.vipLease;
    expect(lease).toEqual({ namespace: 'vip-allocator-operator', name: '88cd116a.org' });
    const { metadata, rules = [] } = pick(objects, `Role ${role}`);
    expect(metadata.namespace).toBe(lease?.namespace);
    expect(rules).toMatchObject([{ verbs: ['create'] }, { resourceNames: [lease?.name], verbs: ['get', 'update'] }]);
  },
);
