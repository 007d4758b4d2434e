import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { buildImages, ImageStore, provideBases } from './image-builder.ts';
import { composedImages, hub } from './image-compose.ts';
import { imagesOf, manifestsIn } from './manifests.ts';

const SAMPLE = 'crds/samples/routedip-jobs.yaml';
const PLAYGROUND = 'demo/playground/digitalocean.yaml';

/** Writes what Pods of the project run, as docker archives, into the folder, where they are not there yet: the operator, its Redis, the playground, and what the Jobs of the
 *  sample run. Answers their paths. @throws CommandFailed */
export function archiveImages(folder: string, work: string, root: string): readonly string[] {
  const { redis, operator } = composedImages(root);
  const curl = imageOfJobs(join(root, SAMPLE));
  const [playground = ''] = imagesOf(manifestsIn(readFileSync(join(root, PLAYGROUND), 'utf8'))).map(hub);
  return archived(folder, work, [redis, operator, playground, curl], (store) => {
    provideBases(store, join(root, 'Dockerfile'), { redis, curl }, work, root);
    buildImages(store, { '': operator, playground }, work, root);
  });
}

/** The same of several versions of the operator, each from its own files and Dockerfile: its image bears the name of the version as tag. Their Redis and what they are built from is that of `root`. */
export function archiveVersions(folder: string, work: string, root: string, versions: Readonly<Record<string, string>>): readonly string[] {
  const { redis, operator } = composedImages(root);
  const named = Object.entries(versions).map(([version, files]) => ({ name: operator.replace(/:[^:/]+$/, `:${version}`), files }));
  return archived(folder, work, [redis, ...named.map(({ name }) => name)], (store) => {
    provideBases(store, join(root, 'Dockerfile'), { redis }, work, root);
    for (const { name, files } of named) buildImages(store, { '': name }, work, files);
  });
}

function archived(folder: string, work: string, names: readonly string[], build: (store: ImageStore) => void): readonly string[] {
  const wanted = names.map((name) => ({ name, path: join(folder, `${name.replaceAll(/\W+/g, '-')}.tar`) }));
  if (wanted.every(({ path }) => existsSync(path))) return wanted.map(({ path }) => path);
  mkdirSync(folder, { recursive: true });
  const store = new ImageStore(join(work, 'images'));
  try {
    build(store);
    for (const { name, path } of wanted) store.buildah('push', '--quiet', name, `docker-archive:${path}:${name}`);
  } finally {
    store.remove();
  }
  return wanted.map(({ path }) => path);
}

interface JobClass {
  readonly kind: string;
  readonly spec: {
    readonly updateRoutedIP: { readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } } };
  };
}

/** @throws Error when the class of the sample names no image */
function imageOfJobs(sample: string): string {
  const objects = parseAllDocuments(readFileSync(sample, 'utf8')).map((document) => document.toJS() as JobClass);
  const image = objects.find(({ kind }) => kind === 'ClusterRoutedIPClass')?.spec.updateRoutedIP.template.spec.containers[0]?.image;
  if (image === undefined) throw new Error(`${sample} names no image`);
  return image;
}
