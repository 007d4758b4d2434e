import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle } from './bundle.ts';
import { ROOT } from './root.mjs';

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
    const terms = await bundle({ folder: join(folder, 'dist'), isPlugin: true });
    for (const path of ['bin/kubectl-routedip.mjs', 'LICENSE', 'package.json']) cpSync(join(ROOT, path), join(folder, path));
    writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), terms);
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
