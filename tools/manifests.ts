import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = join(import.meta.dirname, '..');
export const DEPLOY = join(ROOT, 'deploy');

/** As far as every object of Kubernetes is alike. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The text of a file below `deploy/`. */
export const manifestText = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

/** The objects in `text`, in order. @throws Error when it is no YAML */
export const manifestsIn = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    const object: Manifest | null = document.toJS();
    return object === null ? [] : [object];
  });

/** The files in crds/ that define all kinds but the legacy ones, ordered by name. */
export const definitionFiles = (): readonly string[] => {
  const names = readdirSync(join(ROOT, 'crds'))
    .filter((name) => name.endsWith('.yaml'))
    .sort();
  if (names.length === 0) throw new Error('crds/ holds no definition');
  return names;
};

export const definitionText = (name: string): string => readFileSync(join(ROOT, 'crds', name), 'utf8');

/** What `kubectl apply -k deploy/` takes, in its order: paths below `deploy/`. */
export const installedFiles = (): readonly string[] => parse(manifestText('kustomization.yaml')).resources;

/** The images of every container in `objects`, sorted, each once. */
export const imagesOf = (objects: readonly unknown[]): readonly string[] => {
  const images = new Set<string>();
  for (const object of objects) {
    JSON.stringify(object, (key, value: unknown) => {
      if (key === 'image' && typeof value === 'string') images.add(value);
      return value;
    });
  }
  return [...images].sort();
};
