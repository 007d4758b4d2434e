import { stringify } from 'yaml';
import type { Manifest } from './manifests.ts';

/** What a release of Kubernetes does not serve yet, and what it has instead with the same fields. */
const INSTEAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1.20': { 'policy/v1 PodDisruptionBudget': 'policy/v1beta1' },
};

interface Change {
  readonly object: Manifest;
  readonly apiVersion: string;
}

const changesOf = (objects: readonly Manifest[], instead: Readonly<Record<string, string>>): readonly Change[] =>
  objects.flatMap((object) => {
    const apiVersion = instead[`${object.apiVersion} ${object.kind}`];
    return apiVersion === undefined ? [] : [{ object, apiVersion }];
  });

const fileOf = ({ kind, metadata }: Manifest): string => `${kind.toLowerCase()}-${metadata.name}.yaml`;

const target = ({ apiVersion, kind, metadata: { name, namespace } }: Manifest): object => {
  const [group, version] = apiVersion.split('/');
  return { group, version, kind, name, ...(namespace !== undefined && { namespace }) };
};

/** Kustomize's overlays over deploy/ for older Kubernetes: texts by their path from deploy/. In the words that the kubectl of that time has too.
 *  @throws Error when there is nothing to be changed for a release: its overlay has outlived its use */
export const olderKubernetes = (objects: readonly Manifest[], head: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(INSTEAD).flatMap(([release, instead]) => {
      // Not below deploy/: what a kustomization builds upon must not contain it.
      const folder = `../deploy-${release}`;
      const changes = changesOf(objects, instead);
      if (changes.length === 0) throw new Error(`deploy-${release} changes nothing`);
      const kustomization = {
        apiVersion: 'kustomize.config.k8s.io/v1beta1',
        kind: 'Kustomization',
        bases: ['../deploy'],
        patchesJson6902: changes.map(({ object }) => ({ target: target(object), path: fileOf(object) })),
      };
      return [
        [
          `${folder}/kustomization.yaml`,
          `${head}\n# What deploy/ has and Kubernetes ${release} does not: docs/install.md.\n${stringify(kustomization)}`,
        ],
        ...changes.map(({ object, apiVersion }) => [
          `${folder}/${fileOf(object)}`,
          `${head}\n${stringify([{ op: 'replace', path: '/apiVersion', value: apiVersion }])}`,
        ]),
      ];
    }),
  );
