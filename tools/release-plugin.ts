import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { ROOT } from './root.mjs';

/** Where the entry of the package looks for what it loads. */
const ENTRY = 'dist/composition/kubectl-routedip.js';

/** The plugin and its libraries in one file, which goes by itself; resolves with the paths of what it is made of. */
const bundle = async (folder: string): Promise<readonly string[]> => {
  const made = await rolldown({ input: join(ROOT, 'composition/kubectl-routedip.ts'), cwd: ROOT, platform: 'node', logLevel: 'silent' });
  const { output } = await made.write({ file: join(folder, ENTRY), codeSplitting: false });
  await made.close();
  return output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
};

const packageOf = (path: string): string | null => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? null;

/** The terms of every library in the bundle: they ask to be passed on with it. @throws Error for a library that comes without any */
const termsOf = (modules: readonly string[]): string => {
  const folders = [...new Set(modules.flatMap((path) => packageOf(path) ?? []))].sort();
  return folders
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const texts = globSync('{LICEN[CS]E,licen[cs]e,NOTICE,COPYING}*', { cwd: folder }).sort();
      if (texts.length === 0 && license === undefined) throw new Error(`${name} says nothing about its license`);
      return [`${name} ${version}: ${license}`, ...texts.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`);
};

/** The same bytes for the same files, whenever and by whomever it is packed. */
const packed = (folder: string): Buffer => {
  const flags = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX', '--format=ustar'];
  const { status, stdout, stderr } = spawnSync('tar', [...flags, '-C', folder, '-cf', '-', '.'], { maxBuffer: 256 * 1024 * 1024 });
  if (status !== 0) throw new Error(`tar: ${stderr}`);
  return gzipSync(stdout, { level: 9 });
};

/** Writes the plugin as an archive for every system that has Node 24. Resolves with its SHA-256. */
export const packPlugin = async (archive: string): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-plugin-'));
  try {
    const modules = await bundle(folder);
    for (const path of ['bin/kubectl-routedip.mjs', 'LICENSE', 'package.json']) cpSync(join(ROOT, path), join(folder, path));
    writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), `${termsOf(modules)}\n`);
    if (!existsSync(join(folder, ENTRY))) throw new Error(`${ENTRY} was not built`);
    const bytes = packed(folder);
    mkdirSync(dirname(archive), { recursive: true });
    writeFileSync(archive, bytes);
    return createHash('sha256').update(bytes).digest('hex');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** deploy/krew/routedip.yaml with its `<NAMES>` filled in. @throws Error for a name that has no value, and for a value that has no place */
export const krewManifest = (template: string, values: Readonly<Record<string, string>>): string => {
  const used = new Set<string>();
  const text = template.replace(/^#.*\n/gm, '').replace(/<([A-Z0-9]+)>/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the manifest for krew asks for ${name}, which has no value`);
    used.add(name);
    return value;
  });
  const idle = Object.keys(values).filter((name) => !used.has(name));
  if (idle.length > 0) throw new Error(`the manifest for krew has no place for ${idle.join(', ')}`);
  return text;
};
