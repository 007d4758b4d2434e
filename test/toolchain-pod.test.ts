import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { shippedContainers } from '../tools/image-pod.ts';

const SHIPPED = join(import.meta.dirname, '../deploy/bundle.yaml');
const folder = mkdtempSync(join(tmpdir(), 'routedip-pod-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (securityContext: string, more = ''): string => {
  const file = join(folder, 'deployment.yaml');
  const container = `{ name: one, image: an-image, args: [run], securityContext: ${securityContext} ${more} }`;
  writeFileSync(file, `kind: Deployment\nspec: { template: { spec: { terminationGracePeriodSeconds: 3, containers: [${container}] } } }\n`);
  return file;
};
const inDeployment = (file: string) => shippedContainers(file, 'Deployment');

describe('a container of a manifest', () => {
  test.each([
    ['Deployment', ['1000680000:0', '1000680000:0']],
    ['StatefulSet', ['999:999']],
  ] as const)(
    'of the %s runs in the test of the images as it does in a Pod: a user that is not root, nothing to write, nothing allowed',
    (kind, users) => {
      const containers = shippedContainers(SHIPPED, kind);
      expect(containers.map(({ options }) => options[options.indexOf('--user') + 1])).toEqual(users);
      for (const { options } of containers) {
        const said = options.join(' ');
        expect(said).toContain('--read-only --read-only-tmpfs=false');
        expect(said).toContain('--security-opt no-new-privileges');
        expect(said).toContain('--cap-drop all');
        expect(said).toMatch(/--security-opt seccomp=\/\S+/);
        expect(said).toMatch(/--memory \d+m/);
      }
    },
  );

  test('is told what the manifest tells it, and where Secrets are to be looked for', () => {
    const [init, operator] = inDeployment(SHIPPED);
    expect([init?.args[0], operator?.args[0]]).toEqual(['generate-secret', 'run']);
    expect(operator?.env.get('REDIS_URL')).toBe('redis://routedip-operator-redis:6379');
    expect(operator?.env.get('REDIS_PASSWORD')).toEqual({ name: 'routedip-operator-redis', key: 'REDIS_PASSWORD' });
    expect(operator?.readinessProbe?.httpGet?.path).toBe('/readyz');
    expect(operator?.ports.get('metrics')).toBe(8080);
  });

  test('runs as any user where the cluster chooses it, with its disk in a group of that user’s', () => {
    const [chosen] = shippedContainers(SHIPPED, 'StatefulSet', { anyUser: true });
    expect(chosen?.options.join(' ')).toContain('--user 1000680000:0');
    expect(chosen?.fsGroup).toBe(1_000_680_000);
    expect(shippedContainers(SHIPPED, 'StatefulSet')[0]?.fsGroup).toBe(999);
  });

  test('whose settings cannot be said to the runtime is refused rather than run without them', () => {
    expect(() => inDeployment(written('{ privileged: true }'))).toThrow(/privileged/);
    expect(() => inDeployment(written('{ runAsUser: 0 }'))).toThrow('runAsUser is root');
    expect(() => inDeployment(written('{ seccompProfile: { type: Unconfined } }'))).toThrow(/Unconfined/);
    expect(() => inDeployment(written('{}', ', lifecycle: {}'))).toThrow(/lifecycle/);
    expect(inDeployment(written('{}'))).toMatchObject([{ args: ['run'], options: [], graceSeconds: 3 }]);
  });
});
