import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { shippedContainers } from '../tools/image-pod.ts';

const SHIPPED = join(import.meta.dirname, '../deploy/operator.yaml');
const folder = mkdtempSync(join(tmpdir(), 'routedip-pod-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (securityContext: string): string => {
  const file = join(folder, 'deployment.yaml');
  const container = `{ name: one, args: [run], securityContext: ${securityContext} }`;
  writeFileSync(file, `kind: Deployment\nspec: { template: { spec: { containers: [${container}] } } }\n`);
  return file;
};

describe('a container of a manifest', () => {
  test('runs in the test of the image as it does in a Pod: any user but root, nothing to write, nothing allowed', () => {
    const containers = shippedContainers(SHIPPED);
    expect(containers.map(({ args }) => args[0])).toEqual(['generate-secret', 'run']);
    for (const { options } of containers) {
      const said = options.join(' ');
      expect(said).toContain('--user 1000680000:0');
      expect(said).toContain('--read-only --read-only-tmpfs=false');
      expect(said).toContain('--security-opt no-new-privileges');
      expect(said).toContain('--cap-drop all');
      expect(said).toMatch(/--security-opt seccomp=\/\S+/);
      expect(said).toMatch(/--memory \d+m/);
    }
  });

  test('whose settings cannot be said to the runtime is refused rather than run without them', () => {
    expect(() => shippedContainers(written('{ runAsUser: 0 }'))).toThrow(/runAsUser/);
    expect(() => shippedContainers(written('{ seccompProfile: { type: Unconfined } }'))).toThrow(/Unconfined/);
    expect(shippedContainers(written('{}'))).toEqual([{ args: ['run'], options: [] }]);
  });
});
