import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const CONNECTION = new URL('../../../../adapters/kubernetes/client/connection.ts', import.meta.url).href;
const KUBE_CONFIG = new URL('../../../../adapters/kubernetes/client/kube-config.ts', import.meta.url).href;

/** Imports what the operator does, and prints what came with it. */
const SCRIPT = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load: (url, context, next) => [next(url, context), urls.push(url)][0] });
await import('${CONNECTION}');
const { KeptConfig } = await import('${KUBE_CONFIG}');
new KeptConfig().loadFromClusterAndUser({ name: 'c', server: 'https://127.0.0.1' }, { name: 'u', token: 't' });
console.log(JSON.stringify(urls));
`;

test('of the Kubernetes library no clients of APIs are loaded, which the operator does not use', () => {
  const urls = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', SCRIPT], { encoding: 'utf8' })) as string[];
  const loaded = urls.filter((url) => url.includes('/@kubernetes/client-node/'));
  expect(loaded).not.toEqual([]);
  expect(loaded.filter((url) => /\/gen\/(types|models|apis\/\w+Api)/.test(url))).toEqual([]);
});
